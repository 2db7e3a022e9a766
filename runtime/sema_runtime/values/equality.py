"""Sema equality: deep, structural, without coercion (`1`, `1.0` and `#t` are three values).

Python's `==` is coarser: whatever it calls different is different here too, so it serves as the fast first test.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

FOREIGN = frozenset((list, dict, bytearray))


def equal(a: Any, b: Any) -> bool:
    """`equal?` / `eq?` of two values."""
    if a is b:
        return type(a) is not float or a == a  # a container is equal to itself even when a NaN is in it
    kind = type(a)
    if kind is not type(b):
        return (kind in FOREIGN or type(b) in FOREIGN) and equal(native(a), native(b))
    if kind in FOREIGN:
        return equal(native(a), native(b))
    try:
        return same_items(a, b) if kind is tuple else bool(a == b)
    except RecursionError:
        from sema_runtime.values.deep_equality import equal_deep

        return equal_deep(a, b)


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
    return hash(native(value) if type(value) in FOREIGN else value)


def native(value: Any) -> Any:
    """A Python list, dict or bytearray as the Sema value it stands for; other values as they are."""
    kind = type(value)
    if kind is list:
        from sema_runtime.values.lists import List

        return List(value)
    if kind is dict:
        from sema_runtime.values.maps import Map

        return Map.of(value.items())
    return bytes(value) if kind is bytearray else value
