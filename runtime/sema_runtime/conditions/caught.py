"""`(:key e)` and `(:key (:value e))` of a caught error `e`, which most handlers do with it and nothing else."""

from __future__ import annotations

from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import DivisionByZero, Rethrown, SemaError, Thrown, ThrownMap
from sema_runtime.values.lookup import keyword_get

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TYPE, VALUE, MESSAGE, STACK_TRACE = map(keyword, ("type", "value", "message", "stack-trace"))
OF_PYTHON = frozenset((ValueError, RuntimeError))  # errors of Python that are shown as they are (translate.py)
USER, EVAL = keyword("user"), keyword("eval")


def condition_field(exc: BaseException, key: Keyword) -> Any:
    """The entry of the condition map of an error, without making the map where that is possible."""
    kind = type(exc)
    if key is TYPE:
        if kind is ThrownMap or kind is Thrown:
            return USER
        if kind is DivisionByZero:
            return EVAL
        if isinstance(exc, SemaError) and kind is not Rethrown:
            return keyword(exc.kind)
    elif key is VALUE:
        if kind is Thrown:
            return exc.args[0]
        if kind is ThrownMap:
            return exc.value  # type: ignore[attr-defined]
        if kind is SemaError:
            return exc.fields.get("value")  # type: ignore[attr-defined]
    elif key is MESSAGE:
        if kind is SemaError:
            return exc.message  # type: ignore[attr-defined]
        if kind in OF_PYTHON and getattr(exc, "sema_condition", None) is None:
            text = str(exc)
            return f"{kind.__name__}: {text}" if text else kind.__name__
    elif key is not STACK_TRACE and (
        kind is Thrown or kind is ThrownMap or (kind is SemaError and not exc.fields)  # type: ignore[attr-defined]
    ):
        return None
    from sema_runtime.conditions.describe import condition_entry

    return condition_entry(exc, key)


def thrown_field(exc: BaseException, key: Keyword) -> Any:
    """`(:key (:value e))`: the entry of a thrown map."""
    if type(exc) is ThrownMap:
        held = exc.args[0]
        if type(held) is dict:
            return held.get(key)
    return keyword_get(condition_field(exc, VALUE), key)
