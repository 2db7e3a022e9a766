"""The record of one call to a model, and who is told of it.

A call is what a builtin makes: one completion, one stream, one embedding request. It holds every attempt at it, over
retries and fallbacks, what it cost, and how it ended. Telemetry and the usage ledger observe calls; `llm/last-call`
shows the last one.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from time import time_ns

from sema_runtime import telemetry
from sema_runtime.llm.budgets.ledger import Ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from sema_runtime.llm.messages import Reply, Request, Usage

    class Observer(Protocol):
        """Told of calls, in the task that makes them. What it raises is the program's to see, so it must not."""

        def started(self, call: Call) -> None: ...
        def retrying(self, call: Call, attempt: Attempt) -> None: ...
        def ended(self, call: Call) -> None: ...


@dataclass(slots=True)
class Attempt:
    """One request to one provider. started, ended: ns since 1970. error: None for the one that succeeded.
    wait_ms: how long was waited behind it, before the next one."""

    provider: str
    model: str
    started: int
    ended: int = 0
    error: BaseException | None = None
    wait_ms: float = 0.0


@dataclass(slots=True, eq=False)
class Call:
    """operation: chat, embeddings or rerank. request: for chat. provider, model: who answered, or was asked last.
    first_piece: of a stream, ns since 1970. usage, cost_usd: once it has ended; cost_usd None: unknown.
    cached, replayed: answered by the response cache, by a cassette. estimated: usage is our guess, of a stream that
    broke before the provider said. payload: what was sent besides a request (texts, query). error: what it raised."""

    operation: str
    request: Request | None = None
    provider: str = ""
    model: str = ""
    streaming: bool = False
    payload: Any = None
    started: int = field(default_factory=time_ns)
    ended: int = 0
    first_piece: int = 0
    attempts: list[Attempt] = field(default_factory=list)
    reply: Reply | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    cached: bool = False
    replayed: bool = False
    estimated: bool = False
    error: BaseException | None = None
    hold: Any = None  # of the attempt that succeeded: what a reserving budget keeps back for it
    charged: bool = False  # to the budget, before it is counted
    unsaid: Usage | None = None  # our guess, of an answer for which the provider has said no usage
    spans: Any = None  # what an observer keeps of it

    @property
    def asked(self) -> Request:
        """The request of a chat."""
        assert self.request is not None
        return self.request

    def begin_attempt(self, provider: str, model: str) -> Attempt:
        self.provider, self.model = provider, model
        attempt = Attempt(provider, model, time_ns())
        self.attempts.append(attempt)
        return attempt

    def retry(self, wait_ms: float) -> None:
        """The last attempt failed and will be repeated after that wait."""
        attempt = self.attempts[-1]
        attempt.wait_ms = wait_ms
        for observer in observers:
            observer.retrying(self, attempt)


observers: list[Observer] = [telemetry.calls, Ledger()]
_last: ContextVar[Call | None] = ContextVar("last_call", default=None)


def last() -> Call | None:
    """The last call that ended here; each task sees its own."""
    return _last.get()


class observed:
    """`with observed(call):` around a call: tells the observers when it starts and how it ends."""

    __slots__ = ("call",)

    def __init__(self, call: Call) -> None:
        self.call = call

    def __enter__(self) -> Call:
        for observer in observers:
            observer.started(self.call)
        return self.call

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        call = self.call
        call.ended = time_ns()
        call.error = error
        if call.hold is not None:  # something went wrong behind an answer that was paid for
            call.hold.forfeit()
            call.hold = None
        _last.set(call)
        for observer in reversed(observers):
            observer.ended(call)
