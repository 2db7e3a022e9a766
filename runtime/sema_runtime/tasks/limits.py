"""Limits of waiting."""

from __future__ import annotations

from math import isfinite

from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.sequences import INT_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST_WAIT = 1.0
"""Seconds to wait at once: a Ctrl-C that comes in the moment before a wait begins is noticed after it."""


def milliseconds(value: Any, function: str) -> float:
    """A duration, checked to be a finite number that isn't negative."""
    if type(value) is not float and (type(value) is not int or not -INT_LIMIT <= value < INT_LIMIT):
        type_error("number", value)
    if not isfinite(value):
        raise SemaError(f"{function}: duration must be a finite number")
    if value < 0:
        raise SemaError(f"{function}: duration must be non-negative")
    return float(value)
