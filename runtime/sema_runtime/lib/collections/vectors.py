"""Vectors."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.values.errors import type_error
from sema_runtime.values.lists import List

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@builtin("vector", type="keep a... -> vector a fresh", pure=True, total=True)
def vector(*values: Any) -> tuple[Any, ...]:
    """A vector of the arguments.

    (vector 1 2) => [1 2]
    """
    return values


@builtin("list->vector", type="list a -> vector a", pure=True, total=True)
def list_to_vector(collection: Any) -> tuple[Any, ...]:
    """Converts a list to a vector.

    (list->vector '(1 2)) => [1 2]
    """
    if type(collection) is List or isinstance(collection, list):
        return tuple(collection)
    type_error("list", collection, "list->vector: argument 1 must be a list")


@builtin("vector->list", type="vector a -> flat a fresh", pure=True, total=True)
def vector_to_list(collection: Any) -> List:
    """Converts a vector to a list.

    (vector->list [1 2]) => (1 2)
    """
    if isinstance(collection, tuple):
        return List(collection)
    type_error("vector", collection, "vector->list: argument 1 must be a vector")
