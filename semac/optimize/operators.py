"""Operators of numbers, comparisons and simple tests become operations of Python where the operands' types permit it.

Where types aren't known, a guard asks for the likely type and takes the runtime's function for any other (`Guarded`).
Sound because each Python operation stands only where its operands are of types on which Python and the language agree:
exact ints, floats, strings; `<=` of floats is `not >`, as the reference has it for NaN.
"""

from __future__ import annotations

from collections.abc import Callable

from sema_runtime.values.atoms import Char, Keyword, Symbol
from semac.anf.nodes import (
    Block,
    CallBuiltin,
    CallRuntime,
    Closure,
    Expr,
    Fits,
    Guarded,
    If,
    Let,
    Lit,
    Op,
    Python,
    Ref,
)
from semac.anf.walk import LOOPS, blocks, code_of
from semac.ir.intrinsics import AS_LIST, OPERATORS
from semac.ir.unit import Unit
from semac.optimize.keys import is_stored_as_is
from semac.optimize.small import fits_float
from semac.types.lattice import (
    ABOVE_ZERO,
    BOOL,
    CHAR,
    FLOAT,
    INT,
    KEYWORD,
    LIST,
    NIL,
    NUMBER,
    RATIO,
    REAL,
    STR,
    SYMBOL,
    Type,
)

ARITHMETIC = "sema_runtime.lib.numbers.arithmetic:"
EQUAL = "sema_runtime.values.equality:equal"
SAME_PLAIN = "sema_runtime.values.lists:same_plain"
IDENTICAL = (Keyword, Symbol, Char, bool, type(None))  # each exists once in a process
IDENTICAL_TAGS = KEYWORD | SYMBOL | CHAR | BOOL | NIL
COMPARED = INT | STR | KEYWORD | SYMBOL | CHAR | NIL  # of which Python takes no two for equal that aren't
ARITHMETIC_OPS = {"+": "add", "-": "sub", "*": "mul"}
COMPARISONS = {"<": "lt", ">": "gt", "<=": "le", ">=": "ge"}
UNORDERED = {"<=": "not_gt", ">=": "not_lt"}  # of floats

SELDOM, ONCE, OFTEN = range(3)  # how often code runs; guards stand in what runs often
Test = tuple[str, tuple[int, ...]]
Lowering = Callable[["CallBuiltin", bool], "Op | None"]
LOWERINGS: dict[str, Lowering] = {}


def lower_operators(unit: Unit) -> None:
    """Rewrites the calls of builtins in LOWERINGS, with guards inside of functions and loops."""
    stack = [(form, ONCE) for form in unit.blocks]
    while stack:
        block, runs = stack.pop()
        for instr in block.instrs:
            op = instr.op
            if type(op) is CallBuiltin:
                if op.name in LOWERINGS:
                    lower_call(instr, op, runs == OFTEN and instr.var is not None)
            else:
                stack += inside(op, runs if unit.optimize else SELDOM)


def inside(op: Op, runs: int) -> list[tuple[Block, int]]:
    """The blocks of an operation, with how often each runs. runs: how often the operation does."""
    kind = type(op)
    if kind is Closure:
        return [(code_of(op.function), runs if runs == SELDOM else OFTEN)]  # type: ignore[attr-defined]
    if kind is If and is_entry(op.test):  # type: ignore[attr-defined]
        return [(op.then, runs), (op.otherwise, SELDOM)]  # type: ignore[attr-defined]
    often = OFTEN if kind in LOOPS and runs != SELDOM else runs
    return [(inner, often) for inner in blocks(op)]


def is_entry(test: Expr) -> bool:
    """Whether a test of the entry of a function with versions asks for numbers and texts alone, or for lists of Sema or
    of Python: seldom it is given others."""
    op = test.var.op if type(test) is Ref else None
    return type(op) is Fits and all(
        kind in ("number", "int", "str") or (kind == "List" and is_made_list(arg))
        for arg, kind in zip(op.args, op.kinds, strict=True)
    )


