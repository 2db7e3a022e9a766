"""Settings that apply while a function runs, also in tasks that it starts."""

from __future__ import annotations

from sema_runtime.support.options import is_function
from sema_runtime.values.errors import type_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextvars import ContextVar
    from typing import Any


def within(variable: ContextVar[Any], value: Any, thunk: Any) -> Any:
    """The result of thunk, called while the variable has a value; restores the old value afterwards."""
    if not is_function(thunk):
        type_error("function", thunk)
    token = variable.set(value)
    try:
        return thunk()
    finally:
        variable.reset(token)
