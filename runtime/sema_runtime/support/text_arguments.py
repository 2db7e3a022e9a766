"""Argument checks that builtins share; most are the slow path after a failed `isinstance` test."""

from __future__ import annotations

from sema_runtime.values.errors import SemaError, SemaTypeError, type_error
from sema_runtime.values.typenames import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

INT_LIMIT = 1 << 63


def argument_error(function: str, position: int, expected: str, value: Any, hint: str | None = None) -> NoReturn:
    """Raises `FUNCTION argument N expected X, got Y`, the form that a few functions use."""
    error = SemaTypeError(expected, type_name(value), hint)
    error.message = f"{function} argument {position} expected {expected}, got {error.fields['got']}"
    error.args = (error.message,)
    error.fields.update(function=function, argument=position)
    raise error


def text_of(value: Any) -> str:
    """The value, checked to be a string."""
    if type(value) is not str:
        type_error("string", value)
    return value


def strings(*values: Any) -> None:
    """Checks that all values are strings. Raises `expected string, got Y` for the first that isn't."""
    for value in values:
        if not isinstance(value, str):
            type_error("string", value)


def named_strings(function: str, *values: Any) -> NoReturn:
    """Raises `FUNCTION argument N expected string` for the first value that is no string."""
    for position, value in enumerate(values, 1):
        if not isinstance(value, str):
            argument_error(function, position, "string", value)
    raise AssertionError(f"{function}: all arguments are strings")


def is_int(value: Any) -> bool:
    """Whether value is an int of at most 64 bits: what the reference takes as a size or an index."""
    return type(value) is int and -INT_LIMIT <= value < INT_LIMIT


def count(function: str, value: Any) -> int:
    """value as a size. Raises a type error for what is no int, a plain error for a negative one."""
    if not is_int(value):
        type_error("int", value, f"{function}: argument must be an integer")
    if value < 0:
        message = f"{function}: expected a non-negative integer, got {value}"
        raise SemaError(message, "pass 0 or a positive integer")
    return int(value)
