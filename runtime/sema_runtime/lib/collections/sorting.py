"""sort and sort-by."""

from __future__ import annotations

from _functools import partial  # type: ignore[import-not-found]  # without what `functools` is in Python

from sema_runtime.catalogue import builtin
from sema_runtime.values.atoms import MAPS, TEXTS, Char, Keyword, Symbol
from sema_runtime.values.errors import SemaTypeError
from sema_runtime.values.lists import List
from sema_runtime.values.lookup import keyword_reader
from sema_runtime.values.maps import MISSING
from sema_runtime.values.ordering import order_key
from sema_runtime.values.sequences import elements, items_for, not_callable
from sema_runtime.values.typenames import INTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

MIXED = "sort orders one type at a time; use `sort-by` or `(sort xs cmp)` with a comparator to order mixed types"
SIMPLE = ({int}, {str})
FLOATS = {float}
COMPARED = {  # the type of which builtins of these names compare two values as Python does
    **dict.fromkeys(("<", "<=", ">", ">=", "-"), int),
    **dict.fromkeys(("char<?", "char<=?", "char>?", "char>=?"), Char),
}  # fmt: skip


@builtin("sort", type=("seq a|array a -> flat a fresh", "seq a|array a, now (a, a -> any) -> flat a fresh"))
def sort(collection: Any, comparator: Any = MISSING) -> List:
    """Sorts a list or vector. Without a comparator the elements must be of one type. A comparator takes two elements:
    #t or a number of at most 0 says that they are in order, #f or a positive number that they are not.

    (sort '(3 1 2)) => (1 2 3)
    (sort '(3 1 2) >) => (3 2 1)
    (sort '(1 "a")) ! expected int, got string
    """
    items = collection.flat or collection.items if type(collection) is List else elements(collection, "sort")
    if comparator is MISSING:
        return List(_in_order(items))
    if len(items) < 2:
        return List(list(items))
    if not callable(comparator):
        not_callable(comparator)
    order = getattr(comparator, "__sema_order__", None)
    if order is not None and (found := _by_each(items, *order)) is not None:
        return List(found)
    name = getattr(comparator, "__sema_name__", "")
    kind = COMPARED.get(name)
    if kind is not None and set(map(type, items)) == {kind}:
        return List(sorted(items, key=TEXTS.__getitem__ if kind is Char else None, reverse=">" in name))
    return List(_merged(list(items), comparator))


@builtin("sort-by", type="now (a -> any), seq a|array a -> flat a fresh")
def sort_by(function: Any, collection: Any) -> List:
    """Sorts a list or vector by a key, the result of calling function with each element. Keys may be of any types;
    elements with equal keys keep their order.

    (sort-by abs '(-3 1 -2)) => (1 -2 -3)
    (sort-by :age (list {:n "a" :age 9} {:n "b" :age 7})) => ({:age 7 :n "b"} {:age 9 :n "a"})
    """
    items = items_for(function, collection, "sort-by")
    if type(function) is Keyword:
        function = keyword_reader(function)
    return sorted_by(items, [function(item) for item in items])


def sorted_by(items: Iterable[Any], keys: list[Any]) -> List:
    """The items in the order of their keys; emitted code computes the keys itself where the function is known."""
    found = keys if _is_simple(keys) else _comparable(keys)
    sizes = iter(map(order_key, keys) if found is None else found)
    return List(sorted(items, key=partial(next, sizes)))  # the key function is called once an item, in their order


def sorted_by_plain(items: Iterable[Any], keys: list[Any]) -> List:
    """As `sorted_by`, where Python surely orders the keys as the language does."""
    return List(sorted(items, key=partial(next, iter(keys))))


def sorted_as(
    collection: Any,
    comparator: Callable[[Any, Any], Any],
    key: Callable[[Any], Any],
    is_down: bool,
    is_turned: bool,
    is_difference: bool,
) -> List:
    """`(sort collection comparator)`, where the compiler knows that the comparator compares a key of both elements and
    has no effects. is_down: larger keys are first. is_turned: elements with equal keys change places, as they do where
    the comparator says #f of them. is_difference: it subtracts the keys, which orders ints alone."""
    items = collection.flat or collection.items if type(collection) is List else elements(collection, "sort")
    try:
        keys = list(map(key, items))
        is_simple = set(map(type, keys)) == {int} or (not is_difference and _is_simple(keys))
    except Exception:  # the comparator fails in its own way
        is_simple = False
    if not is_simple or type(keys[0]) is tuple:
        return sort(collection, comparator)
    in_turn = reversed if is_turned else iter
    return List(sorted(in_turn(items), key=partial(next, in_turn(keys)), reverse=is_down))


def sorted_in_turn(
    collection: Any,
    comparator: Callable[[Any, Any], Any],
    key: Callable[[Any], tuple[Any, ...]],
    downs: tuple[bool, ...],
    is_turned: bool,
    differences: tuple[bool, ...],
) -> List:
    """As `sorted_as`, with several keys: each orders elements whose keys before it are equal. downs, differences: of
    each key, as there."""
    items = collection.flat or collection.items if type(collection) is List else elements(collection, "sort")
    columns: list[Any] = []
    try:
        columns += zip(*map(key, items))  # noqa: B905  (equally long)
    except Exception:  # the comparator fails in its own way
        return sort(collection, comparator)
    found = _by_all(items, columns, downs, is_turned, differences)
    return sort(collection, comparator) if found is None else List(found)


def ordered_by_each(comparator: Any, keys: Any, is_down: bool, is_turned: bool) -> None:
    """Says of a comparator that it compares what each of the keys has of both elements, until two differ."""
    if hasattr(comparator, "__dict__"):  # no machine code
        comparator.__sema_order__ = keys, is_down, is_turned


