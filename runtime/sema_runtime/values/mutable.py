"""The mutable containers: arrays and cells. They compare by content, so their hash is that of their kind.

One can hold itself, so neither they nor the functions that compare them recurse into their contents.
"""

from __future__ import annotations

from sema_runtime.values.equality import equal_deep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class MutableArray:
    """A growable array; `items` is its Python list."""

    __slots__ = ("items",)
    type_name = "mutable-array"

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is MutableArray and equal_deep(self, other))

    def __hash__(self) -> int:
        return hash(MutableArray)

    def __len__(self) -> int:
        return len(self.items)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Any:
        return iter(self.items)

    def sema_contents(self) -> list[Any]:
        """The contents, by which it is ordered."""
        return self.items

    sema_members = sema_contents  # the parts that equality compares

    def sema_text(self) -> str:
        return f"<mutable-array {len(self.items)}>"

    __repr__ = sema_text


class MutableCell:
    """A box for one value."""

    __slots__ = ("value",)
    type_name = "mutable-cell"

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is MutableCell and equal_deep(self, other))

    def __hash__(self) -> int:
        return hash(MutableCell)

    def sema_contents(self) -> list[Any]:
        """The contents, by which it is ordered."""
        return [self.value]

    sema_members = sema_contents  # the parts that equality compares

    def sema_text(self) -> str:
        return "<mutable-cell>"

    __repr__ = sema_text
