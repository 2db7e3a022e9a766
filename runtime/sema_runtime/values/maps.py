"""Maps, immutable to the program: `Map` (sorted, what `{...}` makes) and `HashMap` (`hashmap/new`).

Both keep a dict from *stored key* to value. Most keys are stored as they are; those that Python's dict would confuse
(`1`, `1.0` and `#t` hash alike) are wrapped (`stored`). Iteration gives the program's keys back, in Sema's key order
for both kinds: nil, bools, ints, floats, chars, strings, symbols, keywords, lists, vectors, maps, rationals.

`assoc` copies a small map. A large one gives its dict to the new map, which changes it; the old map keeps a reference
to the new map and what was changed (`undo`), and rebuilds its own dict from them if it is read again. So a loop that
builds or updates a map pays O(1) a step, and a program that uses both versions pays one copy, as it would have anyway.
So `d` is unset on a map whose dict was taken; reading it restores it (`__getattr__`). Use `m.d.get(atom)` at once; code
that keeps a map's dict while the program may run calls `m.pinned()`.

Python sees a mapping: `m["name"]` finds the string key, else the keyword `:name`; `m.get`, `in`, `len`, `items()`.
"""

from __future__ import annotations

from _collections_abc import Mapping
from _thread import RLock

from sema_runtime.values.atoms import MAPS, Char, Keyword, Symbol, keyword
from sema_runtime.values.equality import CONFUSED, StoredKey, same_entries
from sema_runtime.values.equality import MISSING as MISSING
from sema_runtime.values.lists import List
from sema_runtime.values.typenames import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, TypeVar

    M = TypeVar("M", bound="Map")

ATOMIC = frozenset((str, int, Keyword, Symbol, Char, type(None), bytes))  # stored as they are, hashed without our code
PLAIN = ATOMIC | {List}  # stored as they are
UNAMBIGUOUS = ATOMIC - {int}  # never equal, in Python, to a value of another type
SMALL = 40  # entries up to which a copy costs no more than taking the dict over
PINNED = 1 << 60
TAKING = RLock()  # held while a dict changes its owner


def stored(key: Any) -> Any:
    """The dict key that stands for a Sema key."""
    return key if type(key) in PLAIN else _wrapped(key)


def distinct(values: Iterable[Any], collect: Callable[[Any], dict[Any, Any]]) -> dict[Any, Any]:
    """`collect(values)`, a dict by Python's equality (Counter, dict.fromkeys), or by Sema's where that differs."""
    try:
        collected = collect(values)
    except TypeError:  # a key that Python can't hash
        return collect(map(stored, values))
    kinds = set(map(type, collected))
    if kinds <= UNAMBIGUOUS or (kinds <= ATOMIC and ATOMIC.issuperset(map(type, values))):
        return collected
    return collect(map(stored, values))


def _wrapped(key: Any) -> Any:
    kind = type(key)
    if kind in CONFUSED:
        return StoredKey(key)
    if kind is list:
        return List(key)
    if kind is dict:
        return Map.of(key.items())
    return bytes(key) if kind is bytearray else key


def program_key(key: Any) -> Any:
    """The inverse of `stored`."""
    return key.key if type(key) is StoredKey else key


