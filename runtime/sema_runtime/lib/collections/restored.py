"""Lists and maps in place of the tuples that the compiler made of them (`semac/optimize/rows/restoring.py`)."""

from __future__ import annotations

from sema_runtime.values.lists import List
from sema_runtime.values.maps import HashMap, Map, program_key, stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CONTAINERS = frozenset((List, tuple, Map, HashMap))
SHAPE, ROW = 0, 1  # tuples that stand for a map, for a list (semac/ir/intrinsics.py)
NOTHING = -1  # the number of a place without such tuples


def restored(value: Any, places: tuple[Any, ...], number: int) -> Any:
    """The value that others see. places: what can be where, by number: (kind, keys of parts, numbers of their places,
    number of the place of other parts, number of the place of keys). What two values share, they share again."""
    try:
        return Restorer(places).of(value, number)
    except RecursionError:
        return restored_deep(value, places, number)


class Restorer:
    """Makes such copies. done: by number of the place, then by identity of the tuple or container."""

    __slots__ = ("done", "leaves", "places")

    def __init__(self, places: tuple[Any, ...]) -> None:
        self.places = places
        self.leaves = [inner == keys == NOTHING == max(parts, default=NOTHING) for _, _, parts, inner, keys in places]
        self.done: list[dict[int, Any]] = [{} for _ in places]

    def of(self, value: Any, number: int) -> Any:
        if number == NOTHING or type(value) not in CONTAINERS:
            return value
        if self.leaves[number]:
            return self.leaf(value, self.places[number])
        done = self.done[number]
        made = done.get(id(value))
        if made is None:
            place = self.places[number]
            done[id(value)] = made = rebuilt(value, place, [self.of(part, to) for part, to in parts_of(value, place)])
        return made

    def leaf(self, value: Any, place: tuple[Any, ...]) -> Any:
        if type(value) is not tuple:
            return value
        if place[0] == SHAPE:
            return Map(dict(zip(place[1], value)))  # noqa: B905  (equally long)
        return List(value)


def restored_deep(value: Any, places: tuple[Any, ...], number: int) -> Any:
    """The same without recursion: trees can be deep."""
    if type(value) not in CONTAINERS:
        return value
    done: dict[tuple[int, int], Any] = {}
    todo = [(value, number)]
    while todo:
        current, at = todo[-1]
        if (id(current), at) in done:
            todo.pop()
            continue
        parts = parts_of(current, places[at])
        missing = [part for part in parts if part[1] != NOTHING and (id(part[0]), part[1]) not in done]
        if missing:
            todo += missing
            continue
        done[id(current), at] = rebuilt(
            current, places[at], [part if to == NOTHING else done[id(part), to] for part, to in parts]
        )
        todo.pop()
    return done[id(value), number]


def parts_of(value: Any, place: tuple[Any, ...]) -> list[tuple[Any, int]]:
    """What a value holds, and the number of the place of each; values first, then keys."""
    kind, keys, numbers, inner, key_number = place
    if kind == SHAPE and type(value) is tuple:
        return [part(item, number) for item, number in zip(value, numbers, strict=True)]
    known = dict(zip(keys, numbers, strict=True))
    if type(value) is tuple or type(value) is List:
        if not known:
            return [part(item, inner) for item in value]
        return [part(item, known.get(index, inner)) for index, item in enumerate(value)]
    entries = value.stable()
    values = [part(item, known.get(key, inner)) for key, item in entries.items()]
    return values + [part(program_key(key), key_number) for key in entries]


def part(value: Any, number: int) -> tuple[Any, int]:
    return value, number if type(value) in CONTAINERS else NOTHING


def rebuilt(value: Any, place: tuple[Any, ...], parts: list[Any]) -> Any:
    kind = type(value)
    if kind is tuple:
        if place[0] == SHAPE:
            return Map(dict(zip(place[1], parts, strict=True)))
        return List(parts) if place[0] == ROW else tuple(parts)
    if kind is List:
        return List(parts)
    size = len(parts) // 2
    return kind({stored(key): item for key, item in zip(parts[size:], parts[:size], strict=True)})
