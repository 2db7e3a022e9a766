"""Maps, immutable to the program: `Map` (sorted, what `{...}` makes) and `HashMap` (`hashmap/new`).

Both keep a dict from *stored key* to value. Most keys are stored as they are; those that Python's dict would confuse
(`1`, `1.0` and `#t` hash alike) are wrapped (`stored`). A vector is stored as it is when it holds only atoms or vectors
of atoms. Iteration gives the program's keys back, in Sema's key order
for both kinds: nil, bools, ints, floats, chars, strings, symbols, keywords, lists, vectors, maps, rationals.

`assoc` copies a small map. A large one gives its dict to the new map, which changes it; the old map gets a lazy dict
(`MovedDict`) that knows the new map and what was changed, and rebuilds its entries from them if it is read again. So a
loop that builds or updates a map pays O(1) a step, and a program that uses both versions pays one copy, as it would
have anyway. Use `m.d.get(atom)` at once; code that keeps a map's dict while the program may run calls `m.pinned()`.

A map always has a dict, so reading it needs no test. Where the entries are still to come (objects of JSON as they were
read, dicts that were taken), the dict is of a subclass of `LazyDict`: an operation fills it first.

Python sees a dict that can't be changed, also by `isinstance`; its keys are strings for keywords, and `m["name"]`
finds the string key, else the keyword `:name`. The runtime itself uses `pairs()` and `sorted_keys()`.
"""

from __future__ import annotations

from _collections_abc import ItemsView, KeysView, Mapping
from _operator import attrgetter  # the half of the module that is C: the other takes 0.3 ms to load

from sema_runtime.values.atoms import KEYWORDS, MAPS, SYMBOLS, Keyword, Symbol, keyword, symbol
from sema_runtime.values.equality import MISSING as MISSING
from sema_runtime.values.equality import StoredKey, entries_hash, is_confused, is_plain, same_as_python, same_entries
from sema_runtime.values.lazy_dicts import TAKING, LazyDict, let_go, take
from sema_runtime.values.lists import List
from sema_runtime.values.typenames import ATOMIC as ATOMIC
from sema_runtime.values.typenames import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, ValuesView
    from typing import Any, NoReturn, TypeVar

    M = TypeVar("M", bound="Map")

PLAIN = frozenset(ATOMIC | {List})  # stored as they are
STORED_TRUE, STORED_FALSE = StoredKey(True), StoredKey(False)
SMALL = 100  # entries up to which a copy costs no more than taking the dict over (native/c/maps.h has it, too)
PINNED = 1 << 60
NAMED = frozenset((Keyword, Symbol))  # types of keys that are ordered by their names
MOST_ORDERS, WIDEST = 500, 32  # orders of keywords that are remembered, and how many keywords these may have
_orders: dict[tuple[Any, ...], tuple[list[Any], list[Any]]] = {}  # by the keys as they came: no others equal keywords
_name: Any = attrgetter("name")


def stored(key: Any) -> Any:
    """The dict key that stands for a Sema key."""
    if type(key) in PLAIN:
        return key
    if type(key) is tuple:
        for item in key:
            if type(item) not in ATOMIC:
                break
        else:
            return key
    return _wrapped(key)


def _wrapped(key: Any) -> Any:
    kind = type(key)
    if kind is Map or kind is HashMap:
        return key
    if kind is tuple:
        return key if is_plain(key) else StoredKey(key)
    if kind is list:
        return List(key)
    if kind is bool:
        return STORED_TRUE if key else STORED_FALSE
    if is_confused(key):
        return StoredKey(key)
    if kind is dict:
        return Map.of(key.items())
    return bytes(key) if kind is bytearray else key


def program_key(key: Any) -> Any:
    """The inverse of `stored`."""
    return key.key if type(key) is StoredKey else key


def _python_key(key: Any, d: dict[Any, Any]) -> Any:
    """The key that Python code sees for a stored key."""
    if (type(key) is Keyword or type(key) is Symbol) and key.name not in d:
        other = symbol if type(key) is Keyword else keyword
        return key.name if other(key.name) not in d else key
    return program_key(key)


