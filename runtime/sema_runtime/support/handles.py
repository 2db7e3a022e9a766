"""Numbers that stand for things of the system: processes, terminals, watchers, ports. None is given out twice."""

from __future__ import annotations

from sema_runtime.values.errors import SemaError, type_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Handles:
    """The open things of one kind. expected: what a type error calls a handle; unknown: what is said of a number that
    stands for none, as in `proc/wait: no such handle 7`."""

    def __init__(self, expected: str, unknown: str) -> None:
        self.expected = expected
        self.unknown = unknown
        self.open: dict[int, Any] = {}
        self.last = 0

    def __len__(self) -> int:
        return len(self.open)

    def add(self, thing: Any) -> int:
        """The handle of a new thing."""
        self.last += 1
        self.open[self.last] = thing
        return self.last

    def number(self, handle: Any) -> int:
        """The handle, checked to be an int."""
        if type(handle) is not int:
            type_error(self.expected, handle)
        return handle

    def get(self, function: str, handle: Any) -> Any:
        """What the handle stands for."""
        found = self.open.get(self.number(handle))
        if found is None:
            raise SemaError(f"{function}: {self.unknown} {handle}")
        return found

    def forget(self, handle: Any) -> Any:
        """What the handle stood for until now, None if nothing."""
        return self.open.pop(self.number(handle), None)
