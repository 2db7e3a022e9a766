"""`(:key e)` of a caught error `e`, which most handlers do with it and nothing else."""

from __future__ import annotations

from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import DivisionByZero, Rethrown, SemaError, Thrown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TYPE, VALUE, USER, EVAL = keyword("type"), keyword("value"), keyword("user"), keyword("eval")


def condition_field(exc: BaseException, key: Keyword) -> Any:
    """The entry of the condition map of an error, without making the map where that is possible."""
    kind = type(exc)
    if kind is Thrown:
        if key is TYPE:
            return USER
        if key is VALUE:
            return exc.args[0]
    elif key is TYPE and kind is not Rethrown:
        if kind is DivisionByZero:
            return EVAL
        if isinstance(exc, SemaError):
            return keyword(exc.kind)
    from sema_runtime.values.conditions import condition_map

    return condition_map(exc).d.get(key)
