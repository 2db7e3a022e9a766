"""Values that stand in a compiled module although no text can say them: functions, promises and the like that a macro
put into its expansion. Such code works in this process only. An input of a session gets its values as a parameter."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_values: list[Any] = []
_places: dict[int, int] = {}  # id of a value → its index


def embed(value: Any) -> int:
    """The index under which compiled code finds the value again."""
    index = _places.get(id(value))
    if index is None:
        index = _places[id(value)] = len(_values)
        _values.append(value)
    return index


def embedded(index: int) -> Any:
    """The value of an index that `embed` gave."""
    return _values[index]
