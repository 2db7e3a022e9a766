"""What programs do with the rest of a list, and what that is on a sequence and the index where the rest begins.

An index may be greater than the length: the rest of an empty list is empty. So each operation asks where it matters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sema_runtime.values.lists import EMPTY, List
from sema_runtime.values.sequences import INT_LIMIT
from semac.anf.nodes import (
    Block,
    CallBuiltin,
    CallRuntime,
    Comprehension,
    Expr,
    For,
    If,
    Let,
    Lit,
    Logic,
    Op,
    Python,
    Ref,
    Result,
)
from semac.ir.intrinsics import TAIL_OF
from semac.optimize.loops.functions import temporary
from semac.optimize.loops.rests import COPYING, EARLY
from semac.optimize.loops.shape import always_jumps
from semac.types.lattice import BOOL, COUNT, FLAT, LIST, NATURAL, POSITIVE, Type, atom, make

FIRSTS = {"car": 0, "first": 0, "cadr": 1, "caddr": 2}  # what reads an item → how many stand before it
RESTS = {"cdr": 1, "rest": 1, "cddr": 2, "cdddr": 3}  # how many items each leaves out
TESTS = {"null?": "ge", "empty?": "ge", "pair?": "lt"}
LENGTHS = ("length", "count")
ONE_BY_ONE = ("items", "reversed", "indexed")  # ways to go through one source to its end
INDEX = atom(COUNT)
NTH_AFTER = "sema_runtime.lib.collections.list_slices:nth_after"
Holds = Callable[[Expr], bool]


def taken(op: Any) -> tuple[Expr, Expr] | None:
    """Of which list an operation gives a rest, and how many items it leaves out."""
    if type(op) is not CallBuiltin:
        return None
    if op.name in RESTS and len(op.args) == 1:
        return op.args[0], Lit(RESTS[op.name], atom(POSITIVE))
    if op.name == "drop" and len(op.args) == 2 and is_count(op.args[0]) and op.args[1].type.only(LIST):
        return op.args[1], op.args[0]
    return None


def is_count(value: Expr) -> bool:
    """Whether a value is surely an int that isn't negative."""
    if type(value) is Lit:
        return type(value.value) is int and 0 <= value.value < INT_LIMIT
    return value.type.only(NATURAL)


def checked(count: Expr, op: CallBuiltin, index: Ref, before: list[Let]) -> Expr:
    """A count of items, after the error of a builtin that is given a greater one than there are lengths."""
    if type(count) is Lit:
        return count
    is_length = bind(Python("lt", [count, Lit(INT_LIMIT, atom(POSITIVE))], type=atom(BOOL)), "is_length", index, before)
    otherwise: list[Let] = []
    failed = bind(
        CallBuiltin(op.name, [count, Lit(EMPTY, atom(FLAT))], fixed=op.fixed, span=op.span, type=count.type),
        "count",
        index,
        otherwise,
    )
    choice = If(is_length, Block([], Result(count)), Block(otherwise, Result(failed)), type=count.type)
    return bind(choice, "count", index, before)


def is_empty_list(value: Expr) -> bool:
    return type(value) is Lit and type(value.value) is List and value.value.empty


def is_empty_where(test: Expr, outcome: bool, holds: Holds) -> bool:
    """Whether a list, or a rest of it, is empty where a test comes out so."""
    op = test.var.op if type(test) is Ref else None
    if type(op) is Logic and type(op.rest.exit) is Result:
        first = is_empty_where(op.first, outcome, holds)
        other = is_empty_where(op.rest.exit.value, outcome, holds)
        return first or other if op.is_and is outcome else first and other
    if type(op) is not CallBuiltin or len(op.args) != 1:
        return False
    if op.name == "not":
        return is_empty_where(op.args[0], not outcome, holds)
    return op.name in TESTS and holds(op.args[0]) and (TESTS[op.name] == "ge") is outcome