def is_made_list(value: Expr) -> bool:
    """Whether a value is what the entry has made of a list of Python (versions/foreign.py)."""
    op = value.var.op if type(value) is Ref else None
    return type(op) is CallRuntime and op.path == AS_LIST


def lower_call(instr: Let, op: CallBuiltin, guards: bool) -> None:
    lower = operator_value if op.as_value and op.name in OPERATORS else LOWERINGS[op.name]
    lowered = lower(op, guards)
    if lowered is not None:
        lowered.span, lowered.type = op.span, op.type
        replace(instr, lowered)


def replace(instr: Let, op: Op) -> None:
    """Has an instruction do another operation that gives the same value."""
    if instr.var is not None and instr.var.op is instr.op:
        instr.var.op = op
    instr.op = op


def lowering(*names: str) -> Callable[[Lowering], Lowering]:
    def register(function: Lowering) -> Lowering:
        LOWERINGS.update(dict.fromkeys(names, function))
        return function

    return register


def all_only(op: CallBuiltin, tags: int) -> bool:
    return all(type_.only(tags) for type_ in types_of(op))


def types_of(op: CallBuiltin) -> list[Type]:
    return [arg.type for arg in op.args]


def runtime(path: str, op: CallBuiltin) -> Op:
    return CallRuntime(path, op.args)


def operator_value(op: CallBuiltin, guards: bool) -> Op | None:
    """An operator applied as a function: it takes numbers alone, and fewer kinds of them."""
    kind = ARITHMETIC_OPS.get(op.name) or COMPARISONS.get(op.name) or ("eq" if op.name == "=" else "")
    if not kind or len(op.args) != 2:
        return not_(op, guards) if op.name == "not" else None
    if op.name in ARITHMETIC_OPS:
        return of_reals(op, kind, guards) if all_only(op, REAL) else guarded(op, kind, "", guards)
    if all_only(op, INT):
        return Python(kind, op.args)
    return guarded(op, kind, "", guards, INT) if likely_kind(op.args)[0] != "float" else None


@lowering("+", "-", "*")
def arithmetic(op: CallBuiltin, guards: bool) -> Op | None:
    types, kind = types_of(op), ARITHMETIC_OPS[op.name]
    if len(types) == 1 and op.name == "-":
        if types[0].only(REAL):
            return Python("neg", op.args)
        if guards and type(op.args[0]) is Ref:
            return Guarded([("int", (0,))], op.args, "neg", ARITHMETIC + "negate")
        return runtime(ARITHMETIC + "negate", op)
    if len(types) < 2:
        return None
    if all_only(op, REAL):  # what is made of ratios must be brought to lowest terms
        return of_reals(op, kind, guards)
    if op.name == "+" and len(types) == 2 and all(type_.only(STR) for type_ in types):
        return Python("concat", op.args)
    if len(types) == 2:
        return guarded(op, kind, ARITHMETIC + kind, guards)
    return guarded(op, kind, "", guards) if len(types) <= 4 and guards else None


def of_reals(op: CallBuiltin, fast: str, guards: bool) -> Op | None:
    """Arithmetic with ints and floats, behind a guard where a float may meet an int that is too large for it."""
    tests = tests_of_reals(op.args)
    if not tests:
        return Python(fast, op.args)
    slow = ARITHMETIC + fast if len(op.args) == 2 else ""
    if not guards or any(type(op.args[index]) is Lit for _, positions in tests for index in positions):
        return runtime(slow, op) if slow else None
    return Guarded(tests, op.args, fast, slow or f"builtin:{op.name}")


def tests_of_reals(args: list[Expr]) -> list[Test]:
    """What to ask operands that are ints or floats before a float meets an int."""
    if not any(arg.type.tags & FLOAT for arg in args) or all(arg.type.only(FLOAT) for arg in args):
        return []
    if not any(arg.type.only(FLOAT) or arg.type.only(INT) for arg in args):
        return [("alike", tuple(range(len(args))))]
    tests: list[Test] = []
    for index, arg in enumerate(args):
        others = [other for at, other in enumerate(args) if at != index]
        if arg.type.tags & INT and any(other.type.tags & FLOAT for other in others) and not fits_float(arg, len(args)):
            tests.append(("small" if arg.type.only(INT) else "float", (index,)))
    return tests


