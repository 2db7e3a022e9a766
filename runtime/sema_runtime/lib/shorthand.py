"""Short names that are extensions of the language: never in the way of a program that defines them itself."""

from __future__ import annotations

from typing import Any

from sema_runtime.catalogue import builtin
from sema_runtime.values.errors import type_error
from sema_runtime.values.lists import List


@builtin("sum-by", returns="number", pure=False)
def sum_by(function: Any, items: Any) -> Any:
    """The sum of what function gives for the items of a list or vector. An extension.

    (sum-by :price (list {:price 2} {:price 3})) => 5
    """
    if not callable(function):
        type_error("callable", function)
    if not isinstance(items, (List, tuple, list)):
        type_error("list or vector", items)
    values = [function(item) for item in items]
    for value in values:
        if isinstance(value, bool) or not hasattr(value, "__add__") or isinstance(value, (str, tuple, list)):
            type_error("number", value)
    return sum(values)