def reads_part(op: Op, holds: Holds) -> bool:
    """Whether an operation only looks at some first items of a list, or at its length, or copies as many."""
    if type(op) is not CallBuiltin:
        return False
    if len(op.args) == 1:
        return op.name in FIRSTS or op.name in TESTS or op.name in LENGTHS
    if len(op.args) != 2:
        return False
    first, second = op.args
    if op.name == "nth":
        return holds(first) and is_count(second)
    return op.name == "take" and is_count(first) and holds(second)


def goes_through_one(op: Op) -> bool:
    """Whether an operation goes through all items of a list anyway, so that a copy of them costs nothing more."""
    if type(op) is CallBuiltin:
        return op.name in COPYING
    if type(op) is Comprehension:
        return op.how in ONE_BY_ONE and len(op.sources) == 1 and op.kind not in EARLY
    return type(op) is For and op.how in ONE_BY_ONE and len(op.sources) == 1 and always_jumps(op.body, op)


def tail_of(sequence: Ref, index: Ref, type_: Type) -> Op:
    """The list that begins at an index. One that surely has its items at hand gets them; any other costs the same
    wherever it begins."""
    if type_.only(FLAT):
        return Python("listed_after", [sequence, index], type=type_)
    return CallRuntime(TAIL_OF, [sequence, index], type=type_)


def part_of(op: CallBuiltin, sequence: Ref, index: Ref, size: Ref, before: list[Let]) -> Op:
    """What an operation that reads a part does with a sequence from an index on. before: gets what comes first."""
    if op.name in TESTS:
        return Python(TESTS[op.name], [index, size], type=atom(BOOL))
    if op.name in LENGTHS:
        return length_after(op, index, size, before)
    if op.name == "nth":
        return nth_after(op, sequence, index, size, before)
    if op.name == "take":
        count = checked(op.args[0], op, index, before)
        return Python("listed_part", [sequence, index, count], type=make(FLAT, item=op.type.item))
    offset = FIRSTS[op.name]
    if op.filled and not offset:
        return Python("part", [sequence, index], type=op.type)
    if op.filled:
        return Python("part_after", [sequence, index, Lit(offset, atom(POSITIVE))], type=op.type)
    if offset:
        return Python("later_in", [sequence, index, size, Lit(offset, atom(POSITIVE))], type=op.type)
    return Python("first_in", [sequence, index, size], type=op.type)


def length_after(op: CallBuiltin, index: Ref, size: Ref, before: list[Let]) -> Op:
    """`size - at if at < size else 0`."""
    is_left = bind(Python("lt", [index, size], type=atom(BOOL)), "is_left", index, before)
    then: list[Let] = []
    length = bind(Python("sub", [size, index], type=INDEX), "length", index, then)
    return If(is_left, Block(then, Result(length)), Block([], Result(Lit(0, INDEX))), type=op.type)


def nth_after(op: CallBuiltin, sequence: Ref, index: Ref, size: Ref, before: list[Let]) -> Op:
    """`items[at + 2] if at + 2 < size else nth_after(items, at, 2)`, which says what is wrong."""
    count = op.args[1]
    place = bind(Python("add", [index, count], type=INDEX), "place", index, before)
    is_there = bind(Python("lt", [place, size], type=atom(BOOL)), "is_there", index, before)
    then: list[Let] = []
    item = bind(Python("part", [sequence, place], type=op.type), "item", index, then)
    otherwise: list[Let] = []
    failing = CallRuntime(NTH_AFTER, [sequence, index, count], span=op.span, type=op.type)
    failed = bind(failing, "item", index, otherwise)
    return If(is_there, Block(then, Result(item)), Block(otherwise, Result(failed)), type=op.type)


def bind(op: Op, hint: str, index: Ref, before: list[Let]) -> Ref:
    """A new variable, in the function of an index, that has the value of an operation."""
    var = temporary(hint, index.var.owner)
    var.op, var.type = op, op.type
    before.append(Let(var, op))
    return Ref(var, var.type)