def guarded(op: CallBuiltin, fast: str, slow: str, guards: bool, only: int = 0) -> Op | None:
    """The fast operation behind a guard, or the call of the slow one. only: INT where it is of ints alone."""
    kind, unknown = likely_kind(op.args)
    if only and kind != "int":
        kind, unknown = "int", [index for index, arg in enumerate(op.args) if not arg.type.only(INT)]
    if not guards or any(type(arg := op.args[index]) is Lit or not arg.type.tags & REAL for index in unknown):
        return runtime(slow, op) if slow else None
    if kind == "number" and any(arg.type.only(REAL) for arg in op.args):
        tests = [("alike", tuple(unknown))]  # of the type of the one that is known to be an int or a float
    elif only or len(unknown) == len(op.args):
        tests = [(kind, tuple(unknown))]
    elif op.name in ARITHMETIC_OPS:
        tests = [(test_beside(kind, unknown, op.args), tuple(unknown))]
    else:
        tests = tests_of(kind, unknown, op.args)
    return Guarded(tests, op.args, fast, slow or f"builtin:{op.name}")


def test_beside(kind: str, unknown: list[int], args: list[Expr]) -> str:
    """The kind that operands of arithmetic are asked for beside one that is known to be an int or a float: the same, or
    a float as well where the int is small enough for it."""
    if kind == "float" or not any(args[index].type.tags & (FLOAT | RATIO) for index in unknown):
        return kind
    known = [arg for index, arg in enumerate(args) if index not in unknown]
    return "number" if all(fits_float(arg, len(args)) for arg in known) else kind


def tests_of(kind: str, unknown: list[int], args: list[Expr]) -> list[Test]:
    """The tests of operands that are compared with one that is known to be of a kind: where nothing is known of
    another, a float goes with an int, and an int with a float. Values that are nil or of the kind are only asked
    whether they are nil."""
    tests: list[Test] = []
    for index in unknown:
        tags = args[index].type.tags
        if kind == "int" and not tags & (FLOAT | RATIO):
            tests.append(("int", (index,)))
        elif kind == "float" and not tags & (INT | RATIO):
            tests.append(("float", (index,)))
        else:
            tests.append(("number", (index,)))
    return tests


def likely_kind(args: list[Expr]) -> tuple[str, list[int]]:
    """The type that operands of unknown type probably have, and the positions of those that aren't known to have it.

    "number" asks for two ints or two floats: where nothing is known, either is as likely.
    """
    types = [arg.type for arg in args]
    if any(type_.only(INT) for type_ in types):
        known, kind = INT, "int"
    elif any(type_.tags & FLOAT and not type_.tags & INT for type_ in types):
        known, kind = FLOAT, "float"
    else:
        known, kind = 0, "number"
    return kind, [i for i, type_ in enumerate(types) if not type_.only(known)]


@lowering("<", ">", "<=", ">=")
def comparison(op: CallBuiltin, guards: bool) -> Op | None:
    types, kind = types_of(op), COMPARISONS[op.name]
    if len(types) == 2:
        a, b = types
        if a.only(REAL) and b.only(REAL):
            unordered = op.name in UNORDERED and (a.tags | b.tags) & FLOAT
            return Python(UNORDERED[op.name] if unordered else kind, op.args)
        if a.only(STR) and b.only(STR):
            return Python(kind, op.args)
        if op.name in UNORDERED and (a.only(FLOAT) or b.only(FLOAT)):
            return runtime(ARITHMETIC + kind, op)
        if op.name in UNORDERED and any(type_.tags & FLOAT for type_ in types):
            return guarded(op, UNORDERED[op.name], ARITHMETIC + kind, guards)
        return guarded(op, kind, ARITHMETIC + kind, guards)
    if len(types) == 3 and all(type_.only(INT) for type_ in types):
        return Python(kind, op.args)
    return guarded(op, kind, "", guards, INT) if len(types) == 3 and likely_kind(op.args)[0] == "int" else None


