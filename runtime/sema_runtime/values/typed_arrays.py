"""Arrays of numbers of one type, stored as machine words. Programs see them as immutable."""

from __future__ import annotations

from array import array

from sema_runtime.values.numbers import shortest_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class TypedArray:
    """The base class of both kinds. items: an `array` of the kind's type code."""

    __slots__ = ("items",)
    code = ""
    type_name = ""

    def __init__(self, items: Iterable[float]) -> None:
        self.items: array[float] = array(self.code, items)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[float]:
        return iter(self.items)

    def __eq__(self, other: object) -> bool:
        """By bits: NaN equals NaN, 0.0 differs from -0.0."""
        return type(other) is type(self) and self.items.tobytes() == other.items.tobytes()

    def __hash__(self) -> int:
        return hash((self.code, self.items.tobytes()))

    def __repr__(self) -> str:
        return self.sema_text()

    def sema_contents(self) -> Iterable[float]:
        """The items, which the total order of values compares."""
        return self.items

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
