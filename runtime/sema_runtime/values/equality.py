"""Sema equality: deep, structural, without coercion (`1`, `1.0` and `#t` are three values).

Python's `==` is coarser: whatever it calls different is different here too, so it serves as the fast first test.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_NUMBERS = frozenset((int, float, bool, complex))


def equal(a: Any, b: Any) -> bool:
    """`equal?` / `eq?` of two values."""
    if a is b:
        return a == a  # not for NaN
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is tuple:
        return len(a) == len(b) and same_items(a, b)
    return bool(a == b)


def same_items(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether two sequences hold equal items in the same order."""
    if len(a) != len(b):
        return False
    return all(map(equal, a, b))


def strict_hash(values: Any) -> int:
    """A hash that agrees with `equal` for a sequence of values."""
    return hash((len(values), *map(_hash_one, values)))


def _hash_one(value: Any) -> int:
    if type(value) is tuple:
        return strict_hash(value)
    return hash(value)
