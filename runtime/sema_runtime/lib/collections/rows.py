"""`apply` of builtins that take any number of lists, such as `(apply map list rows)`, without an argument for each."""

from __future__ import annotations

from sema_runtime.lib.collections.hofs import apply, map_
from sema_runtime.lib.collections.lists import append, list_
from sema_runtime.lib.collections.vectors import vector
from sema_runtime.values.lists import List

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def columns(rows: Any) -> Any:
    """`(apply map list rows)`: lists of the first items, of the second ones, as far as all rows go.

    Raises what `map` raises for rows that have no items, or for none at all.
    """
    parts = items_of_rows(rows)
    return List([List([*column]) for column in zip(*parts, strict=False)]) if parts else apply(map_, list_, rows)


def column_vectors(rows: Any) -> Any:
    """`(apply map vector rows)`, likewise."""
    parts = items_of_rows(rows)
    return List([*zip(*parts, strict=False)]) if parts else apply(map_, vector, rows)


def joined_rows(rows: Any) -> Any:
    """`(apply append rows)`. Raises what `append` raises for rows that are neither lists nor vectors."""
    parts = items_of_rows(rows)
    return List([item for part in parts for item in part]) if parts else apply(append, rows)


def vector_of(items: Any) -> Any:
    """`(apply vector items)`."""
    if type(items) is List:
        return tuple(items.flat or items.items)
    return items if type(items) is tuple else apply(vector, items)


def items_of_rows(rows: Any) -> list[Any] | None:
    """The items of each row, of lists and vectors; None where others are among them."""
    if type(rows) is List:
        rows = rows.flat or rows.items
    elif type(rows) is not tuple:
        return None
    parts = [row if type(row) is tuple else row.flat or row.items if type(row) is List else None for row in rows]
    return None if None in parts else parts
