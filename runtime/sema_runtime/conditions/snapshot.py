"""The calls that led to an error, taken when it is caught. What they show is worked out when somebody asks."""

from __future__ import annotations

from sema_runtime.conditions.tracebacks import HIDDEN, is_entry, is_ours, shown_name, written
from sema_runtime.native import callers_of
from sema_runtime.values.functions import call_in_tail, tail_call
from sema_runtime.values.naming import sema_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any

    from sema_runtime.conditions.tracebacks import Call

TAIL_CALLS = (tail_call.__code__, call_in_tail.__code__)


class Snapshot:
    """The calls that led to an error, as they are when it is caught. No locals are kept alive.

    calls: of the traceback, outermost first. around: those above the catching function, innermost first. Both end at
    the last call that a builtin made. catching: the code of that function; None where calls don't reach it."""

    __slots__ = ("around", "calls", "catching")

    def __init__(self, exc: BaseException) -> None:
        self.calls: list[Call] = []
        self.around: list[Call] = []
        self.catching: CodeType | None = None
        tb = exc.__traceback__
        if tb is None:
            return
        catching = tb.tb_frame
        calls, ours, is_called_back = self.calls, False, False
        last: dict[str, Any] = {}
        while tb is not None:
            frame = tb.tb_frame
            namespace = frame.f_globals
            if namespace is not last:
                last, was_ours = namespace, ours
                ours = is_ours(namespace)
                if was_ours and not ours and calls[-1][0] not in TAIL_CALLS:
                    calls.clear()
                    is_called_back = True
            calls.append((frame.f_code, namespace, tb.tb_lasti, tb.tb_lineno))
            tb = tb.tb_next
        if not is_called_back:
            self.catching = catching.f_code
            self.around = _around(catching)

    def shown(self) -> list[Call]:
        """The calls from the last one that a builtin made down to the one that failed, outermost first."""
        calls = written(self.calls)
        if self.catching is None:
            return calls
        around: list[Call] = []
        callee = self.catching
        for call in self.around:
            if shown_name(call[0], sema_names(*call[:2])) == HIDDEN:
                break
            if not is_entry(call, callee):
                around.append(call)
            callee = call[0]
        around.reverse()
        return around + calls


def _around(frame: FrameType) -> list[Call]:
    """The calls above the function that caught an error, innermost first, up to one that a builtin made."""
    calls: list[Call] = []
    last: dict[str, Any] = {}
    ours = False  # the program's function may have been called by a builtin, or run a task for one that waits
    for call in callers_of(frame):
        if call[1] is not last:
            last, was_ours = call[1], ours
            ours = is_ours(last)
            if ours and not was_ours and call[0] not in TAIL_CALLS:
                break
        calls.append(call)
    return calls
