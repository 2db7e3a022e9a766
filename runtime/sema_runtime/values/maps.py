"""Maps, immutable to the program: `Map` (sorted, what `{...}` makes) and `HashMap` (`hashmap/new`).

Both keep a dict from *stored key* to value. Most keys are stored as they are; those that Python's dict would confuse
(`1`, `1.0` and `#t` hash alike) are wrapped (`stored`). Iteration gives the program's keys back, in Sema's key order
for both kinds: nil, bools, ints, floats, chars, strings, symbols, keywords, lists, vectors, maps, rationals.

Python sees a mapping: `m["name"]` finds the string key, else the keyword `:name`; `m.get`, `in`, `len`, `items()`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from sema_runtime.values.atoms import Char, Keyword, Symbol, keyword
from sema_runtime.values.equality import equal, strict_hash
from sema_runtime.values.lists import List

PLAIN = frozenset((str, int, Keyword, Symbol, Char, type(None), bytes, List))
MISSING: Any = type("Missing", (), {"__repr__": lambda self: "<missing>"})()


class StoredKey:
    """A key that Python's dict would confuse with another one."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __eq__(self, other: object) -> bool:
        return type(other) is StoredKey and (
            equal(self.key, other.key) or (self.key != self.key and other.key != other.key)
        )

    def __hash__(self) -> int:
        key = self.key
        return hash((type(key).__name__, strict_hash(key) if type(key) is tuple else 0 if key != key else key))


def stored(key: Any) -> Any:
    """The dict key that stands for a Sema key."""
    return key if type(key) in PLAIN else _wrapped(key)


def _wrapped(key: Any) -> Any:
    if type(key) is list:
        return List(key)
    if type(key) in (bool, float, complex, tuple):
        return StoredKey(key)
    return key


def program_key(key: Any) -> Any:
    """The inverse of `stored`."""
    return key.key if type(key) is StoredKey else key


M = TypeVar("M", bound="Map")


class Map:
    """A sorted map. `Map(d)` adopts a dict of stored keys: the caller must not change it afterwards."""

    __slots__ = ("_order", "_hash", "d")
    d: dict[Any, Any]
    type_name = "map"

    def __init__(self, d: dict[Any, Any] | None = None) -> None:
        self.d = {} if d is None else d

    @classmethod
    def of(cls: type[M], pairs: Iterable[tuple[Any, Any]]) -> M:
        """A map of (key, value) pairs; of equal keys the last one wins."""
        return cls({stored(key): value for key, value in pairs})

    # What programs do

    def lookup(self, key: Any, default: Any = None) -> Any:
        return self.d.get(key if type(key) in PLAIN else _wrapped(key), default)

    def assoc(self: M, key: Any, value: Any) -> M:
        d = self.d.copy()
        d[key if type(key) in PLAIN else _wrapped(key)] = value
        return type(self)(d)

    def without(self: M, *keys: Any) -> M:
        d = self.d.copy()
        for key in keys:
            d.pop(stored(key), None)
        return type(self)(d)

    def merged(self: M, other: Map) -> M:
        """Entries of both, other's win; the kind of self."""
        return type(self)(self.d | other.d)

    def has(self, key: Any) -> bool:
        return stored(key) in self.d

    def sorted_keys(self) -> list[Any]:
        """The program's keys in Sema's order."""
        try:
            return self._order
        except AttributeError:
            self._order = order = _in_order(self.d)
            return order

    def pairs(self) -> list[tuple[Any, Any]]:
        """(key, value) in key order."""
        d = self.d
        return [(key, d[key if type(key) in PLAIN else _wrapped(key)]) for key in self.sorted_keys()]

    # What Python sees

    def __getitem__(self, key: Any) -> Any:
        found = self.lookup(key, MISSING)
        if found is MISSING and type(key) is str:
            found = self.d.get(keyword(key), MISSING)
        if found is MISSING:
            raise KeyError(key)
        return found

    def get(self, key: Any, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def __contains__(self, key: Any) -> bool:
        return self.has(key) or (type(key) is str and keyword(key) in self.d)

    def __len__(self) -> int:
        return len(self.d)

    def __bool__(self) -> bool:
        return bool(self.d)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sorted_keys())

    def keys(self) -> list[Any]:
        return list(self.sorted_keys())

    def values(self) -> list[Any]:
        return [value for _, value in self.pairs()]

    def items(self) -> list[tuple[Any, Any]]:
        return self.pairs()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = self.d, other.d  # type: ignore[attr-defined]
        if len(mine) != len(theirs):
            return False
        return all(equal(value, theirs.get(key, MISSING)) for key, value in mine.items())

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            self._hash = found = hash((self.type_name, frozenset(self.d)))
            return found

    def __repr__(self) -> str:
        from sema_runtime.values.printer import to_text

        return to_text(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.d,)


class HashMap(Map):
    """A hash map: never equal to a sorted map, `(type m)` is :hashmap; otherwise the same operations."""

    __slots__ = ()
    type_name = "hashmap"


def _in_order(d: dict[Any, Any]) -> list[Any]:
    kinds = set(map(type, d))
    if len(kinds) == 1:
        kind = kinds.pop()
        if kind is Keyword or kind is Symbol:
            return sorted(d, key=_name)
        if kind is str or kind is int:
            return sorted(d)
    from sema_runtime.values.ordering import order_key

    return sorted(map(program_key, d), key=order_key)


def _name(atom: Any) -> str:
    name: str = atom.name
    return name
