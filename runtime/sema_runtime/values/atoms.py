"""Interned atoms: symbols, keywords, characters. Equal atoms are the same object, so `is` and dict keys are fast."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Symbol:
    """An interned name, made with `symbol(name)`."""

    __slots__ = ("__weakref__", "name")
    name: str

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Callable[[str], Symbol], tuple[str]]:
        return symbol, (self.name,)


class Keyword:
    """An interned `:name`, made with `keyword(name)`; called with a map it looks itself up."""

    __slots__ = ("__weakref__", "name")
    name: str

    def __repr__(self) -> str:
        return ":" + self.name

    def __call__(self, *args: Any) -> Any:
        global keyword_call
        if keyword_call is None:
            from sema_runtime.lib.collections.maps import keyword_call
        return keyword_call(self, args)

    def __reduce__(self) -> tuple[Callable[[str], Keyword], tuple[str]]:
        return keyword, (self.name,)


class Char:
    """An interned character, made with `char(text)` of one code point."""

    __slots__ = ("__weakref__", "value")
    value: str

    def __repr__(self) -> str:
        return "#\\" + self.value

    def __str__(self) -> str:
        return self.value

    def __reduce__(self) -> tuple[Callable[[str], Char], tuple[str]]:
        return char, (self.value,)


keyword_call: Any = None  # of lib/collections/maps.py, which needs this module first
_symbols: dict[str, Symbol] = {}
_keywords: dict[str, Keyword] = {}
_chars: dict[str, Char] = {}


def symbol(name: str) -> Symbol:
    """The symbol of that name."""
    found = _symbols.get(name)
    if found is None:
        found = Symbol()
        found.name = name
        found = _symbols.setdefault(name, found)
    return found


def keyword(name: str) -> Keyword:
    """The keyword of that name, given without its colon."""
    found = _keywords.get(name)
    if found is None:
        found = Keyword()
        found.name = name
        found = _keywords.setdefault(name, found)
    return found


def char(value: str) -> Char:
    """The character value for one code point."""
    found = _chars.get(value)
    if found is None:
        found = Char()
        found.value = value
        found = _chars.setdefault(value, found)
    return found
