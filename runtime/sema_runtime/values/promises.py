"""`delay` and `force`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

HINT = "force: argument must be a (delay ...) or promise — non-promise values are an error"


class Promise:
    """A value that is computed when it is first forced. After an error, the next force computes it again."""

    __slots__ = ("running", "thunk", "value")
    type_name = "promise"

    def __init__(self, thunk: Callable[[], Any]) -> None:
        self.thunk: Callable[[], Any] | None = thunk  # None once forced
        self.running = False
        self.value: Any = None

    def sema_text(self) -> str:
        return "<promise>" if self.thunk is not None else "<promise (forced)>"


def force(promise: Any) -> Any:
    """The value of a promise. Raises SemaTypeError for other values, SemaError when it needs its own value."""
    if type(promise) is not Promise:
        from sema_runtime.values.errors import type_error

        type_error("thunk", promise, HINT)
    thunk = promise.thunk
    if thunk is None:
        return promise.value
    if promise.running:
        from sema_runtime.values.errors import SemaError

        raise SemaError("resource gate is already owned by this task")
    promise.running = True
    try:
        promise.value = thunk()
    finally:
        promise.running = False
    promise.thunk = None
    return promise.value
