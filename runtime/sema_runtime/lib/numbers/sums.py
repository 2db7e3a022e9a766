"""Sums and tests of several values of which the compiler doesn't know what they are."""

from __future__ import annotations

import sys
from _operator import countOf  # without what `operator` is in Python: 0.2 ms of an import

from sema_runtime.lib.numbers.arithmetic import INT_OR_FLOAT, add, plus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

SHORT = 10**15  # generate/nested/numbers.py counts on it
SUM_ROUNDS_LESS = sys.version_info >= (3, 12)  # Python's `sum` of floats, than additions one after the other


def add_items(total: Any, items: Sequence[Any], operation: Callable[[Any, Any], Any] = add) -> Any:
    """`(+ (+ total first) second)` and so on. Ints and floats alone are for Python, which does the same with them."""
    if items and type(total) in INT_OR_FLOAT:
        first = type(items[0])
        count = countOf(map(type, items), first) if first in INT_OR_FLOAT else 0
        if count and (
            count == len(items) or count + countOf(map(type, items), float if first is int else int) == len(items)
        ):
            try:
                if not SUM_ROUNDS_LESS or (type(total) is first is int and count == len(items)):
                    return sum(items, total)
                result = total
                for item in items:
                    result += item
                return result
            except OverflowError:  # an int is too large for a float
                pass
    for item in items:
        total = operation(total, item)
    return total


def plus_items(total: Any, items: Sequence[Any]) -> Any:
    """The same with `+` as a value, which takes numbers alone."""
    return add_items(total, items, plus)


def are_real(*values: Any) -> bool:
    """Whether all values are floats, or ints that are so short that a float takes a product of several."""
    for value in values:
        kind = type(value)
        if kind is not float and not (kind is int and -SHORT < value < SHORT):
            return False
    return True
