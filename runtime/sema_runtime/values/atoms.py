"""Interned atoms: symbols, keywords, characters. Equal atoms are the same object, so `is` and dict keys are fast."""

from __future__ import annotations

from _collections_abc import Mapping

from sema_runtime.values.base_errors import ArityError, type_error
from sema_runtime.values.typenames import ATOMIC, NAMES, NEAR

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
        """(:key map): what the map has under the key, or nil. Takes exactly one map."""
        if len(args) != 1:
            error = ArityError(self.name, "1", len(args))
            error.hint = f"a keyword takes one map: (:{self.name} m); with a default: (get m :{self.name} default)"
            raise error
        (collection,) = args
        if type(collection) in MAPS:
            return collection.d.get(self)
        if not isinstance(collection, Mapping):
            type_error("map or hashmap", collection)
        return foreign_entry(collection, self)

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


MAPS: set[type] = set()  # the types of Sema's maps, which maps.py enters
ATOMIC.update((Symbol, Keyword, Char))
NEAR.update((Symbol, Keyword, Char))
PLAIN = frozenset((int, float, str, Keyword, Symbol, Char))  # two values of one of these are equal where Python says so
SHOWN = frozenset((int, str))  # Python shows them in a text as the language does
INDEXED = frozenset((tuple, list))  # vectors, and lists of Python: Python finds their items by an index
NAMES.update({Symbol: "symbol", Keyword: "keyword", Char: "char"})
ABSENT: Any = object()
SYMBOLS: dict[str, Symbol] = {}
KEYWORDS: dict[str, Keyword] = {}


def symbol(name: str) -> Symbol:
    """The symbol of that name."""
    atom = SYMBOLS.get(name)
    if atom is None:
        atom = Symbol()
        atom.name = name
        atom = SYMBOLS.setdefault(name, atom)
    return atom


def keyword(name: str) -> Keyword:
    """The keyword of that name, given without its colon."""
    atom = KEYWORDS.get(name)
    if atom is None:
        atom = Keyword()
        atom.name = name
        atom = KEYWORDS.setdefault(name, atom)
    return atom


for _kind in (Symbol, Keyword):  # an attribute that no other object has
    _kind.python_key = _kind.__dict__["name"]  # type: ignore[union-attr]


class Characters(dict[str, Char]):
    """The characters by their text; one that is asked for the first time is made."""

    __slots__ = ()

    def __missing__(self, value: str) -> Char:
        atom = Char()
        atom.value = value
        atom = self.setdefault(value, atom)
        TEXTS[atom] = value
        return atom


TEXTS: dict[Char, str] = {}  # of the characters
CHARS = Characters()


def char(value: str) -> Char:
    """The character value for one code point."""
    return CHARS[value]


def char_keyed(entries: dict[str, Any]) -> dict[Char, Any]:
    """The entries of a dict under characters, of one that has them under the texts of these."""
    return {CHARS[key]: value for key, value in entries.items()}


def foreign_entry(mapping: Mapping[Any, Any], key: Keyword, default: Any = None) -> Any:
    """What a mapping of Python has under a keyword, else under the string of its name, else default."""
    if isinstance(mapping, dict):  # others may take strings only, as os.environ does
        value = mapping.get(key, ABSENT)
        if value is not ABSENT:
            return value
    return mapping.get(key.name, default)
