"""The macro value, and the one counter behind generated names."""

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