def plain_entries(d: dict[Any, Any]) -> dict[Any, Any] | None:
    """Stored entries as Python sees them; None where keys of theirs are one key to a dict, as 0 and 0.0 are."""
    try:
        named = {key.python_key: value for key, value in d.items()}
        if len(named) == len(d):
            return named
    except AttributeError:  # keys of other kinds
        pass
    face = {_python_key(key, d): value for key, value in d.items()}
    return face if len(face) == len(d) else None


class Mark:
    """What maps have that change in place (`lib/collections/owned_maps.py`). moved: changes of large ones without."""

    __slots__ = ("moved",)

    def __init__(self) -> None:
        self.moved = 0


class Map:
    """A sorted map. `Map(d)` adopts a dict of stored keys: the caller must not change it afterwards."""

    __slots__ = ("_face", "_hash", "_order", "age", "d")
    d: dict[Any, Any]
    age: int  # owners that the dict has had since it was last copied; unset means 0
    _order: tuple[list[Any], list[Any]] | None  # the program's keys in Sema's order, and the stored keys
    _face: Any  # None; then whether it was asked for, once; then `face()`, which most maps need once at most; or a Mark
    _hash: int  # unset until it is asked for
    type_name = "map"

    def __init__(self, d: dict[Any, Any] | None = None) -> None:
        self.d = {} if d is None else d
        self._order = self._face = None

    @classmethod
    def of(cls: type[M], pairs: Iterable[tuple[Any, Any]]) -> M:
        """A map of (key, value) pairs; of equal keys the last one wins."""
        return cls({key if type(key) in PLAIN else stored(key): value for key, value in pairs})

    # What programs do

    def lookup(self, key: Any, default: Any = None) -> Any:
        """The value under a key of the program, default when it is absent."""
        if type(key) in ATOMIC:
            return self.d.get(key, default)
        if type(key) is tuple:
            for item in key:
                if type(item) not in ATOMIC:
                    break
            else:
                return self.d.get(key, default)
        return self._searched(stored(key), default)

    def assoc(self: M, key: Any, value: Any) -> M:
        """A map of the same kind with key set to value."""
        if type(key) not in PLAIN:
            key = stored(key)
        d = self.d
        if len(d) > SMALL:
            return changed(self, key, value)
        new: M = _new(type(self))
        new._order = new._face = None
        new.d = d = d.copy()
        d[key] = value
        return new

    def assoc_own(self: M, more: tuple[Any, ...]) -> M:
        """As `assoc` for each key and value of more, on a map that `assoc` has just made and no other code holds."""
        d = self.d
        if len(d) <= SMALL:  # not taken from an older map
            for index in range(0, len(more), 2):
                key = more[index]
                d[key if type(key) in PLAIN else stored(key)] = more[index + 1]
            return self
        new = self
        for index in range(0, len(more), 2):
            new = new.assoc(more[index], more[index + 1])
        return new

    def without(self: M, *keys: Any) -> M:
        """A map of the same kind without the keys."""
        d = self.d
        if len(d) <= SMALL:
            kept = d
            for key in keys:
                if type(key) not in PLAIN:
                    key = stored(key)
                if key in kept:
                    if kept is d:
                        kept = d.copy()
                    del kept[key]
            return self if kept is d else type(self)(kept)
        new = self
        for key in keys:
            key = stored(key)
            if new._searched(key, MISSING) is not MISSING:
                new = changed(new, key, MISSING)
        return new

    def merged(self: M, other: Map) -> M:
        """A map of the kind of self with the entries of both; those of other win."""
        mine, theirs = self.d, other.stable()
        if type(mine) is dict and len(mine) <= SMALL and len(theirs) <= SMALL:
            return type(self)(mine | theirs)
        if len(theirs) * 8 < len(self.d):
            new = self
            for key, value in theirs.items():
                new = changed(new, key, value)
            return new
        return type(self)(self.stable() | theirs)

    def has(self, key: Any) -> bool:
        """Whether the map has a key of the program."""
        if type(key) in ATOMIC:
            return key in self.d
        if type(key) is tuple:
            for item in key:
                if type(item) not in ATOMIC:
                    break
            else:
                return key in self.d
        return self._searched(stored(key), MISSING) is not MISSING

    def stable(self) -> dict[Any, Any]:
        """The entries as a dict that no later `assoc` changes: d itself for a small map, else a copy."""
        while True:
            d = self.d
            try:
                if len(d) <= SMALL:
                    return d
            except TypeError:
                self._given()
                continue
            copied = d.copy()
            if self.d is d:
                return copied

    def _given(self: M) -> M:
        """The map itself, with the entries that it was given as pairs, as in `type(m)((key, value) for ...)`."""
        self.d = Map.of(self.d).d
        return self

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
        return (self._order or self._ordered())[0]

    def stored_keys(self) -> list[Any]:
        """The stored keys in Sema's order of the keys that they stand for; the caller must not change the list."""
        return (self._order or self._ordered())[1]

    def sorted_values(self) -> list[Any]:
        """The values in the order of their keys."""
        _, kept = self._order or self._ordered()
        return list(map(self.stable().__getitem__, kept))

    def _ordered(self) -> tuple[list[Any], list[Any]]:
        d = self.stable()
        names = tuple(d)
        known = _orders.get(names) if names and type(names[0]) in NAMED and len(names) <= WIDEST else None
        self._order = order = known or (_in_order(d) if names else ([], []))
        return order

    def pairs(self) -> list[tuple[Any, Any]]:
        """(key, value) in key order."""
        keys, kept = self._order or self._ordered()
        d = self.d if len(self.d) <= SMALL else self.stable()
        if keys is kept:
            return [(key, d[key]) for key in keys]
        return [(key, d[own]) for key, own in zip(keys, kept, strict=True)]

    # What Python sees

    def __getitem__(self, key: Any) -> Any:
        if type(key) is str:
            face = self._face
            if type(face) is dict and key in face:
                return face[key]
            named, d = KEYWORDS.get(key, MISSING), self.d
            if type(d) is dict and named in d and key not in d:
                return d[named]
        value = self.get(key, MISSING)
        if value is MISSING:
            raise KeyError(key)
        return value

    def get(self, key: Any, default: Any = None) -> Any:
        if type(key) is not str:
            return self.lookup(key, default)
        d = self.d
        try:
            value = d.get(KEYWORDS.get(key, MISSING), MISSING)
        except AttributeError:  # `type(m)((key, value) for ...)`
            return self._given().get(key, default)
        if value is MISSING or key in d:
            value = d.get(key, MISSING)
            if value is MISSING:
                return d.get(symbol(key), default) if key in SYMBOLS else default
        return value

    def __or__(self, other: Any) -> Any:
        return self.copy() | dict(other) if isinstance(other, Mapping) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        return dict(other) | self.copy() if isinstance(other, Mapping) else NotImplemented

    def __setitem__(self, *change: Any, **more: Any) -> NoReturn:
        raise TypeError("a map of Sema can't be changed: m.copy() is a dict")

    __delitem__ = pop = popitem = setdefault = update = clear = __setitem__

    def __contains__(self, key: Any) -> bool:
        return self.get(key, MISSING) is not MISSING

    def __len__(self) -> int:
        try:
            return len(self.d)
        except TypeError:
            return len(self.stable())

    def __bool__(self) -> bool:
        return bool(self.d)

    def copy(self) -> dict[Any, Any]:
        """A dict of the same entries, in the order in which the keys came. Keywords and symbols are strings in it,
        unless the map has such a string beside. Raises ValueError for keys that are one to Python, as 0 and 0.0 are."""
        face = self.face()
        if face is None:
            raise ValueError("the map has keys that are one to a dict of Python, such as 0 and 0.0")
        return face.copy()

    def face(self) -> dict[Any, Any] | None:
        """The entries as Python sees them, in a dict that nobody may change; None where no dict can hold them all."""
        known = self._face
        if type(known) is dict:
            return known
        face = plain_entries(self.stable())
        self._face = True if known is None else face
        return face

    def _seen_keys(self) -> list[Any]:
        d = self.stable()
        return [_python_key(key, d) for key in d]

    def __iter__(self) -> Iterator[Any]:
        face = self.face()
        return iter(face if face is not None else self._seen_keys())

    def __reversed__(self) -> Iterator[Any]:
        return iter([*self][::-1])

    def keys(self) -> KeysView[Any]:
        face = self.face()
        return face.keys() if face is not None else KeysView(self)

    def values(self) -> ValuesView[Any]:
        return self.stable().values()

    def items(self) -> ItemsView[Any, Any]:
        face = self.face()
        return face.items() if face is not None else ItemsView(self)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not type(self):
            if type(other) is not dict:
                return NotImplemented
            return same_as_python(self, other)
        return same_entries(self.stable(), other.stable())

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            if type(self._face) is Mark:
                self._face = None  # what is a key, or in one, stays as it is
            self._hash = computed = entries_hash(self.type_name, self.stable())
            return computed

    def __repr__(self) -> str:
        from sema_runtime.values.printer import to_text

        return to_text(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.stable(),)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:  # that of `object` trusts `__class__`
        return self.__reduce__()

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What `isinstance` asks besides the type: libraries take a dict for a mapping, and nothing else."""
        return dict


class HashMap(Map):
    """A hash map: never equal to a sorted map, `(type m)` is :hashmap; otherwise the same operations."""

    __slots__ = ()
    type_name = "hashmap"


MAPS.update((Map, HashMap))
NAMES.update({Map: "map", HashMap: "hashmap"})
Mapping.register(Map)  # isinstance, and `match` with {"name": name}
_new: Any = Map.__new__

# Dicts that change their owner


class MovedDict(LazyDict):
    """The dict of a map whose own went to a newer map. source: that map, the stored key that it changed, and the value
    that the key had before (or MISSING)."""

    __slots__ = ()

    def load(self) -> None:
        newer, key, value = self.source
        changes = [(key, value)]
        d = newer.d
        while type(d) is MovedDict:
            newer, key, value = d.source
            changes.append((key, value))
            d = newer.d
        dict.update(self, d)
        for key, value in reversed(changes):
            if value is MISSING:
                dict.pop(self, key, None)
            else:
                dict.__setitem__(self, key, value)


def changed(old: M, key: Any, value: Any) -> M:
    """A map like old, except that the stored key has value, or is absent when value is MISSING.

    Takes the dict over, unless old is small, its dict is a restored one, or has had as many owners as it has entries.
    Then a copy starts a new chain, so that a very old version neither keeps all its successors alive nor has many steps
    to undo, and a version that is in use beside its successors keeps its dict.
    """
    new: M = _new(type(old))
    new._order = new._face = None
    take()
    try:
        d = old.d
        try:
            age = old.age
        except AttributeError:
            age = 0
        if type(d) is not dict or len(d) <= SMALL or age >= len(d):
            d = d.copy()
        else:
            old.d = moved = MovedDict()
            moved.source = (new, key, d.get(key, MISSING))
            new.age = age + 1
        if value is not MISSING:
            d[key] = value
        else:
            d.pop(key, None)
        new.d = d
    finally:
        let_go()
    return new


def _in_order(d: dict[Any, Any]) -> tuple[list[Any], list[Any]]:
    """The program's keys in Sema's order, and the keys of d in that order: the same list where none is wrapped."""
    kinds = set(map(type, d))
    if len(kinds) == 1:
        (kind,) = kinds
        if kind in NAMED:
            keys = sorted(d, key=_name)
            if len(keys) <= WIDEST:
                if len(_orders) >= MOST_ORDERS:
                    _orders.clear()
                _orders[tuple(d)] = keys, keys
            return keys, keys
        if kind is str or kind is int or kind is tuple:
            try:
                keys = sorted(d)
                return keys, keys
            except TypeError:  # vectors whose items Python can't order
                pass
    from sema_runtime.values.ordering import order_key

    keys = sorted(map(program_key, d), key=order_key)
    return keys, list(map(stored, keys)) if StoredKey in kinds else keys