class Map:
    """A sorted map. `Map(d)` adopts a dict of stored keys: the caller must not change it afterwards."""

    __slots__ = ("_hash", "_order", "age", "d", "raw", "undo")
    d: dict[Any, Any]
    age: int  # owners that the dict has had since it was last copied; unset means 0
    undo: tuple[Map, Any, Any]  # where d went: the newer map, the stored key, what the key had here (or MISSING)
    raw: dict[str, Any]  # a JSON object as it was read, until d is read; see `json_map`
    _order: list[Any] | None
    _hash: int | None
    type_name = "map"

    def __init__(self, d: dict[Any, Any] | None = None) -> None:
        self.d = {} if d is None else d

    def __getattr__(self, name: str) -> Any:
        if name == "d":
            return _restored(self)
        if name == "age":
            return 0
        if name == "_order" or name == "_hash":
            return None
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @classmethod
    def of(cls: type[M], pairs: Iterable[tuple[Any, Any]]) -> M:
        """A map of (key, value) pairs; of equal keys the last one wins."""
        return cls({key if type(key) in PLAIN else _wrapped(key): value for key, value in pairs})

    # What programs do

    def lookup(self, key: Any, default: Any = None) -> Any:
        """The value under a key of the program, default when it is absent."""
        if type(key) in ATOMIC:
            return self.d.get(key, default)
        return self._searched(stored(key), default)

    def assoc(self: M, key: Any, value: Any) -> M:
        """A map of the same kind with key set to value."""
        if type(key) not in PLAIN:
            key = _wrapped(key)
        d = self.d
        if len(d) > SMALL:
            return _changed(self, key, value)
        kind = type(self)
        new: M = kind.__new__(kind)
        new.d = d = d.copy()
        d[key] = value
        return new

    def assoc_own(self: M, more: tuple[Any, ...]) -> M:
        """As `assoc` for each key and value of more, on a map that `assoc` has just made and no other code holds."""
        d = self.d
        if len(d) <= SMALL:  # not taken from an older map
            for index in range(0, len(more), 2):
                key = more[index]
                d[key if type(key) in PLAIN else _wrapped(key)] = more[index + 1]
            return self
        new = self
        for index in range(0, len(more), 2):
            new = new.assoc(more[index], more[index + 1])
        return new

    def without(self: M, *keys: Any) -> M:
        """A map of the same kind without the keys."""
        new = self
        for key in keys:
            key = stored(key)
            if new._searched(key, MISSING) is not MISSING:
                new = _changed(new, key, MISSING)
        return new

    def merged(self: M, other: Map) -> M:
        """A map of the kind of self with the entries of both; those of other win."""
        theirs = other.stable()
        if len(theirs) * 8 < len(self.d):
            new = self
            for key, value in theirs.items():
                new = _changed(new, key, value)
            return new
        return type(self)(self.stable() | theirs)

    def has(self, key: Any) -> bool:
        """Whether the map has a key of the program."""
        if type(key) in ATOMIC:
            return key in self.d
        return self._searched(stored(key), MISSING) is not MISSING

    def stable(self) -> dict[Any, Any]:
        """The entries as a dict that no later `assoc` changes: d itself for a small map, else a copy."""
        while True:
            d = self.d
            if len(d) <= SMALL:
                return d
            copied = d.copy()
            if self.d is d:
                return copied

    def pinned(self) -> dict[Any, Any]:
        """d, kept from being taken over by a newer map: for reading it while the program runs."""
        while True:
            d = self.d
            if len(d) <= SMALL:
                return d
            with TAKING:
                if self.d is d:
                    self.age = PINNED
                    return d

    def _searched(self, key: Any, default: Any) -> Any:
        """The value of a stored key. Hashing the key may let other threads run, so d is checked afterwards."""
        while True:
            d = self.d
            value = d.get(key, default)
            if self.d is d:
                return value

    def sorted_keys(self) -> list[Any]:
        """The program's keys in Sema's order; the caller must not change the list."""
        order = self._order
        if order is None:
            self._order = order = _in_order(self.stable())
        return order

    def pairs(self) -> list[tuple[Any, Any]]:
        """(key, value) in key order."""
        d = self.stable()
        return [(key, d[key if type(key) in PLAIN else _wrapped(key)]) for key in self.sorted_keys()]

    # What Python sees

    def __getitem__(self, key: Any) -> Any:
        value = self.lookup(key, MISSING)
        if value is MISSING and type(key) is str:
            value = self.lookup(keyword(key), MISSING)
        if value is MISSING:
            raise KeyError(key)
        return value

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
            return self == type(self).of(other.items()) if type(other) is dict else NotImplemented
        return same_entries(self.stable(), other.stable())

    def __hash__(self) -> int:
        computed = self._hash
        if computed is None:
            self._hash = computed = hash((self.type_name, frozenset(self.stable())))
        return computed

    def __repr__(self) -> str:
        from sema_runtime.values.printer import to_text

        return to_text(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.stable(),)


