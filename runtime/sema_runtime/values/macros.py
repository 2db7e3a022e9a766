"""The macro value, the one counter behind generated names, and the values that macros put into code.

Such values are constants of compiled code that no text can express: functions, promises and the like. The code works in
this process only. An input of a session gets its values as a parameter instead.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from sema_runtime.values.atoms import Symbol, symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_numbers = count()


class Macro:
    """A macro: transformer takes the argument forms of a call and returns the form that replaces it."""

    __slots__ = ("name", "transformer")
    type_name = "macro"

    def __init__(self, name: str, transformer: Callable[..., Any]) -> None:
        self.name = name
        self.transformer = transformer

    def __repr__(self) -> str:
        return f"<macro {self.name}>"


def gensym(prefix: str = "g") -> Symbol:
    """A symbol that no program has written: `prefix__N`, N counting up over the whole process."""
    return symbol(f"{prefix}__{next(_numbers)}")


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
