"""Sums, extremes and averages of lists of ints and floats."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.sequences import INT_LIMIT, elements
from sema_runtime.values.typenames import INTS

REALS = frozenset((int, float))
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn


def _numbers(collection: Any, function: str) -> Sequence[Any]:
    """The items, at least one, all of them floats or ints of 64 bits."""
    items = elements(collection, function)
    if not items:
        raise SemaError(f"{function}: empty list")
    for item in items:
        if not _is_number(item):
            _not_a_number(item)
    return items


def _is_number(item: Any) -> bool:
    return type(item) is float or (type(item) is int and -INT_LIMIT <= item < INT_LIMIT)


def _not_a_number(item: Any) -> NoReturn:
    type_error("number", item)


@builtin("list/sum", type="seq (int|float)|array (int|float) -> int|float", pure=True)
def list_sum(collection: Any) -> Any:
    """The sum of ints and floats; 0 for the empty list.

    (list/sum '(1 2.5)) => 3.5
    (list/sum '()) => 0
    """
    items = elements(collection, "list/sum")
    if INTS.issuperset(map(type, items)):
        return sum(items)
    for item in items:
        if type(item) is not int and type(item) is not float:
            _not_a_number(item)
    total = items[0] if items else 0
    for item in items[1:]:
        total += item
    return total


@builtin("list/min", type="seq a|array a -> a", pure=True)
def list_min(collection: Any) -> Any:
    """The smallest of a list of ints and floats, the first of equal ones.

    (list/min '(3 1 2)) => 1
    (list/min '()) ! list/min: empty list
    """
    return _extreme(collection, "list/min", -1)


@builtin("list/max", type="seq a|array a -> a", pure=True)
def list_max(collection: Any) -> Any:
    """The largest of a list of ints and floats, the first of equal ones.

    (list/max '(3 1 2)) => 3
    """
    return _extreme(collection, "list/max", 1)


def _extreme(collection: Any, function: str, sign: int) -> Any:
    items = elements(collection, function)
    if not items:
        raise SemaError(f"{function}: empty list")
    if REALS.issuperset(map(type, items)):
        least, most = min(items), max(items)
        if least >= -INT_LIMIT and most < INT_LIMIT:
            return most if sign > 0 else least
    best = items[0]
    for item in items[1:]:
        if not (_is_number(best) and _is_number(item)):
            _not_a_number(best if sign > 0 else item)  # the reference blames the left side of its comparison
        if item > best if sign > 0 else item < best:
            best = item
    return best


@builtin("list/avg", "avg", type="seq (int|float)|array (int|float) -> float", pure=True)
def list_avg(collection: Any) -> float:
    """The average (mean) of a list of ints and floats, as a float.

    (list/avg '(2 4 6)) => 4.0
    (list/avg '()) ! list/avg: empty list
    """
    items = _numbers(collection, "list/avg")
    total = 0.0
    for item in items:
        total += item
    return total / len(items)


@builtin("list/median", type="seq (int|float)|array (int|float) -> float", pure=True)
def list_median(collection: Any) -> float:
    """The median of a list of ints and floats, as a float; of an even number of elements, the mean of the middle two.

    (list/median '(3 1 2)) => 2.0
    (list/median '(1 2 3 4)) => 2.5
    """
    numbers = sorted(float(item) for item in _numbers(collection, "list/median"))
    middle = len(numbers) // 2
    return numbers[middle] if len(numbers) % 2 else (numbers[middle - 1] + numbers[middle]) / 2
