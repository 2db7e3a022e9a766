"""Ints that are surely small enough for a float: one beyond 2^1023 counts as infinite beside a float.

Types tell what is no larger than a count; sums and products of such have more bits, and are followed here to where they
are computed.
"""

from __future__ import annotations

from typing import Any

from semac.anf.build import is_fixed
from semac.anf.nodes import CallBuiltin, CallRuntime, Expr, Guarded, Lit, Move, Python, Ref
from semac.types.lattice import HUGE

MOST = 1000  # bits of an int that every operation of floats takes
COUNT = 128  # bits of what began with at most anf.literals.WORD, and was counted as long as a program can live
SUMS = ("+", "-", "add", "sub")
PRODUCTS = ("*", "mul")


def fits_float(value: Expr, count: int) -> bool:
    """Whether a float takes a product of so many values like this, if they are ints."""
    bits = bits_of(value)
    return bits is not None and bits * count <= MOST


def bits_of(value: Expr) -> int | None:
    """How many bits an int has at most; None where that isn't known."""
    if not value.type.tags & HUGE:
        return COUNT
    if type(value) is Lit:
        return value.value.bit_length() if type(value.value) is int else 0
    if type(value) is not Ref or value.var.is_global or not is_fixed(value.var):
        return None
    op: Any = value.var.op
    if type(op) is Move:
        return bits_of(op.value)
    name = name_of(op)
    if name not in SUMS and name not in PRODUCTS:
        return None
    total = 0
    for arg in op.args:
        bits = bits_of(arg)
        if bits is None:
            return None
        total += bits
    return total


def name_of(op: Any) -> str:
    """The builtin, or the operation of Python, that an operation is."""
    if type(op) is CallBuiltin:
        return op.name
    if type(op) is CallRuntime:
        return op.path.partition(":")[2]
    if type(op) is Guarded:
        return op.fast
    return op.kind if type(op) is Python else ""
