"""Handles: numbers for processes, terminals, watchers, ports. No number is used twice."""

from __future__ import annotations

from sema_runtime.values.errors import SemaError, type_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Handles:
    """The open resources of one kind. expected: the name of a handle in type errors. unknown: the message for a number
    without a resource, as in `proc/wait: no such handle 7`."""

    def __init__(self, expected: str, unknown: str) -> None:
        self.expected = expected
        self.unknown = unknown
        self.open: dict[int, Any] = {}
        self.last = 0

    def __len__(self) -> int:
        return len(self.open)

    def add(self, resource: Any) -> int:
        """The handle of a new resource."""
        self.last += 1
        self.open[self.last] = resource
        return self.last

    def number(self, handle: Any) -> int:
        """The handle, checked to be an int."""
        if type(handle) is not int:
            type_error(self.expected, handle)
        return handle

    def get(self, function: str, handle: Any) -> Any:
        """The resource of a handle. Raises SemaError for an unknown one."""
        resource = self.open.get(self.number(handle))
        if resource is None:
            raise SemaError(f"{function}: {self.unknown} {handle}")
        return resource

    def forget(self, handle: Any) -> Any:
        """Forgets a handle; returns its resource, None without one."""
        return self.open.pop(self.number(handle), None)
