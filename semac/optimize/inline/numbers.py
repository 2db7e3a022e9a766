"""Functions of numbers as operators and functions of Python.

Sound because each form stands for exact ints or floats alone, as types or a guard say, and leaves to the builtin where
Python differs: integer division of negative numbers rounds the other way, a NaN has no order, infinities and NaN can't
be rounded, and `math` raises where the language has NaN or an infinity.
"""

from __future__ import annotations

from semac.anf.nodes import Block, CallBuiltin, Expr, Guarded, If, Lit, Move, Op, Python, Ref, Result
from semac.optimize.inline.table import Place, guarded, inlines, may_be, python
from semac.optimize.operators import tests_of_reals
from semac.types.lattice import ABOVE_ZERO, BOOL, CHAR, COUNT, FLOAT, INT, NATURAL, NIL, POSITIVE, REAL, atom

BOOL_TYPE = atom(BOOL)
ZERO = Lit(0, atom(INT))
LARGEST_POWER = 64


def all_only(args: list[Expr], tags: int) -> bool:
    return all(arg.type.only(tags) for arg in args)


def unknown_ints(args: list[Expr]) -> tuple[int, ...]:
    """The positions of the operands of which a guard has to ask whether they are ints."""
    return tuple(index for index, arg in enumerate(args) if not arg.type.only(INT))


def may_be_ints(args: list[Expr]) -> bool:
    """Whether it is worth to ask if all operands are ints."""
    return all(may_be(arg.type, INT) and (type(arg) is not Lit or type(arg.value) is int) for arg in args)


def of_ints(op: CallBuiltin, place: Place, kind: str, *tests: tuple[str, tuple[int, ...]]) -> Op | None:
    """An operation on ints, behind a guard where they may be something else or a further test is needed."""
    unknown = unknown_ints(op.args)
    if not unknown and not tests:
        return Python(kind, op.args)
    if not place.guards or not may_be_ints(op.args):
        return None
    return guarded(op, kind, *([("int", unknown)] if unknown else []), *tests)


def is_literal(arg: Expr, least: int, most: int | None = None) -> bool:
    """Whether an operand is a literal int in a range."""
    return type(arg) is Lit and type(arg.value) is int and least <= arg.value and (most is None or arg.value <= most)


# Division