def _by_each(items: Sequence[Any], keys: Any, is_down: bool, is_turned: bool) -> list[Any] | None:
    """Maps in the order of keywords, as `sorted_in_turn`; None where the comparator has to be asked."""
    keys = keys.items if type(keys) is List else keys
    if type(keys) is not tuple and type(keys) is not list:
        return None
    if set(map(type, keys)) != {Keyword} or not MAPS.issuperset(map(type, items)):
        return None
    columns = [[item.d.get(key) for item in items] for key in keys]
    return _by_all(items, columns, (is_down,) * len(columns), is_turned, (False,) * len(columns))


def _by_all(
    items: Sequence[Any], columns: list[Any], downs: tuple[bool, ...], is_turned: bool, differences: tuple[bool, ...]
) -> list[Any] | None:
    """The items in the order of columns of keys; None where Python orders some otherwise than Sema."""
    kinds = [set(map(type, column)) for column in columns]
    for kind, column, is_difference in zip(kinds, columns, differences):  # noqa: B905  (no columns: no items)
        if kind != {int} and (is_difference or not _are_ordered(kind, column)):
            return None
    order = list(range(len(items)))
    if is_turned:
        order.reverse()
    of_texts = {down for kind, down in zip(kinds, downs) if kind == {str}}  # noqa: B905
    if len(of_texts) == 2:
        return _by_columns(items, columns, downs, order)
    is_down = True in of_texts
    for index, down in enumerate(downs[: len(columns)]):
        if down is not is_down and kinds[index] != {str}:  # numbers can be negative instead
            columns[index] = [-number for number in columns[index]]
    keys = list(zip(*columns))  # noqa: B905
    order.sort(key=keys.__getitem__, reverse=is_down)
    return [items[index] for index in order]


def _by_columns(items: Sequence[Any], columns: list[Any], downs: tuple[bool, ...], order: list[int]) -> list[Any]:
    """The items sorted by each key, the last one first: each time, those whose keys are equal keep their order."""
    for column, is_down in zip(reversed(columns), reversed(downs)):  # noqa: B905
        order.sort(key=column.__getitem__, reverse=is_down)
    return [items[index] for index in order]


def _is_simple(values: Sequence[Any]) -> bool:
    """Whether Python orders the values as Sema does."""
    kinds = set(map(type, values))
    if kinds == {tuple} and len(set(map(len, values))) == 1:
        columns = zip(*values)  # noqa: B905  (equally long)
        return all(_are_ordered(set(map(type, column)), column) for column in columns)
    return _are_ordered(kinds, values)


def _comparable(values: Sequence[Any]) -> Sequence[Any] | None:
    """What Python orders as Sema does the values: of atoms of one type their texts, of lists or of vectors of one
    length tuples of such; None where there are others."""
    kinds = set(map(type, values))
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    if kind is tuple or kind is List:
        rows = values if kind is tuple else [value.items for value in values]
        if len(set(map(len, rows))) != 1:
            return None
        columns = [_comparable(column) for column in zip(*rows)]  # noqa: B905  (equally long)
        return None if None in columns else list(zip(*columns)) if columns else None  # noqa: B905
    if kind is Char:
        return [TEXTS[value] for value in values]
    if kind is Keyword or kind is Symbol:
        return [value.name for value in values]
    return values if _are_ordered(kinds, values) else None


def _are_ordered(kinds: set[type], values: Sequence[Any]) -> bool:
    """Whether values of these types are ordered by Python as by Sema."""
    return kinds in SIMPLE or (kinds == FLOATS and _has_no_nan(values))


def _has_no_nan(floats: Sequence[float]) -> bool:
    """Whether none surely is NaN, as one makes the sum NaN; the sum of both infinities is NaN, too."""
    total = sum(floats)
    return total == total


def _in_order(items: Sequence[Any]) -> list[Any]:
    if INTS.issuperset(map(type, items)) or _is_simple(items):
        return sorted(items)
    if type(items[0]) is Char and len(set(map(type, items))) == 1:
        return sorted(items, key=TEXTS.__getitem__)
    found = _comparable(items)
    if found is not None:
        return sorted(items, key=partial(next, iter(found)))
    families = [_family(item) for item in items]
    for item, family in zip(items, families, strict=True):
        if family != families[0]:
            from sema_runtime.values.typenames import type_name

            raise SemaTypeError(type_name(items[0]), type_name(item), MIXED)
    if families and families[0] is float:
        return sorted(items, key=_number_key)
    return sorted(items, key=order_key)


def _family(item: Any) -> Any:
    """The group of values that can be sorted together: real numbers, or values of one type."""
    kind = type(item)
    if kind is int or kind is float or kind.__module__ == "fractions":
        return float
    return "function" if callable(item) and kind is not Keyword else kind


def _number_key(number: Any) -> Any:
    """NaN comes last."""
    return (number != number, 0 if number != number else number)


def _merged(items: list[Any], comparator: Callable[[Any, Any], Any]) -> list[Any]:
    """Merge sort from the bottom up: the reference's, so that the comparator sees the same pairs in the same order."""
    width = 1
    total = len(items)
    while width < total:
        merged: list[Any] = []
        append = merged.append
        for start in range(0, total, 2 * width):
            left, middle = start, min(start + width, total)
            right, end = middle, min(start + 2 * width, total)
            if right < end:
                first, second = items[left], items[right]
                while True:
                    kept = comparator(first, second)
                    if kept is True or (kept is not False and (type(kept) is not int or kept <= 0)):
                        append(first)
                        left += 1
                        if left == middle:
                            break
                        first = items[left]
                    else:
                        append(second)
                        right += 1
                        if right == end:
                            break
                        second = items[right]
            merged += items[left:middle]
            merged += items[right:end]
        items = merged
        width *= 2
    return items
