"""Constants of compiled code that no text can express: functions, promises and the like that a macro put into its
expansion. Such code works in this process only. An input of a session gets its values as a parameter instead."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_values: list[Any] = []
_places: dict[int, int] = {}  # id of a value → its index


def embed(value: Any) -> int:
    """Keeps a value for compiled code and returns its index."""
    index = _places.get(id(value))
    if index is None:
        index = _places[id(value)] = len(_values)
        _values.append(value)
    return index


def embedded(index: int) -> Any:
    """The value of an index that `embed` gave."""
    return _values[index]


def embedded_values() -> tuple[Any, ...]:
    """All values that `embed` keeps."""
    return tuple(_values)
