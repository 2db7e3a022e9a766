"""Multiple values: the result of `values` with zero or several arguments."""

from __future__ import annotations

from sema_runtime.values.equality import same_items, strict_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class Values:
    """Several values, or none. Programs see a record of type `%multiple-values%`."""

    __slots__ = ("items",)
    type_name = "record"
    sema_tag = "%multiple-values%"

    def __init__(self, items: tuple[Any, ...]) -> None:
        self.items = items

    def __eq__(self, other: object) -> bool:
        return type(other) is Values and same_items(self.items, other.items)

    def __hash__(self) -> int:
        return strict_hash(self.items)

    def sema_members(self) -> tuple[Any, ...]:
        """The parts that equality compares."""
        return self.items

    def sema_parts(self) -> tuple[str, Iterable[Any], str]:
        return "#<record %multiple-values%" + (" " if self.items else ""), self.items, ">"


def values_tuple(value: Any, count: int, has_rest: bool) -> tuple[Any, ...]:
    """The values that let-values binds to count variables, and more to a rest. Raises ArityError if they don't fit."""
    items = value.items if type(value) is Values else (value,)
    actual = len(items)
    if actual != count and (actual < count or not has_rest):
        from sema_runtime.values.errors import ArityError

        raise ArityError("<lambda>", f"{count}+" if has_rest else str(count), actual)
    return items
