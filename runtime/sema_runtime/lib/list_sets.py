"""Lists as collections of distinct or counted values: searching by value, uniqueness, differences, frequencies."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.lib.sequences import elements
from sema_runtime.values.equality import equal
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map, stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


@builtin("list/contains?", returns="bool", pure=True)
def list_is_contains(collection: Any, value: Any) -> bool:
    """Whether some element equals value.

    (list/contains? '(1 2) 2) => #t
    """
    return any(equal(item, value) for item in elements(collection, "list/contains?"))


@builtin("list/index-of", returns="int|nil", pure=True)
def list_index_of(collection: Any, value: Any) -> int | None:
    """The index of the first element that equals value, or nil.

    (list/index-of '(10 20) 20) => 1
    """
    for index, item in enumerate(elements(collection, "list/index-of")):
        if equal(item, value):
            return index
    return None


@builtin("list/unique", returns="list", pure=True)
def list_unique(collection: Any) -> List:
    """The elements without those that occurred before.

    (list/unique '(3 1 3 2 1)) => (3 1 2)
    """
    firsts: dict[Any, Any] = {}
    for item in elements(collection, "list/unique"):
        firsts.setdefault(stored(item), item)
    return List(list(firsts.values()))


@builtin("list/dedupe", returns="list", pure=True)
def list_dedupe(collection: Any) -> List:
    """The elements without those that equal the one just before.

    (list/dedupe '(1 1 2 1)) => (1 2 1)
    """
    kept: list[Any] = []
    for item in elements(collection, "list/dedupe"):
        if not kept or not equal(kept[-1], item):
            kept.append(item)
    return List(kept)


def counted(items: Sequence[Any]) -> dict[Any, int]:
    """How often each value occurs, by stored key, in the order of first occurrence."""
    counts: dict[Any, int] = {}
    for item in items:
        key = stored(item)
        counts[key] = counts.get(key, 0) + 1
    return counts


@builtin("frequencies", returns="map", pure=True)
def frequencies(collection: Any) -> Map:
    """A map from each distinct element to the number of times it occurs.

    (frequencies '(a b a)) => {a 2 b 1}
    """
    return Map(counted(elements(collection, "frequencies")))


@builtin("list/duplicates", returns="list", pure=True)
def list_duplicates(collection: Any) -> List:
    """The values that occur more than once, each once, in order of size.

    (list/duplicates '(3 1 3 1 2)) => (1 3)
    """
    counts = counted(elements(collection, "list/duplicates"))
    return List(Map({key: count for key, count in counts.items() if count > 1}).keys())


@builtin("list/mode", pure=True)
def list_mode(collection: Any) -> Any:
    """The most frequent value; a list of them, in order of size, when there are several.

    (list/mode '(1 2 2)) => 2
    """
    items = elements(collection, "list/mode")
    if not items:
        raise SemaError("list/mode: empty list")
    counts = counted(items)
    most = max(counts.values())
    modes = Map({key: count for key, count in counts.items() if count == most}).keys()
    return modes[0] if len(modes) == 1 else List(modes)


@builtin("list/diff", returns="list", pure=True)
def list_diff(collection: Any, other: Any) -> List:
    """The elements that don't occur in other.

    (list/diff '(1 2 3) '(2)) => (1 3)
    """
    items = elements(collection, "list/diff")
    known = set(map(stored, elements(other, "list/diff")))
    return List([item for item in items if stored(item) not in known])


@builtin("list/intersect", returns="list", pure=True)
def list_intersect(collection: Any, other: Any) -> List:
    """The elements that occur in other too.

    (list/intersect '(1 2 3 4) '(4 2)) => (2 4)
    """
    items = elements(collection, "list/intersect")
    known = set(map(stored, elements(other, "list/intersect")))
    return List([item for item in items if stored(item) in known])


@builtin("list/pluck", returns="list", pure=True)
def list_pluck(key: Any, collection: Any) -> List:
    """What each map of a list has under key; nil where it has nothing or is no map.

    (list/pluck :a (list {:a 1} {:b 2})) => (1 nil)
    """
    items = elements(collection, "list/pluck")
    return List([item.lookup(key) if isinstance(item, Map) else _plucked(item, key) for item in items])


def _plucked(item: Any, key: Any) -> Any:
    return Map.of(item.items()).lookup(key) if isinstance(item, dict) else None


@builtin("list/shuffle", returns="list")
def list_shuffle(collection: Any) -> List:
    """The elements in random order."""
    from random import shuffle

    items = list(elements(collection, "list/shuffle"))
    shuffle(items)
    return List(items)


@builtin("list/pick")
def list_pick(collection: Any) -> Any:
    """An element chosen at random."""
    from random import choice

    items = elements(collection, "list/pick")
    if not items:
        raise SemaError("list/pick: empty list")
    return choice(items)