class HashMap(Map):
    """A hash map: never equal to a sorted map, `(type m)` is :hashmap; otherwise the same operations."""

    __slots__ = ()
    type_name = "hashmap"


MAPS.update((Map, HashMap))
NAMES.update({Map: "map", HashMap: "hashmap"})
Mapping.register(Map)  # isinstance, and `match` with {"name": name}
_new = Map.__new__

# JSON objects: Python's scanner makes dicts and lists; what a program reads of them becomes maps and lists

_keywords: dict[str, Keyword] = {}  # by name; one C lookup a key
_FINAL = frozenset((str, int, bool, type(None)))  # types of the scanner's values that are Sema values already
_OBJECTS = {dict}


def json_map(raw: dict[str, Any]) -> Map:
    """The map of a JSON object. Its d, with keywords as keys and lists for arrays, is built when it is read."""
    new = _new(Map)
    new.raw = raw
    return new


def json_value(value: Any) -> Any:
    """The Sema value of decoded JSON. A float out of range is nil, as in the reference."""
    kind = type(value)
    if kind is dict:
        return json_map(value)
    if kind is list:
        kinds = set(map(type, value))
        if kinds <= _FINAL:
            return List(value)
        return List(list(map(json_map if kinds == _OBJECTS else json_value, value)))
    return None if kind is float and value - value != 0 else value


def _json_entries(raw: dict[str, Any]) -> dict[Any, Any]:
    """The entries of the map of a JSON object."""
    keywords = _keywords
    try:
        return {keywords[name]: value if type(value) in _FINAL else json_value(value) for name, value in raw.items()}
    except KeyError:
        keywords.update((name, keyword(name)) for name in raw)
        return _json_entries(raw)


_raw_of = Map.raw.__get__  # type: ignore[attr-defined, misc]  # raises AttributeError where it is unset or used up
_dict_of = Map.d.__get__  # type: ignore[attr-defined, misc]  # raises AttributeError when the dict was taken


def _changed(old: M, key: Any, value: Any) -> M:
    """A map like old, except that the stored key has value, or is absent when value is MISSING.

    Takes the dict over, unless old is small or the dict has had as many owners as it has entries. Then a copy starts a
    new chain, so that a very old version neither keeps all its successors alive nor has many steps to undo.
    """
    kind = type(old)
    new: M = kind.__new__(kind)
    with TAKING:
        d = old.d
        age = old.age
        if len(d) <= SMALL or age >= len(d):
            d = d.copy()
        else:
            old.undo = (new, key, d.get(key, MISSING))
            del old.d
            new.age = age + 1
        if value is not MISSING:
            d[key] = value
        else:
            d.pop(key, None)
        new.d = d
    return new


def _restored(old: Map) -> dict[Any, Any]:
    """Rebuilds the dict of a map whose dict was taken or not built yet. Raises AttributeError on a half-made map."""
    with TAKING:
        try:
            raw = _raw_of(old)
        except AttributeError:
            pass
        else:
            old.d = entries = _json_entries(raw)
            del old.raw
            return entries
        changes: list[tuple[Any, Any]] = []
        newer = old
        while True:
            try:
                d: dict[Any, Any] = _dict_of(newer)
                break
            except AttributeError:
                newer, key, value = newer.undo
                changes.append((key, value))
        if newer is old:  # another thread was faster
            return d
        d = d.copy()
        for key, value in reversed(changes):
            if value is MISSING:
                d.pop(key, None)
            else:
                d[key] = value
        old.d = d
        old.age = PINNED  # it is in use beside its successors: copying right away is cheaper next time
        del old.undo
        return d


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
