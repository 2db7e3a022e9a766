"""What observes calls to models: telemetry, the usage ledger, and `llm/last-call`, which shows the last one."""

from __future__ import annotations

from contextvars import ContextVar
from time import time_ns

from sema_runtime.llm.budgets.ledger import Ledger
from sema_runtime.llm.spans import CallSpans

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from sema_runtime.llm.calls import Call

    class Observer(Protocol):
        """Sees calls, in the task that makes them. It must not raise: its errors would end the program's call."""

        def started(self, call: Call) -> None: ...
        def ended(self, call: Call) -> None: ...


observers: list[Observer] = [CallSpans(), Ledger()]
_last: ContextVar[Call | None] = ContextVar("last_call", default=None)


def last() -> Call | None:
    """Returns the last call that ended; each task sees its own."""
    return _last.get()


class observed:
    """`with observed(call):` around a call: reports its start and its end to the observers."""

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
        if call.reservation is not None:  # something went wrong behind an answer that was paid for
            call.reservation.charge_in_full()
            call.reservation = None
        _last.set(call)
        for observer in reversed(observers):
            observer.ended(call)
