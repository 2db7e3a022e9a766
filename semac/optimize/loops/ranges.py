"""Comparisons, steps and bounds of counters, and the ranges that they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from semac.anf.literals import literal
from semac.anf.nodes import CallBuiltin, Expr, Let, Lit, Move, Op, Ref
from semac.ir.nodes import Var
from semac.optimize.loops.functions import temporary
from semac.optimize.loops.shape import is_constant
from semac.types.lattice import ABOVE_ZERO, INT, LIST, NATURAL, NEGATIVE, POSITIVE, STR, VECTOR, atom

INT_TYPE = atom(INT)
MIRRORED = {"=": "=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
NAMES = {"=": "num_eq", "<": "lt", ">": "gt", "<=": "le", ">=": "ge"}
OPPOSITE = {"<": ">=", ">": "<=", "<=": ">", ">=": "<"}  # of ints
SIGNS = {"zero?": "=", "positive?": ">", "negative?": "<"}
SIZES = {"length": LIST | VECTOR | STR, "count": LIST | VECTOR, "string-length": STR}  # of these builtins never raise


class Count(NamedTuple):
    """test: the comparison of the counter (first) with the bound that ends the loop, or where stays lets it go on.
    span: where it stands."""

    counter: Var
    test: str
    stays: bool
    bound: Expr
    step: Expr
    span: Any


class Limits(NamedTuple):
    """What a loop counts through, as the sources of a For. end: the value of the counter when it has ended."""

    how: str
    sources: list[Expr]
    who: str
    end: Op | None
    before: list[Let]


def compared(op: CallBuiltin) -> list[tuple[str, Expr, Expr]]:
    """The two ways to read a comparison, with either operand first; none of another call."""
    if op.name in SIGNS and len(op.args) == 1:
        return [(SIGNS[op.name], op.args[0], Lit(0, INT_TYPE))]
    if op.name in MIRRORED and len(op.args) == 2:
        first, second = op.args
        return [(op.name, first, second), (MIRRORED[op.name], second, first)]
    return []


def is_known(value: Expr, changing: list[Var], hoisted: set[Var]) -> bool:
    """Whether an atom of a test has one value in all rounds, which is known before the first."""
    return (type(value) is Ref and value.var in hoisted) or is_constant(value, changing)


def is_hoistable(instr: Let, changing: list[Var], hoisted: set[Var]) -> bool:
    """Whether an instruction before the test gives the same value in all rounds, and can't fail."""
    op, var = instr.op, instr.var
    if var is None or var.name:
        return False
    if type(op) is Move and is_known(op.value, changing, hoisted):
        hoisted.add(var)
        return True
    if type(op) is not CallBuiltin:
        return False
    if not all(is_known(arg, changing, hoisted) for arg in op.args):
        return False
    if op.name in SIZES:
        is_total = len(op.args) == 1 and op.args[0].type.only(SIZES[op.name])
    else:
        is_total = op.name in ("+", "-", "*") and len(op.args) == 2 and all(arg.type.only(INT) for arg in op.args)
    if is_total:
        hoisted.add(var)
    return is_total


def step_of_sum(op: Any, is_counter: Callable[[Expr], bool]) -> Expr | None:
    """What an addition or subtraction adds to a counter."""
    if type(op) is not CallBuiltin or len(op.args) != 2 or op.name not in ("+", "-"):
        return None
    first, second = op.args
    if is_counter(first) and second.type.only(INT):
        if op.name == "+":
            return second
        return literal(-second.value) if type(second) is Lit else None
    return first if op.name == "+" and is_counter(second) and first.type.only(INT) else None


def limits_of(count: Count, start: Expr, bound: Expr, step: Expr) -> Limits | None:
    """The range that a counter goes through."""
    if not (step.type.only(INT) and start.type.only(INT)):
        return None
    by = step.value if type(step) is Lit else None
    if by == 0:
        return None
    test = count.test
    is_int = bound.type.only(INT)
    if is_int and test != "=" and step.type.tags in (POSITIVE, NEGATIVE):
        test = test if count.stays else OPPOSITE[test]
        if (test in ("<", "<=")) is not step.type.only(POSITIVE):
            return None
        return plain(test, start, bound, step)
    if test == "=" and count.stays:
        return None
    sources = [start, bound] if by == 1 else [start, bound, step]
    if is_int and test == "=":
        is_met = is_below(start, bound) if by == 1 else by == -1 and is_below(bound, start)
        return Limits("range" if is_met else "count_to", sources, "", Move(bound, type=INT_TYPE), [])
    return Limits("count_while" if count.stays else "count_until", sources, NAMES[test], None, [])


def plain(test: str, start: Expr, bound: Expr, step: Expr) -> Limits:
    """The range of a counter of ints that goes on while it is less than (or greater than) the bound.

    step: it surely isn't 0, and of a known sign, which is that of the comparison.
    """
    before: list[Let] = []
    by = step.value if type(step) is Lit else None
    is_upwards = step.type.only(POSITIVE)
    limit = bound
    if test in ("<=", ">="):
        limit = shifted(bound, 1 if is_upwards else -1, before)
    end: Op | None = None
    if by == 1 and is_below(start, limit):
        end = Move(limit, type=INT_TYPE)
    elif by in (1, -1):  # it may not run at all
        end = CallBuiltin("max" if is_upwards else "min", [start, limit], fixed=True, type=INT_TYPE)
    sources = [start, limit] if by == 1 else [start, limit, step]
    return Limits("range", sources, "", end, before)


def shifted(bound: Expr, more: int, before: list[Let]) -> Expr:
    """The bound and one more."""
    if type(bound) is Lit:
        return Lit(bound.value + more, INT_TYPE)
    op = CallBuiltin("+" if more > 0 else "-", [bound, Lit(1, INT_TYPE)], type=INT_TYPE)
    var = temporary("end", bound.var.owner)  # type: ignore[union-attr]
    var.op, var.type = op, INT_TYPE
    before.append(Let(var, op))
    return Ref(var, INT_TYPE)


def is_below(start: Expr, bound: Expr) -> bool:
    """Whether a counter surely begins at or below its bound."""
    if type(start) is not Lit:
        return False
    if type(bound) is Lit:
        return start.value <= bound.value  # type: ignore[no-any-return]
    if (start.value <= 0 and bound.type.only(NATURAL)) or (start.value <= 1 and bound.type.only(ABOVE_ZERO)):
        return True
    op: Op | None = bound.var.op  # type: ignore[union-attr]
    return start.value <= 0 and type(op) is CallBuiltin and op.name in SIZES
