"""The record of one call to a model: one completion, one stream, one embedding request.

A call holds its attempts, over retries and fallbacks, what it cost, and how it ended. Observers see calls
begin and end (observers.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import time_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.llm.messages import Reply, Request, Usage


@dataclass(slots=True)
class Attempt:
    """One request to one provider. started, ended: ns since 1970. error: None on success. wait_ms: until the next
    attempt."""

    provider: str
    model: str
    started: int
    ended: int = 0
    error: BaseException | None = None
    wait_ms: float = 0.0


@dataclass(slots=True, eq=False)
class Call:
    """operation: chat, embeddings or rerank. request: for chat. provider, model: that answered, or was asked last.
    first_piece: of a stream, ns since 1970. usage, cost_usd: set when the call ends; cost_usd None: unknown.
    cached, replayed: answered by the response cache, by a cassette. estimated: usage is estimated, for a stream that
    broke before the provider reported it. payload: what was sent instead of a chat (texts, query). error: raised."""

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
    reservation: Any = None  # of the attempt that succeeded, until the call is charged
    charged: bool = False  # to the budget
    guessed_usage: Usage | None = None  # of an answer without usage from the provider
    spans: Any = None  # what llm/spans keeps until the call ends

    @property
    def chat_request(self) -> Request:
        """The request of a chat call."""
        assert self.request is not None
        return self.request

    def begin_attempt(self, provider: str, model: str) -> Attempt:
        self.provider, self.model = provider, model
        attempt = Attempt(provider, model, time_ns())
        self.attempts.append(attempt)
        return attempt

    def retry(self, wait_ms: float) -> None:
        """Records that the last attempt failed and is repeated after that wait."""
        self.attempts[-1].wait_ms = wait_ms