@lowering("=")
def numeric_equality(op: CallBuiltin, guards: bool) -> Op | None:
    if len(op.args) != 2:
        return None
    exact = exact_equality(op, loose=True)
    if exact is not None:
        return exact
    a, b = types_of(op)
    if a.only(NUMBER) and b.only(NUMBER):
        return Python("eq", op.args)
    if guards and not any(type(arg) is Lit for arg in op.args) and likely_kind(op.args)[0] == "number":
        return Guarded([("plain", (0, 1))], op.args, "eq", ARITHMETIC + "num_eq")
    return guarded(op, "eq", ARITHMETIC + "num_eq", guards)


@lowering("eq?", "equal?")
def equality(op: CallBuiltin, guards: bool) -> Op | None:
    if len(op.args) != 2:
        return None
    return exact_equality(op, loose=False) or runtime(EQUAL, op)


def exact_equality(op: CallBuiltin, loose: bool) -> Op | None:
    """`is` or `==` where one operand's type says that they mean the same. loose: 1 equals 1.0."""
    a, b = op.args
    for constant, other in ((b, a), (a, b)):
        if type(constant) is Lit:
            value = constant.value
            if type(value) in IDENTICAL:
                return Python("is", op.args)
            exact_int = type(value) is int and (
                other.type.only(INT) or (loose and (value not in (0, 1) or other.type.only(NUMBER)))
            )
            if type(value) is str or exact_int:
                return Python("eq", op.args)
    if (a.type.only(INT) and b.type.only(INT)) or (a.type.only(STR) and b.type.only(STR)):
        return Python("eq", op.args)
    if a.type.only(IDENTICAL_TAGS) or b.type.only(IDENTICAL_TAGS):
        return Python("is", op.args)
    if is_list_of_plain(a.type) and is_list_of_plain(b.type):
        return CallRuntime(SAME_PLAIN, op.args)
    if is_stored_as_is(a.type) and is_stored_as_is(b.type):  # a dict tells them apart as the language does
        return Python("eq", op.args)
    return None


def is_list_of_plain(type_: Type) -> bool:
    """Whether a value is a list of what Python's `==` tells apart as the language does."""
    return type_.only(LIST) and (not type_.item.tags or type_.item.only(COMPARED))


@lowering("not")
def not_(op: CallBuiltin, guards: bool) -> Op | None:
    return Python("not", op.args) if len(op.args) == 1 else None


@lowering("nil?")
def is_nil(op: CallBuiltin, guards: bool) -> Op | None:
    return Python("is_none", op.args) if len(op.args) == 1 else None


@lowering("mod", "modulo")
def modulo(op: CallBuiltin, guards: bool) -> Op | None:
    if len(op.args) != 2:
        return None
    types = types_of(op)
    if op.as_value and not types[1].only(ABOVE_ZERO):  # the builtin as a value says more of a zero
        return None
    if all(type_.only(INT) for type_ in types):
        return Python("mod", op.args)
    if any(type_.only(FLOAT) for type_ in types):  # Python's % of floats takes another sign
        return runtime(ARITHMETIC + "mod", op)
    return guarded(op, "mod", ARITHMETIC + "mod", guards, INT)


@lowering("/")
def divide(op: CallBuiltin, guards: bool) -> Op | None:
    return runtime(ARITHMETIC + "div", op) if len(op.args) == 2 else None


@lowering("vector")
def vector(op: CallBuiltin, guards: bool) -> Op | None:
    return Python("tuple", op.args)


@lowering("list")
def list_(op: CallBuiltin, guards: bool) -> Op | None:
    return Python("List", op.args)


@lowering("cons")
def cons(op: CallBuiltin, guards: bool) -> Op | None:
    if len(op.args) != 2 or not op.args[1].type.only(LIST):
        return None
    return runtime("sema_runtime.values.lists:cons", op)
