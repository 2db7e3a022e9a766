"""Lists as collections of distinct or counted values: searching by value, uniqueness, differences, frequencies."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.values.equality import equal, holds, position_of
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import ATOMIC, Map, program_key, stored
from sema_runtime.values.sequences import elements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

UNAMBIGUOUS = ATOMIC - {int}  # never equal, in Python, to a value of another type


@builtin("list/contains?", type="seq|array, any -> bool", pure=True)
def list_is_contains(collection: Any, value: Any) -> bool:
    """Whether a list or vector contains an element that equals value.

    (list/contains? '(1 2) 2) => #t
    (list/contains? '(1 2) 2.0) => #f
    """
    items = collection.flat or collection.items if type(collection) is List else elements(collection, "list/contains?")
    return holds(value, items)


@builtin("list/index-of", type="seq|array, any -> nat|nil", pure=True)
def list_index_of(collection: Any, value: Any) -> int | None:
    """The index of the first element that equals value; nil when there is none.

    (list/index-of '(10 20) 20) => 1
    (list/index-of '(10 20) 5) => nil
    """
    items = collection.flat or collection.items if type(collection) is List else elements(collection, "list/index-of")
    index = position_of(value, items)
    return index if index >= 0 else None


@builtin("list/unique", type="seq a|array a -> flat a fresh", pure=True)
def list_unique(collection: Any) -> List:
    """Removes duplicates: returns the first occurrence of each element, in order.

    (list/unique '(3 1 3 2 1)) => (3 1 2)
    """
    items = collection.flat or collection.items if type(collection) is List else elements(collection, "list/unique")
    if ATOMIC.issuperset(map(type, items)):
        return List(list(dict.fromkeys(items)))
    return List(list(map(program_key, distinct(items, dict.fromkeys))))


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


@builtin("list/dedupe", type="seq a|array a -> flat a fresh", pure=True)
def list_dedupe(collection: Any) -> List:
    """Removes each element that equals the one before it.

    (list/dedupe '(1 1 2 1)) => (1 2 1)
    """
    kept: list[Any] = []
    for item in elements(collection, "list/dedupe"):
        if not kept or not equal(kept[-1], item):
            kept.append(item)
    return List(kept)


def counted(items: Sequence[Any]) -> dict[Any, int]:
    """How often each value occurs, by stored key, in the order of first occurrence."""
    from collections import Counter

    return dict(distinct(items, Counter))


@builtin("frequencies", type="seq a|array a -> map a int fresh", pure=True)
def frequencies(collection: Any) -> Map:
    """Counts the occurrences of each element of a list or vector and returns a map from element to count.

    (frequencies '(a b a)) => {a 2 b 1}
    """
    return Map(counted(elements(collection, "frequencies")))


@builtin("list/duplicates", type="seq a|array a -> flat a fresh", pure=True)
def list_duplicates(collection: Any) -> List:
    """The duplicates in a list: the values that occur more than once, each once, in order of size.

    (list/duplicates '(3 1 3 1 2)) => (1 3)
    """
    counts = counted(elements(collection, "list/duplicates"))
    return List(Map({key: count for key, count in counts.items() if count > 1}).sorted_keys())


@builtin("list/mode", type="seq a|array a -> a|list a", pure=True)
def list_mode(collection: Any) -> Any:
    """The most frequent value of a list; a list of them, in order of size, when there are several.

    (list/mode '(1 2 2)) => 2
    (list/mode '(2 1)) => (1 2)
    """
    items = elements(collection, "list/mode")
    if not items:
        raise SemaError("list/mode: empty list")
    counts = counted(items)
    most = max(counts.values())
    modes = Map({key: count for key, count in counts.items() if count == most}).sorted_keys()
    return modes[0] if len(modes) == 1 else List(modes)


@builtin("list/diff", type="seq a|array a, seq|array -> flat a fresh", pure=True)
def list_diff(collection: Any, other: Any) -> List:
    """The difference of two lists: the elements of the first that don't occur in other.

    (list/diff '(1 2 3) '(2)) => (1 3)
    """
    items = elements(collection, "list/diff")
    known = set(map(stored, elements(other, "list/diff")))
    return List([item for item in items if stored(item) not in known])


@builtin("list/intersect", type="seq a|array a, seq|array -> flat a fresh", pure=True)
def list_intersect(collection: Any, other: Any) -> List:
    """The intersection of two lists: the elements of the first that occur in other too.

    (list/intersect '(1 2 3 4) '(4 2)) => (2 4)
    """
    items = elements(collection, "list/intersect")
    known = set(map(stored, elements(other, "list/intersect")))
    return List([item for item in items if stored(item) in known])


@builtin("list/pluck", "pluck", type="any, seq (dict any a|b)|array (dict any a|b) -> flat (a|nil) fresh", pure=True)
def list_pluck(key: Any, collection: Any) -> List:
    """The value under key of each map of a list; nil where a map lacks the key or an element isn't a map.

    (list/pluck :a (list {:a 1} {:b 2})) => (1 nil)
    """
    items = elements(collection, "list/pluck")
    return List([item.lookup(key) if isinstance(item, Map) else _plucked(item, key) for item in items])


def _plucked(item: Any, key: Any) -> Any:
    return Map.of(item.items()).lookup(key) if isinstance(item, dict) else None


@builtin("list/shuffle", type="seq a|array a -> flat a fresh", total=True)
def list_shuffle(collection: Any) -> List:
    """The elements of a list or vector in random order.

    (sort (list/shuffle '(1 2 3))) => (1 2 3)
    """
    from random import shuffle

    items = list(elements(collection, "list/shuffle"))
    shuffle(items)
    return List(items)


@builtin("list/pick", type="seq a|array a -> a")
def list_pick(collection: Any) -> Any:
    """Picks a random element of a list or vector.

    (list/contains? '(1 2 3) (list/pick '(1 2 3))) => #t
    """
    from random import choice

    items = elements(collection, "list/pick")
    if not items:
        raise SemaError("list/pick: empty list")
    return choice(items)
