"""Calls of operators with literals, which the reference computes before it knows what a body defines.

So an inner `define` of an operator doesn't reach them: `(define (f) (define + -) (+ 5 3))` gives 8, and 2 with a
variable in place of a number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add, mul, sub
from typing import Any

from sema_runtime.values.atoms import Char, Keyword
from sema_runtime.values.lists import List
from sema_runtime.values.numbers import is_int64

ARITHMETIC: dict[str, Callable[[int, int], int]] = {"+": add, "-": sub, "*": mul}
COMPARISONS = frozenset(("<", ">", "<=", ">=", "="))
ATOMS = frozenset((int, float, bool, str, type(None), Char, Keyword))


def is_folded(name: str, args: Sequence[Any]) -> bool:
    """Whether a call of that operator with these forms is computed at once."""
    if name == "not":
        return len(args) == 1 and (type(args[0]) in ATOMS or (type(args[0]) is List and not args[0]))
    if not all(map(is_int64, args)):  # others aren't the reference's small numbers
        return False
    if len(args) == 1:
        return name == "-"
    if len(args) != 2:
        return False
    compute = ARITHMETIC.get(name)
    if compute is not None:
        return is_int64(compute(args[0], args[1]))
    return name in COMPARISONS or (name == "/" and args[1] != 0)
