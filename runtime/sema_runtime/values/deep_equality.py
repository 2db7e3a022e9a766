"""Equality without recursion: of mutable containers, which can hold themselves, and of values nested very deeply.

Two containers that are met a second time in one comparison count as equal: whatever else differs ends the comparison
anyway. So cycles end, and containers that share their parts are compared once.
"""

from __future__ import annotations

from sema_runtime.values.atoms import Char, Keyword, Symbol
from sema_runtime.values.equality import equal, native
from sema_runtime.values.lists import List
from sema_runtime.values.maps import MISSING, Map
from sema_runtime.values.multiple import Values
from sema_runtime.values.mutable import MutableArray, MutableCell
from sema_runtime.values.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

ATOMS = frozenset((str, int, Keyword, Symbol, Char, bool, float, type(None), bytes))


def equal_deep(a: Any, b: Any) -> bool:
    """`equal` with a list of what is left to compare in place of Python's stack."""
    todo = [(a, b)]
    met: set[tuple[int, int]] = set()
    while todo:
        a, b = todo.pop()
        kind = type(a)
        if kind in ATOMS:
            if not equal(a, b):
                return False
            continue
        if a is b or (id(a), id(b)) in met:
            continue
        met.add((id(a), id(b)))
        a, b = native(a), native(b)
        if type(a) is not type(b):
            return False
        pairs = _pairs(a, b)
        if pairs is not None:
            todo += pairs
        elif a != b:
            return False
    return True


def _pairs(a: Any, b: Any) -> Iterable[tuple[Any, Any]] | None:
    """The parts of two values of one type that must be equal for the values to be; None when they have no parts.

    What differs already is a pair of parts that differ.
    """
    if isinstance(a, Map):
        return _entries(a, b)
    left, right = _items(a), _items(b)
    if left is None or right is None:
        return None
    if len(left) != len(right) or (type(a) is Record and a.tag != b.tag):
        return [(True, False)]
    return zip(left, right, strict=True)


def _entries(a: Map, b: Map) -> list[tuple[Any, Any]]:
    mine, theirs = a.stable(), b.stable()
    if len(mine) != len(theirs):
        return [(True, False)]
    return [(value, theirs.get(key, MISSING)) for key, value in mine.items()]


def _items(value: Any) -> Sequence[Any] | None:
    kind = type(value)
    if kind is List or kind is MutableArray or kind is Values:
        items: Sequence[Any] = value.items
        return items
    if kind is tuple:
        return value  # type: ignore[no-any-return]
    if kind is MutableCell:
        return (value.value,)
    return value.values if isinstance(value, Record) else None
