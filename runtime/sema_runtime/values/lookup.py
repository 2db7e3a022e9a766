"""`(:key map)`, the commonest call in Sema programs."""

from __future__ import annotations

from sema_runtime.values.atoms import ABSENT, Keyword
from sema_runtime.values.maps import HashMap, Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def keyword_get(value: Any, key: Keyword) -> Any:
    """The value under key in a map, nil when it is absent; raises when value is no map."""
    if type(value) is Map or type(value) is HashMap:
        return value.d.get(key)
    if type(value) is dict:
        found = value.get(key, ABSENT)
        return value.get(key.name) if found is ABSENT else found
    return key(value)


def keyword_reader(key: Keyword) -> Callable[[Any], Any]:
    """key as a Python function: a builtin that calls a keyword for each item calls this one in half the time."""

    def read(value: Any) -> Any:
        return value.d.get(key) if type(value) is Map else keyword_get(value, key)

    return read


# Maps that the compiler made tuples of, with an item for each keyword (semac/optimize/rows/shapes.py)


def field(value: Any, index: int, key: Keyword) -> Any:
    """`(:key value)` of a value that is such a tuple if it is a map at all."""
    return value[index] if type(value) is tuple else keyword_get(value, key)


def field_or_nil(value: Any, index: int, key: Keyword) -> Any:
    """A step of `get-in`."""
    return value[index] if type(value) is tuple else None


def field_level(value: Any, size: int) -> tuple[Any, ...]:
    """A level of the path of `update-in` or `assoc-in`: a new one where there is none."""
    return value if type(value) is tuple else (None,) * size
