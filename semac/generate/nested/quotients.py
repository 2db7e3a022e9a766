"""Quotients beside a float: of ints, too, Python's own division (`SEMA_SKIP=once` leaves it out).

`100.0 * (/ a b)`: the quotient of two ints is a ratio or an int, and arithmetic with a float makes a float of it first,
the one nearest to it. That is what Python's division gives at once, for ints that are short enough for floats.
"""

from __future__ import annotations

from semac.anf.nodes import Expr, Guarded
from semac.types.lattice import FLOAT

WITH_FLOATS = ("add", "sub", "mul", "div")


def inexact(op: Guarded) -> list[Expr]:
    """The operands of a guard, with quotients that a float meets as floats."""
    if op.fast not in WITH_FLOATS or len(op.args) != 2:
        return op.args
    return [
        as_float(arg) if type(arg) is Guarded and other.type.only(FLOAT) else arg
        for arg, other in zip(op.args, reversed(op.args), strict=True)
    ]


def as_float(op: Guarded) -> Guarded:
    """A quotient of which only the float nearest to it counts; another operation as it is."""
    if op.fast != "div" or [kind for kind, _ in op.tests] != ["float", "nonzero"] or len(op.tests[0][1]) != 2:
        return op
    (_, positions), (_, divisor) = op.tests  # 0 over a negative int isn't -0.0
    quotient = Guarded([("reals", positions), ("positive", divisor)], op.args, op.fast, op.slow)
    quotient.span, quotient.type, quotient.weight, quotient.rank = op.span, op.type, op.weight, op.rank
    return quotient
