"""Sums of many values of which the compiler doesn't know what they are."""

from __future__ import annotations

import sys
from _operator import countOf  # without what `operator` is in Python: 0.2 ms of an import

from sema_runtime.lib.numbers.arithmetic import add, plus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

SUM_ROUNDS_LESS = sys.version_info >= (3, 12)  # Python's `sum` of floats, than additions one after the other
EXACT = 1 << 53  # ints up to this are floats as well


def add_items(total: Any, items: Sequence[Any]) -> Any:
    """`(+ (+ total first) second)` and so on."""
    return _sum(add, total, items)


def plus_items(total: Any, items: Sequence[Any]) -> Any:
    """The same with `+` as a value, which takes numbers alone."""
    return _sum(plus, total, items)


def _sum(operation: Callable[[Any, Any], Any], total: Any, items: Sequence[Any]) -> Any:
    kind, each = type(total), type(items[0]) if len(items) else None
    if (each is int or each is float) and countOf(map(type, items), each) == len(items):
        if kind is int and each is int:
            return total + sum(items)
        if each is float and (kind is float or (kind is int and -EXACT < total < EXACT)):
            if not SUM_ROUNDS_LESS:
                return sum(items, total)
            for item in items:
                total += item
            return total
    for item in items:
        total = operation(total, item)
    return total
