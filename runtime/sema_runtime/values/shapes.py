"""Maps that the compiler made tuples of, with an item for each keyword (`semac/optimize/rows/shapes.py`): what is done
with a value that is such a tuple if it is a map at all."""

from __future__ import annotations

from sema_runtime.values.lookup import keyword_get

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.values.atoms import Keyword


def field(value: Any, index: int, key: Keyword) -> Any:
    """`(:key value)`."""
    return value[index] if type(value) is tuple else keyword_get(value, key)


def field_or_nil(value: Any, index: int, key: Keyword) -> Any:
    """A step of `get-in`."""
    return value[index] if type(value) is tuple else None


def field_level(value: Any, size: int) -> tuple[Any, ...]:
    """A level of the path of `update-in` or `assoc-in`: a new one where there is none."""
    return value if type(value) is tuple else (None,) * size
