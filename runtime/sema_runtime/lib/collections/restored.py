"""Lists and maps in place of the tuples that the compiler made of them (`semac/optimize/rows/restoring.py`).

A long list and a map get what they hold when somebody asks for it, as objects of JSON do: a module that leaves a large
value in a global pays for what others read of it.
"""

from __future__ import annotations

from sema_runtime.values.lazy_dicts import LazyDict
from sema_runtime.values.lists import FIRST, List
from sema_runtime.values.maps import HashMap, Map, program_key, stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

CONTAINERS = frozenset((List, tuple, Map, HashMap))
SHAPE, ROW = 0, 1  # tuples that stand for a map, for a list (semac/ir/intrinsics.py)
NOTHING = -1  # the number of a place without such tuples
SHORT = 8  # items of a list that are restored at once
_new: Any = object.__new__


def restored(value: Any, places: tuple[Any, ...], number: int) -> Any:
    """The value that others see. places: what can be where, by number: (kind, keys of parts, numbers of their places,
    number of the place of other parts, number of the place of keys)."""
    restorer = Restorer(value, places)
    try:
        return restorer.of(value, number)
    except RecursionError:
        return restorer.of_deep(value, number)


class Restorer:
    """Makes such copies of what is in a value. done: by number of the place, then by identity, so that what two values
    share, they share again; root keeps all of it."""

    __slots__ = ("done", "leaves", "places", "root")

    def __init__(self, root: Any, places: tuple[Any, ...]) -> None:
        self.root = root
        self.places = places
        self.leaves = [inner == keys == NOTHING == max(parts, default=NOTHING) for _, _, parts, inner, keys in places]
        self.done: list[dict[int, Any]] = [{} for _ in places]

    def of(self, value: Any, number: int) -> Any:
        kind = type(value)
        if number == NOTHING or kind not in CONTAINERS:
            return value
        place = self.places[number]
        if self.leaves[number]:
            if kind is not tuple:
                return value
            return Map(dict(zip(place[1], value))) if place[0] == SHAPE else List(value)  # noqa: B905  (equally long)
        done = self.done[number]
        made = done.get(id(value))
        if made is None:
            done[id(value)] = made = self.container(value, place)
        return made

    def of_deep(self, value: Any, number: int) -> Any:
        """The same without recursion: what is innermost comes first."""
        todo = [(value, number)]
        while todo:
            current, at = todo[-1]
            inside = [part for part in self.needed(current, self.places[at]) if self.is_missing(*part)]
            if inside:
                todo += inside
            else:
                self.of(current, at)
                todo.pop()
        return self.of(value, number)

    def needed(self, value: Any, place: tuple[Any, ...]) -> list[tuple[Any, int]]:
        """What a container needs at once of what it holds, and the numbers of the places."""
        kind = type(value)
        if kind is List or (kind is tuple and place[0] != SHAPE):
            items = value if kind is tuple or len(value) <= SHORT else value[:1]
            return list(zip(items, self.numbers(len(items), place), strict=True))
        return []

    def is_missing(self, value: Any, number: int) -> bool:
        if number == NOTHING or type(value) not in CONTAINERS or self.leaves[number]:
            return False
        return id(value) not in self.done[number]

    def container(self, value: Any, place: tuple[Any, ...]) -> Any:
        kind = type(value)
        if kind is tuple and place[0] == SHAPE:
            return lazy_map(Map, ShapeEntries(), (self, value, place))
        if kind is not tuple and kind is not List:
            return lazy_map(kind, MapEntries(), (self, value, place))
        if kind is List and value.empty:
            return value
        items = value if kind is tuple else value.items
        if kind is List and len(items) > SHORT:
            return lazy_list(Items(self, items, place))
        made = self.all_of(items, place)
        return tuple(made) if kind is tuple and place[0] != ROW else List(made)

    def all_of(self, items: Sequence[Any], place: tuple[Any, ...]) -> list[Any]:
        return list(map(self.of, items, self.numbers(len(items), place)))

    def numbers(self, count: int, place: tuple[Any, ...]) -> list[int]:
        """The numbers of the places of the first items of a list or tuple."""
        _, keys, numbers, inner, _ = place
        if not keys:
            return [inner] * count
        known = dict(zip(keys, numbers, strict=True))
        return [known.get(index, inner) for index in range(count)]


class Items:
    """The items of a long list, restored when they are read. They stand where a list says how it goes on: in `note`."""

    __slots__ = ("made", "place", "restorer", "source")

    def __init__(self, restorer: Restorer, source: Sequence[Any], place: tuple[Any, ...]) -> None:
        self.restorer = restorer
        self.source = source
        self.place = place
        self.made: list[Any] | None = None

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: Any) -> Any:
        if self.made is None:
            self.made = self.restorer.all_of(self.source, self.place)
        return self.made[index]


def lazy_list(items: Items) -> List:
    cell: List = _new(List)
    cell.car = items.restorer.all_of(items.source[:1], items.place)[0]
    cell.next = cell.flat = None
    cell.empty = False
    cell.note = (items, 1, FIRST)
    return cell


def lazy_map(kind: Any, entries: LazyDict, source: Any) -> Map:
    new: Map = _new(kind)
    new._order = new._face = None
    new.d = entries
    entries.source = source
    return new


class ShapeEntries(LazyDict):
    """The entries of a map that was a tuple."""

    __slots__ = ()

    def load(self) -> None:
        restorer, value, (_, keys, numbers, _, _) = self.source
        dict.update(self, zip(keys, map(restorer.of, value, numbers), strict=True))


class MapEntries(LazyDict):
    """The entries of a map that holds tuples."""

    __slots__ = ()

    def load(self) -> None:
        restorer, value, (_, keys, numbers, inner, key_number) = self.source
        known = dict(zip(keys, numbers, strict=True))
        for key, item in value.stable().items():
            restored_key = stored(restorer.of(program_key(key), key_number)) if key_number != NOTHING else key
            dict.__setitem__(self, restored_key, restorer.of(item, known.get(key, inner)))
