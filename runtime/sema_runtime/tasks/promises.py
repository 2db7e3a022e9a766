"""The promise of a task's result, and the conditions that waiting for one can raise."""

from __future__ import annotations

from itertools import count

from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError, SemaTypeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, NoReturn

_numbers = count(1)
PENDING, RESOLVED, REJECTED, CANCELLED = "pending", "resolved", "rejected", "cancelled"


class AsyncPromise:
    """The future result of a task. state: one of the four above. Settled once; watchers are called in order."""

    __slots__ = ("__weakref__", "error", "number", "open", "orphans", "state", "task", "value", "watchers")
    type_name = "async-promise"

    def __init__(self) -> None:
        self.state = PENDING
        self.open = True  # until its watchers have been called
        self.number = 0  # counts up in the order in which watchers are called
        self.value: Any = None
        self.error: BaseException | None = None
        self.task: Any = None  # the scheduler's Task behind it, if any
        self.orphans: Iterable[Any] = ()  # the unfinished tasks that it had started when it ended
        self.watchers: list[Callable[[AsyncPromise], object]] = []

    def sema_text(self) -> str:
        return "<async-promise>"

    def resolve(self, value: Any) -> None:
        """Settles it with a value."""
        self._settle(RESOLVED, value, None)

    def reject(self, error: BaseException) -> None:
        """Settles it with an error."""
        self._settle(REJECTED, None, error)

    def cancel(self, tell: bool = True) -> None:
        """Settles it as cancelled. tell: whether to call the watchers now; else `tell` does it later."""
        self._settle(CANCELLED, None, Cancelled(), tell)

    def _settle(self, state: str, value: Any, error: BaseException | None, tell: bool = True) -> None:
        if self.state is not PENDING:
            return
        self.state, self.value, self.error = state, value, error
        if tell:
            self.tell()

    def tell(self) -> None:
        """Calls the watchers, once."""
        if self.open:
            self.open = False
            self.number = next(_numbers)
        watchers, self.watchers = self.watchers, []
        for watcher in watchers:
            watcher(self)

    def result(self) -> Any:
        """The value of a settled promise; raises its error."""
        if self.error is not None:
            raise self.error
        return self.value


class Cancelled(SemaError):
    """Raised in a cancelled task where it waits, and in tasks that wait for it."""

    kind = "cancelled"

    def __init__(self) -> None:
        super().__init__("async/await: awaited task was cancelled", reason=keyword("explicit"))


class TimedOut(SemaError):
    """A wait that took too long."""

    kind = "timeout"


class Deadlock(BaseException):
    """Nothing can ever wake the program. No Exception: a program's `try` must not hide it."""

    def __init__(self) -> None:
        message = "runtime deadlocked: no pending timer or external wait, but a root has not settled"
        super().__init__(message)
        self.sema_condition = SemaError(message)  # what it is shown as


VALUE_SHOWN = 40  # characters of a value in the message about it


def wrong_value(expected: str, value: Any) -> NoReturn:
    """Raises `expected EXPECTED, got TYPE (VALUE)`, of a long value its beginning."""
    from sema_runtime.values.printer import to_text
    from sema_runtime.values.typenames import type_name

    error = SemaTypeError(expected, type_name(value))
    text = to_text(value)
    error.fields["value"] = text if len(text) <= VALUE_SHOWN else text[: VALUE_SHOWN - 1] + "…"
    error.message += f" ({error.fields['value']})"
    raise error
