"""Values of native code: the C expression of one, how it is represented, who holds its reference.

Representations: "o" an object; "i" an int (`sint`), "f" a float (`double`), "b" a truth (`int`, no objects but True and
False), "d" any value whose numbers are no objects (`sdyn`); see c/numbers.h.
"""

from __future__ import annotations

import ast
import math
from typing import Any

C_TYPES = {"o": "PyObject *", "i": "sint ", "f": "double ", "b": "int ", "d": "sdyn "}
NOTHING = {"o": "NULL", "i": "INT_ERROR", "f": "0.0", "b": "0", "d": "DYN_INT(INT_ERROR)"}
COUNTED = frozenset("oid")  # representations that may hold a reference
DROP = {"o": "Py_DECREF({})", "i": "sint_drop({})", "d": "sdyn_drop({})", "o?": "Py_XDECREF({})"}
DROP_MAYBE = {"o": "Py_XDECREF({})", "i": "sint_drop({})", "d": "sdyn_drop({})"}
NUMBERS = {"i": "int", "f": "float", "b": "bool"}


def placed(node: Any, where: Any) -> Any:
    """A node that stands where another one does."""
    node.number = where.number
    return ast.copy_location(node, where)


class NotNative(Exception):
    """A function, or a part of it, has no native form."""


class Unknown(Exception):
    """Nothing is known yet of what a function returns, or of a variable: a later round will know."""


class Value:
    """c: an expression without effects. is_owned: whether its reference belongs to who has the value. kind: the exact
    type of an object where it is known, as Python or the runtime names it ("list", "List", "none"), else ""."""

    __slots__ = ("c", "is_owned", "kind", "rep")

    def __init__(self, c: str, rep: str, is_owned: bool = False, kind: str = "") -> None:
        self.c = c
        self.rep = rep
        self.is_owned = is_owned
        self.kind = NUMBERS.get(rep, kind)

    def __repr__(self) -> str:
        return f"<{self.rep} {self.c}{' owned' if self.is_owned else ''} {self.kind}>"


def of_all(seen: set[str]) -> str:
    """The representation of what gets values of some. "I" and "F" are those of numbers that the text says.

    An object that is a number in one place, by a computation, stays dynamic: it won't become an object each time.
    """
    if len(seen) < 2:
        return next(iter(seen), "").lower()
    for rep in "if":
        if seen <= {rep, rep.upper()}:
            return rep
    return "d" if seen & {"i", "f", "d"} or seen <= {"I", "F"} else "o"


def join(a: str, b: str) -> str:
    """The representation of what is one of two values."""
    return of_all({a, b})


def float_literal(value: float) -> str:
    """A float in C."""
    if math.isnan(value):
        return "Py_NAN"
    if math.isinf(value):
        return "Py_HUGE_VAL" if value > 0 else "(-Py_HUGE_VAL)"
    return f"({value.hex()})" if value < 0 or math.copysign(1, value) < 0 else value.hex()
