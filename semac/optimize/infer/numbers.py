"""What arithmetic gives: for ints their signs (signs.py), for other numbers their kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semac.anf.build import is_fixed
from semac.anf.nodes import CallBuiltin, Expr, Lit, Move, Ref
from semac.optimize.infer import signs
from semac.optimize.infer.builtins import rule
from semac.types.lattice import (
    ANY,
    CHAR,
    COUNT,
    DICT,
    FALSE,
    FLAT,
    FLOAT,
    HUGE,
    INT,
    KEYWORD,
    LIST,
    NATURAL,
    NEGATIVE,
    NEVER,
    NIL,
    NUMBER,
    POSITIVE,
    RATIO,
    REAL,
    SIGNS,
    STR,
    SYMBOL,
    TRUE,
    VECTOR,
    Type,
    atom,
    join,
    join_all,
    list_of,
    restrict,
)

if TYPE_CHECKING:
    from semac.optimize.infer.flow import Flow

# no arithmetic takes such a value
UNCOUNTED = NIL | TRUE | FALSE | CHAR | KEYWORD | SYMBOL | LIST | VECTOR | DICT
INT_TYPE = atom(INT)


def all_only(args: list[Type], tags: int) -> bool:
    """Whether values of some types surely have one of the tags."""
    for arg in args:  # noqa: SIM110  (asked several times of each operation)
        if not arg.tags or arg.tags & ~tags:
            return False
    return True


def numeric(args: list[Type]) -> Type:
    """What arithmetic gives for operands of types, where it doesn't raise an error."""
    if NEVER in args:
        return NEVER
    counted = [restrict(arg, ~UNCOUNTED) for arg in args]
    if any(arg.only(NUMBER) for arg in counted):
        counted = [restrict(arg, ~STR) for arg in counted]
    if not any(arg is NEVER for arg in counted):
        args = counted
    if all_only(args, REAL):
        if any(arg.only(FLOAT) for arg in args):
            return atom(FLOAT)
        return INT_TYPE if all_only(args, INT) else atom(REAL)
    return atom(NUMBER) if all_only(args, NUMBER) else ANY


@rule("+", "-", "*")
def arithmetic(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type:
    if op.name == "+" and len(args) == 2 and all_only(args, STR):
        return atom(STR)
    if all_only(args, INT):
        return signed(op, args)
    result = numeric(args)
    if result is not ANY:
        return result
    if any(arg.tags & STR == 0 and arg.only(NUMBER) for arg in args) and all(arg.tags & NUMBER for arg in args):
        return ANY  # a value from Python may know what to do with a number
    return ANY


def signed(op: CallBuiltin, args: list[Type]) -> Type:
    """The type of arithmetic with ints."""
    huge = HUGE if may_be_huge(op, args) else 0
    if op.name == "-" and len(args) == 2 and type(op.args[1]) is Lit and op.args[1].value == 1:
        return atom(signs.less_one(args[0].tags) | huge)
    return atom(signs.of_call(op.name, [arg.tags for arg in args]) | huge)


def may_be_huge(op: CallBuiltin, args: list[Type]) -> bool:
    """Whether arithmetic with ints may give one that is too large for a float.

    What isn't huge is a literal, a length, or such a number and a literal more or less, however often: no program lives
    long enough for it to grow huge.
    """
    if op.name in ("mod", "modulo", "remainder"):
        return bool(args[-1].tags & HUGE)
    if op.name == "quotient":
        return bool(args[0].tags & HUGE)
    if op.name not in ("min", "max"):
        literals = sum(type(arg) is Lit for arg in op.args) if len(op.args) == len(args) else 0
        if len(args) - literals > (op.name != "*"):
            return True
    return any(arg.tags & HUGE for arg in args)


@rule("/")
def divide(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type:
    result = numeric(args)
    if result.only(INT):
        return atom(INT | RATIO | FLOAT)
    return atom(NUMBER) if result.only(NUMBER) and not result.only(FLOAT) else result


@rule("mod", "modulo", "quotient", "remainder")
def integer_division(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    if len(args) == 2 and all(arg.only(INT) for arg in args):
        return signed(op, args)
    result = numeric(args)
    if result is NEVER or len(args) != 2:
        return result if result is NEVER else None
    if op.name in ("mod", "modulo") and args[1].only(INT) and not may_be_huge(op, args):
        return atom(SIGNS | FLOAT)
    return result if result.only(REAL) else None


@rule("min", "max")
def extreme(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    if args and all(arg.only(INT) for arg in args):
        return signed(op, args)
    if all(arg.only(REAL) for arg in args):
        return join_all(args)
    return NEVER if any(arg is NEVER for arg in args) else None


@rule("abs")
def absolute(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    if len(args) != 1 or not args[0].only(REAL):
        return None
    return join(atom(signs.magnitude(args[0].tags) | args[0].tags & HUGE), restrict(args[0], FLOAT))


@rule("bit/and", "bit/or", "bit/shift-right")
def bits(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    """A number without a sign bit has none after `and` with anything, `or` with its like, or a shift."""
    if len(args) != 2 or not all(arg.only(INT) for arg in args):
        return None
    operands = args if op.name != "bit/shift-right" else args[:1]
    enough = any if op.name == "bit/and" else all
    return atom(NATURAL) if enough(arg.only(NATURAL) for arg in operands) else INT_TYPE


@rule("gcd", "math/gcd", "lcm", "math/lcm")
def common(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type:
    return atom(NATURAL)


@rule("range")
def counted(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    return list_of(counter(args), FLAT) if 0 < len(args) <= 3 and all(arg.only(INT) for arg in args) else None


def counter(bounds: list[Type]) -> Type:
    """The items of a range of ints: with its end; its start and end; its start, end and step."""
    if len(bounds) == 1:
        return atom(COUNT)
    if not all(bound.only(INT) for bound in bounds):
        return INT_TYPE
    huge = (bounds[0].tags | (bounds[2].tags if len(bounds) > 2 else 0)) & HUGE
    if len(bounds) == 2 or bounds[2].only(POSITIVE | HUGE):
        return atom(signs.upwards(bounds[0].tags) | huge)
    if bounds[2].only(NEGATIVE | HUGE) and bounds[1].only(NATURAL):
        return atom(POSITIVE | huge)
    return atom(SIGNS | huge)


@rule("sqrt")
def square_root(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    if len(args) != 1 or not args[0].only(REAL) or not is_not_negative(op.args[0]):
        return None
    return args[0] if args[0].only(FLOAT) else atom(REAL)


def is_not_negative(value: Expr) -> bool:
    """Whether a real number surely isn't below zero: a square, the root of one, or a sum of such. NaN isn't either."""
    if type(value) is Lit:
        return bool(value.value >= 0)  # a number, as its type is known
    op: Any = value.var.op if type(value) is Ref and is_fixed(value.var) and not value.var.is_global else None
    if type(op) is Move:
        return is_not_negative(op.value)
    if type(op) is not CallBuiltin:
        return False
    if op.name == "*" and len(op.args) == 2:
        a, b = op.args
        if type(a) is Ref and type(b) is Ref and a.var is b.var:
            return True
    return op.name in ("abs", "sqrt") or (op.name in ("+", "*") and all(map(is_not_negative, op.args)))