@inlines("/")
def divide(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 2 or op.as_value:
        return None
    divisor = op.args[1]
    literals = all_real_literals(op.args)
    if literals and any(arg.type.only(FLOAT) for arg in op.args) and all_known(op.args):
        tests = tests_of_reals(op.args)
        if type(divisor) is Lit and not divisor.value:
            return None
        if type(divisor) is not Lit and not divisor.type.only(ABOVE_ZERO):
            tests.append(("nonzero", (1,)))
        if not tests:
            return Python("div", op.args)
        return division(op, *tests) if place.guards else None
    if not place.guards:
        return None
    if all_only(op.args, INT):
        return exact_division(op, place)
    return unknown_division(op, place) if literals else None


def unknown_division(op: CallBuiltin, place: Place) -> Op | None:
    """`a / b if type(a) is type(b) is float and b else div(a, b)`. In a module, a short int will do beside a float, and
    where one is a count, the other is asked for a float alone."""
    divisor = op.args[1]
    counts = [index for index, arg in enumerate(op.args) if place.is_module and is_count(arg)]
    floats = tuple(
        index
        for index, arg in enumerate(op.args)
        if not arg.type.only(FLOAT) and type(arg) is not Lit and index not in counts
    )
    if not floats or not all(may_be(op.args[index].type, FLOAT) for index in floats):
        return None
    is_beside_float = any(arg.type.only(FLOAT) or (type(arg) is Lit and type(arg.value) is float) for arg in op.args)
    kind = "real" if place.is_module and len(floats) == 1 and is_beside_float else "float"
    if type(divisor) is Lit:
        return division(op, (kind, floats)) if divisor.value else None
    return division(op, (kind, floats), *([] if divisor.type.only(POSITIVE) else [("nonzero", (1,))]))


def is_count(arg: Expr) -> bool:
    """Whether a variable holds an int that a float can hold."""
    return type(arg) is not Lit and arg.type.only(COUNT)


def all_known(args: list[Expr]) -> bool:
    """Whether operands are ints or floats, or literals."""
    return all(arg.type.only(REAL) or type(arg) is Lit for arg in args)


def all_real_literals(args: list[Expr]) -> bool:
    return all(type(arg.value) in (int, float) for arg in args if type(arg) is Lit)


def division(op: CallBuiltin, *tests: tuple[str, tuple[int, ...]]) -> Op:
    return Guarded(list(tests), op.args, "div", "sema_runtime.lib.numbers.arithmetic:div")


def exact_division(op: CallBuiltin, place: Place) -> Op | None:
    """`a // b if b and not a % b else div(a, b)`: ints that divide evenly."""
    if type(op.args[1]) is Lit:
        return division_of_ints(op, ("divides", (0, 1))) if op.args[1].value else None
    return division_of_ints(op, ("nonzero", (1,)), ("divides", (0, 1)))


def division_of_ints(op: CallBuiltin, *tests: tuple[str, tuple[int, ...]]) -> Op:
    return Guarded(list(tests), op.args, "floordiv", "sema_runtime.lib.numbers.arithmetic:div")


@inlines("quotient", "math/quotient", "remainder", "math/remainder")
def integer_division(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 2:
        return None
    kind = "floordiv" if "quotient" in op.name else "mod"
    tests: list[tuple[str, tuple[int, ...]]] = []
    if not op.args[0].type.only(NATURAL):
        tests.append(("not_negative", (0,)))
    if not op.args[1].type.only(ABOVE_ZERO):
        tests.append(("positive", (1,)))
    return of_ints(op, place, kind, *tests)


# Order


@inlines("min", "max")
def extreme(op: CallBuiltin, place: Place) -> Op | None:
    """`a if a <= b else b`; of floats `b if b < a else min(a, b)` behind it, as a NaN has no order."""
    if len(op.args) == 3 and all_only(op.args, INT):
        of_two = place.bind(smaller(op, place, op.args[0], op.args[1]), f"{op.name}_of_two", atom(INT))
        return smaller(op, place, of_two, op.args[2])
    if len(op.args) != 2:
        return None
    first, second = op.args
    if all_only(op.args, INT):
        return smaller(op, place, first, second)
    if not all_only(op.args, FLOAT):
        if not place.guards or not all(may_be(arg.type, REAL) for arg in op.args):
            return None
        unknown = unknown_ints(op.args)
        if len(unknown) == 1 and may_be_ints(op.args):
            return extreme_with_int(op, place, unknown[0])
        return guarded(op, "first_of", ("number", (0, 1)), ("le" if op.name == "min" else "ge", (0, 1)))
    then, otherwise = place.nested(), place.nested()
    test = place.bind(python("le" if op.name == "min" else "ge", first, second), "test", BOOL_TYPE)
    other = guarded(CallBuiltin(op.name, [first, second]), "second_of", ("gt" if op.name == "min" else "lt", (0, 1)))
    value = otherwise.bind(other, "other", atom(FLOAT))
    return If(test, Block(then.before, Result(first)), Block(otherwise.before, Result(value)))


def extreme_with_int(op: CallBuiltin, place: Place, unknown: int) -> Op:
    """`(a if a <= b else b) if type(b) is int else min(a, b)`: one operand is an int, the other may be."""
    asked = op.args[unknown]
    then, otherwise = place.nested(), place.nested()
    if asked.type.only(INT | NIL):
        is_nil = place.bind(python("is_none", asked), "is_nil", BOOL_TYPE)
        test = place.bind(python("not", is_nil), "is_int", BOOL_TYPE)
    else:
        test = place.bind(python("is_int", asked), "is_int", BOOL_TYPE)
    ints: list[Expr] = [Ref(arg.var, atom(INT)) if arg is asked and type(arg) is Ref else arg for arg in op.args]
    value = then.bind(smaller(op, then, ints[0], ints[1]), op.name, atom(INT))
    failed = otherwise.bind(CallBuiltin(op.name, list(op.args), fixed=op.fixed), op.name, op.type)
    return If(test, Block(then.before, Result(value)), Block(otherwise.before, Result(failed)))


def smaller(op: CallBuiltin, place: Place, first: Expr, second: Expr) -> Op:
    """The smaller, or greater, of two ints."""
    test = place.bind(python("le" if op.name == "min" else "ge", first, second), "test", BOOL_TYPE)
    return If(test, Block([], Result(first)), Block([], Result(second)))


@inlines("zero?", "positive?", "negative?")
def sign(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 1:
        return None
    kind = {"zero?": "is_zero", "positive?": "is_positive", "negative?": "is_negative"}[op.name]
    if op.args[0].type.only(REAL):
        return Python(kind, op.args)
    if not place.guards or not may_be(op.args[0].type, REAL):
        return None
    return guarded(op, kind, ("number", (0,)))


@inlines("even?", "odd?")
def parity(op: CallBuiltin, place: Place) -> Op | None:
    return of_ints(op, place, "is_even" if op.name == "even?" else "is_odd") if len(op.args) == 1 else None


# Functions


@inlines("abs", "magnitude")
def absolute(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 1:
        return None
    if op.args[0].type.only(REAL):
        return Python("abs", op.args)
    if not place.guards or not may_be(op.args[0].type, REAL):
        return None
    return guarded(op, "abs", ("number", (0,)))


@inlines("expt", "pow", "math/pow")
def power(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 2 or not is_literal(op.args[1], 0, LARGEST_POWER):
        return None
    return of_ints(op, place, "pow")


@inlines("sqrt")
def square_root(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) == 1 and op.type.only(FLOAT):  # inference knows that it is of a float that isn't negative
        return Python("sqrt", op.args)
    return of_float(op, place, "sqrt", ("not_negative", (0,))) if len(op.args) == 1 else None


@inlines("sin", "cos")
def wave(op: CallBuiltin, place: Place) -> Op | None:
    return of_float(op, place, op.name, ("finite", (0,))) if len(op.args) == 1 else None


@inlines("math/atan", "math/tanh")
def total_function(op: CallBuiltin, place: Place) -> Op | None:
    return of_float(op, place, op.name.removeprefix("math/")) if len(op.args) == 1 else None


def of_float(op: CallBuiltin, place: Place, kind: str, *tests: tuple[str, tuple[int, ...]]) -> Op | None:
    """A function of a float, behind a guard."""
    type_ = op.args[0].type
    if type_.only(FLOAT) and not tests:
        return Python(kind, op.args)
    if not place.guards or not may_be(type_, FLOAT) or type(op.args[0]) is Lit:
        return None
    return guarded(op, kind, *([] if type_.only(FLOAT) else [("float", (0,))]), *tests)


@inlines("floor", "ceil", "ceiling", "round", "truncate")
def rounded(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 1:
        return None
    if op.args[0].type.only(INT):
        return Move(op.args[0])
    return of_float(op, place, "floor", ("finite", (0,))) if op.name == "floor" else None


@inlines("exact->inexact", "inexact", "float")
def inexact(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 1:
        return None
    if op.args[0].type.only(FLOAT):
        return Move(op.args[0])
    return of_ints(op, place, "float", ("short", (0,)))


@inlines("int", "exact", "inexact->exact")
def exact(op: CallBuiltin, place: Place) -> Op | None:
    """An int as it is; a float without a fraction as an int."""
    if len(op.args) != 1:
        return None
    if op.args[0].type.only(INT):
        return Move(op.args[0])
    if not op.args[0].type.only(REAL):
        return None
    return of_float(op, place, "int", ("int64" if op.name == "int" else "whole", (0,)))


# Bits


@inlines("bit/and", "bit/or", "bit/xor")
def bits(op: CallBuiltin, place: Place) -> Op | None:
    return of_ints(op, place, op.name.replace("/", "_")) if len(op.args) == 2 else None


@inlines("bit/shift-left", "bit/shift-right")
def shift(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 2 or not is_literal(op.args[1], 0, LARGEST_POWER):
        return None
    return of_ints(op, place, "shift_left" if op.name == "bit/shift-left" else "shift_right")


@inlines("gcd", "math/gcd")
def divisor(op: CallBuiltin, place: Place) -> Op | None:
    return of_ints(op, place, "gcd") if len(op.args) == 2 else None


@inlines("char->integer", "char/to-integer")
def code_point(op: CallBuiltin, place: Place) -> Op | None:
    if len(op.args) != 1:
        return None
    if op.args[0].type.only(CHAR):
        return Python("ord", op.args)
    is_asked = place.guards and not op.as_value and type(op.args[0]) is not Lit and may_be(op.args[0].type, CHAR)
    return guarded(op, "ord", ("Char", (0,))) if is_asked else None
