"""The total order of values: of map keys, and of the keys that `sort-by` and `list/unique` compare.

nil < booleans < ints < floats < chars < strings < symbols < keywords < lists < vectors < maps < hashmaps < records
< bytevectors < everything else < rationals < complex numbers. Within a kind: by value; text by code point; sequences
item by item, the shorter first. NaN is the greatest float. Maps have no order among each other, nor have functions.
"""

from __future__ import annotations

from _thread import get_ident

from sema_runtime.values.atoms import Char, Keyword, Symbol
from sema_runtime.values.mutable import MutableArray, MutableCell
from sema_runtime.values.typenames import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

RANKS: dict[type, int] = {
    type(None): 0,
    bool: 1,
    int: 2,
    float: 3,
    Char: 4,
    str: 5,
    Symbol: 6,
    Keyword: 7,
    list: 8,
    tuple: 9,
    dict: 10,
    bytes: 13,
    bytearray: 13,
    complex: 21,
}  # and the types of RANKS_BY_NAME that a program has ordered
RANKS_BY_NAME = {"list": 8, "map": 10, "hashmap": 11, "complex": 21}
RECORD, OTHER, RATIONAL = 12, 14, 20
INFINITY = float("inf")


class ContentsKey:
    """Orders mutable containers by their contents. One can hold itself: a pair under comparison counts as equal."""

    __slots__ = ("container",)
    comparing: ClassVar[set[tuple[int, int, int]]] = set()  # two containers and the thread that compares them

    def __init__(self, container: MutableArray | MutableCell) -> None:
        self.container = container

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ContentsKey) and self._compare(other) == 0

    def __lt__(self, other: ContentsKey) -> bool:
        return self._compare(other) < 0

    __hash__ = None  # type: ignore[assignment]

    def _compare(self, other: ContentsKey) -> int:
        pair = (id(self.container), id(other.container), get_ident())
        if self.container is other.container or pair in self.comparing:
            return 0
        self.comparing.add(pair)
        try:
            mine, theirs = self.container.sema_contents(), other.container.sema_contents()
            for a, b in zip(map(order_key, mine), map(order_key, theirs), strict=False):
                if a != b:
                    return -1 if a < b else 1
            return len(mine) - len(theirs)
        finally:
            self.comparing.discard(pair)


def order_key(value: Any) -> tuple[Any, ...]:
    """A key for `sorted`: two keys compare as their values do in Sema's total order."""
    rank = RANKS.get(type(value))
    if rank is None:
        rank = RANKS_BY_NAME.get(NAMES.get(type(value), ""))
        if rank is None:
            return _other(value)
        RANKS[type(value)] = rank
    if rank in (2, 5):
        return (rank, value)
    if rank in (0, 10, 11):
        return (rank,)
    if rank == 3:
        return (3, value == value, value) if value == value else (3, True, INFINITY, 1)
    return (rank, _within(rank, value))


def _other(value: Any) -> tuple[Any, ...]:
    kind = type(value)
    if kind.__module__ == "fractions":  # not imported here: it is slow to load
        return (RATIONAL, value)
    fields = getattr(value, "sema_parts", None)
    if fields is None:
        if kind is MutableArray or kind is MutableCell:
            return (OTHER, kind.type_name, ContentsKey(value))
        contents = getattr(value, "sema_contents", None)
        if contents is not None:
            return (OTHER, kind.type_name, *map(order_key, contents()))
        return (OTHER, getattr(kind, "type_name", ""))
    opening, items, _ = fields()
    return (RECORD, opening, *map(order_key, items))


def _within(rank: int, value: Any) -> Any:
    """The key that orders two values of the same kind."""
    if rank in (6, 7):
        return value.name
    if rank == 4:
        return value.value
    if rank in (8, 9):
        return tuple(map(order_key, value))
    if rank == 13:
        return bytes(value)
    if rank == 21:
        return (value.real, value.imag)
    return value
