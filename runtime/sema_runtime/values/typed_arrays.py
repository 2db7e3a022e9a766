"""Arrays of numbers of one type, stored as machine words. Programs see them as immutable."""

from __future__ import annotations

from _thread import _count as thread_count
from array import array

from sema_runtime.values.numbers import shortest_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Self


class TypedArray:
    """The base class of both kinds.

    A changed copy (`changed`) takes over the memory of the array it is made from, so that a loop which changes an array
    item by item takes time for each item, not for each item times the size. The older array then remembers the one
    item in which it differs from the newer one, and copies the whole only when it is asked for again.

    own: an `array` of the kind's type code, None in an older array; newer, index, number: the array that took it over,
    and the item here at that index; steps: how many copies in a row have taken the memory over.
    """

    __slots__ = ("index", "newer", "number", "own", "steps")
    code = ""
    type_name = ""
    own: array[float] | None
    newer: TypedArray | None
    index: int
    number: float

    def __init__(self, items: Iterable[float]) -> None:
        self.own = array(self.code, items)
        self.newer = None
        self.steps = 0

    @property
    def items(self) -> array[float]:
        """The items. What calls functions of programs while it goes through them takes `list(self)`."""
        own = self.own
        return self._recovered() if own is None else own

    def changed(self, index: int, number: float) -> Self:
        """A copy with a number at an index that is there.

        Other threads could read the memory while it changes hands, so with any the copy is made at once; and after as
        many steps as there are items, which keeps the way from the oldest array to the newest short.
        """
        items = self.items
        copy = type(self).__new__(type(self))
        copy.newer = None
        if self.steps >= len(items) or thread_count():
            copy.steps = 0
            copy.own = items[:]
            copy.own[index] = number
            return copy
        copy.steps = self.steps + 1
        copy.own = items
        self.index, self.number, self.newer = index, items[index], copy
        self.own = None
        items[index] = number  # last: an interrupt before it leaves two equal arrays
        return copy

    def _recovered(self) -> array[float]:
        """A copy of the items that a newer array has taken over, in which what has changed since is as before."""
        older = []
        node: TypedArray = self
        while (items := node.own) is None:
            if node.newer is not None:  # another thread may have just recovered it
                older.append(node)
                node = node.newer
        items = items[:]
        for node in reversed(older):
            items[node.index] = node.number
        self.steps = 0
        self.own = items
        self.newer = None
        return items

    def __reduce__(self) -> tuple[type[Self], tuple[list[float]]]:
        return type(self), (self.items.tolist(),)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[float]:
        return iter(self.items.tolist())

    def __eq__(self, other: object) -> bool:
        """By bits: NaN equals NaN, 0.0 differs from -0.0."""
        return type(other) is type(self) and self.items.tobytes() == other.items.tobytes()

    def __hash__(self) -> int:
        return hash((self.code, self.items.tobytes()))

    def __repr__(self) -> str:
        return self.sema_text()

    def sema_contents(self) -> Iterable[float]:
        """The items, which the total order of values compares."""
        return self.items.tolist()

    def sema_text(self) -> str:
        return f"#{self.type_name[:3]}({' '.join(map(self.item_text, self.items))})"

    @staticmethod
    def item_text(value: float) -> str:
        return str(value)


class FloatArray(TypedArray):
    """An f64-array."""

    __slots__ = ()
    code = "d"
    type_name = "f64-array"
    item_text = staticmethod(shortest_text)


class IntArray(TypedArray):
    """An i64-array."""

    __slots__ = ()
    code = "q"
    type_name = "i64-array"
