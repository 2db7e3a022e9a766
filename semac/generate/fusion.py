"""Loops over what other loops make: their stages become stages of one loop where nobody can tell.

All stages then run for one item before the first runs for the next: no difference where one stage at most can fail or
has effects, and none reads what that one may change. A list that only a loop sees need not be one of the language.
"""

from __future__ import annotations

from typing import Any

from sema_runtime.values.numbers import is_int64
from semac.anf.nodes import (
    Block,
    CallBuiltin,
    CallRuntime,
    Closure,
    Comprehension,
    Expr,
    For,
    GetField,
    Guarded,
    If,
    IsRecord,
    Iteration,
    Lit,
    Logic,
    Op,
    Python,
    Ref,
    Result,
    VarPattern,
)
from semac.anf.walk import blocks, expressions
from semac.generate.effects import EFFECT, commute, loop_rank
from semac.ir.intrinsics import ITEMS_OF, MAP_CLASSES
from semac.ir.nodes import Var
from semac.types.lattice import BOOL, DICT, FLAT, INT

KEYED = ("sort-by", "group-by", "key-by")  # kinds that need the item besides its key
EARLY = ("any", "every", "find")  # kinds that may end before the last item
ITEMS = ("items", "indexed", "zip", "rest")  # ways to go through sources that need no more than an iterable


MADE_OF = {**ITEMS_OF, "stack_list": "turned", "stack_reversed": "first_of"}
UNWRAPPED = {"List": "tuple", **MADE_OF}  # kinds that make a list → those that give its items alone

UNORDERED = ("sum_of", "max_or", "min_or")  # of ints
TAKES_ITEMS = {
    "to_tuple": "to_tuple",
    "join": "join",
    "flat_len": "len",
    "list_len": "len",
    "sum_of": "sum_of",
    "max_or": "max_or",
    "min_or": "min_or",
    "spliced": "spliced",
}


def take_bare(op: Python) -> None:
    """Has an operation that reads the items of a new list take Python's own list."""
    for made in op.args:
        if type(made) is Comprehension and made.kind in ("list", "sort-by"):
            made.bare = True
        elif type(made) is Python and made.kind in MADE_OF:
            made.kind = MADE_OF[made.kind]
        elif type(made) is CallBuiltin and is_part_of_map(made):
            take_entries(op, made)
            return
        else:
            continue
        op.kind = TAKES_ITEMS[op.kind]


def is_part_of_map(made: CallBuiltin) -> bool:
    return made.name in ("keys", "vals") and len(made.args) == 1 and made.args[0].type.only(DICT)


def take_entries(op: Python, made: CallBuiltin) -> None:
    """Has an operation for which their order is all the same read the entries of a map as they are."""
    if op.kind == "flat_len":
        op.kind, op.args = ("size", entries_of(made)) if is_wrapped(made) else ("map_len", made.args)
    elif op.kind in UNORDERED and made.name == "vals":
        op.args[0] = values_of(made)


def is_wrapped(made: CallBuiltin) -> bool:
    """Whether the map is made of a bare dict, for the call."""
    entries = made.args[0]
    return type(entries) is CallRuntime and entries.path in MAP_CLASSES


def entries_of(made: CallBuiltin) -> list[Expr]:
    entries: Any = made.args[0]
    return entries.args  # type: ignore[no-any-return]


def values_of(made: CallBuiltin) -> Python:
    """The values of a map in any order."""
    kind, args = ("values", entries_of(made)) if is_wrapped(made) else ("map_values", made.args)
    values = Python(kind, args, span=made.span, type=made.type)
    values.weight, values.rank = made.weight, made.rank
    return values


def fuse(op: Iteration) -> None:
    """Takes what makes the items of a loop into the loop."""
    if op.how in ITEMS:
        for index, source in enumerate(op.sources):
            op.sources[index] = unwrapped(source)
    if op.how != "items" or not op.sources:
        return
    (source,) = op.sources
    if type(source) is CallBuiltin and is_range(source):
        op.how, op.sources = "range", list(source.args)
    elif type(source) is Comprehension and source.kind == "list":
        if type(op) is Comprehension:
            merge(op, source)
        elif type(op) is For:
            lead(op, source)


def unwrapped(source: Expr) -> Expr:
    """The source without the list around its items."""
    made = source.var.op if type(source) is Ref and not source.var.name and source.var.uses == 1 else source
    if type(made) is Comprehension:
        made.bare = True
        if type(source) is Ref:
            source.var.hint = "items"
    elif type(made) is Python and made.kind in UNWRAPPED:
        made.kind = UNWRAPPED[made.kind]
    elif type(made) is Guarded and made.fast == "next" and type(source) is Guarded:
        return after_first(made)
    return source


def after_first(source: Guarded) -> Expr:
    """The items after the first of a flat list, without cells."""
    count, whole = 1, source.args[0]
    if type(whole) is Guarded and whole.fast == "next":
        count, whole = 2, whole.args[0]
    if not whole.type.only(FLAT):
        return source
    after = Python("flat_after", [whole, Lit(count)], span=source.span, type=source.type)
    after.weight, after.rank = source.weight, source.rank
    return after


def is_range(op: CallBuiltin) -> bool:
    """Whether `range` surely is what Python's is."""
    args = op.args
    if op.name != "range" or not 1 <= len(args) <= 3 or not all(arg.type.only(INT) for arg in args):
        return False
    if any(type(arg) is Lit and not is_int64(arg.value) for arg in args):
        return False  # it is refused
    return len(args) < 3 or (not isinstance(args[2], Op) and getattr(args[2], "value", 0) != 0)


def lead(op: For, source: Comprehension) -> None:
    """Has a loop compute its items itself, where nobody can tell that they aren't computed before it begins."""
    leads: list[Comprehension] = []
    current: Expr = source
    while type(current) is Comprehension and current.kind == "list" and may_lead(current, [*leads, op]):
        leads.insert(0, current)
        if current.how != "items":
            break
        (current,) = current.sources
    if not leads or type(op.target) is not VarPattern:
        return
    op.leads = leads
    for earlier, later in zip(reversed(leads), [op, *reversed(leads)], strict=False):
        value = earlier.body.exit.value  # type: ignore[union-attr]
        if type(value) is Ref and is_item(earlier, value.var):
            rename(earlier, value.var, later.target.var)  # type: ignore[attr-defined]


def may_lead(source: Comprehension, later: list[Any]) -> bool:
    """Whether what a comprehension does to an item may happen after what later loops do to those before."""
    if type(source.target) is not VarPattern or any(stage.how == "for" for stage in source.stages):
        return False
    parts = [part for block in blocks(source) for part in expressions(block)]
    if not source.weight or any(type(part) is Closure for part in parts):
        return False
    return all(commute(loop_rank(loop), loop_rank(source)) for loop in later)


def merge(op: Comprehension, source: Comprehension) -> None:
    """Has a comprehension go through what its source goes through, where it says little enough of an item."""
    if type(op.target) is not VarPattern or op.kind in KEYED or not source.weight:
        return
    item, value = op.target.var, source.body.exit.value  # type: ignore[union-attr]
    rank = loop_rank(source)
    if not commute(loop_rank(op), rank) or (rank == EFFECT and op.kind in EARLY):
        return
    if type(value) is Ref and is_item(source, value.var):
        if item.name:
            rename(source, value.var, item)
        else:
            rename(op, item, value.var)
    elif op.stages or not substitute(op.body, item, value):
        return
    op.stages = [*source.stages, *op.stages]
    op.target, op.how, op.sources, op.who = source.target, source.how, source.sources, source.who


def is_item(source: Comprehension, var: Var) -> bool:
    """Whether a variable is one that the loop binds for each item."""
    bound = source.stages[-1].var if source.stages and source.stages[-1].how == "for" else None
    return var is bound or (bound is None and type(source.target) is VarPattern and source.target.var is var)


def substitute(body: Block, var: Var, value: Expr) -> bool:
    """Writes an expression in the one place where a variable stands, unless that isn't evaluated just once."""
    exit_ = body.exit
    if type(exit_) is not Result or sum(type(part) is Ref and part.var is var for part in expressions(body)) != 1:
        return False
    if type(exit_.value) is Ref:
        return False
    return put(exit_.value, var, value)


def put(expr: Expr, var: Var, value: Expr) -> bool:
    if not isinstance(expr, Op) or type(expr) in (If, Logic):
        return False
    for field in expr.exprs:
        operand = getattr(expr, field)
        inside = operand if type(operand) is list else [operand]
        for index, part in enumerate(inside):
            if type(part) is Ref and part.var is var:
                if type(operand) is list:
                    operand[index] = value
                else:
                    setattr(expr, field, value)
                return True
            if put(part, var, value):
                return True
    return False


def rename(op: Comprehension, old: Var, new: Var) -> None:
    """Has a comprehension bind another variable instead of one."""
    if type(op.target) is VarPattern and op.target.var is old:
        op.target.var = new
    for stage in op.stages:
        stage.var = new if stage.var is old else stage.var
    for block in blocks(op):
        for part in expressions(block):
            if type(part) is Ref and part.var is old:
                part.var = new


def may_assign(expr: Expr | None) -> bool:
    """Whether an expression, functions in it included, may print with `:=`, which keeps a value that is tested."""
    if not isinstance(expr, Op):
        return False
    return any(map(keeps_value, expressions(Block([], Result(expr)))))


def keeps_value(part: Expr) -> bool:
    kind = type(part)
    if kind is Guarded:
        return any(isinstance(part.args[index], Op) for _, places in part.tests for index in places)  # type: ignore[union-attr]
    if kind is GetField:
        return not part.is_sure and isinstance(part.record, Op)  # type: ignore[union-attr]
    if kind is IsRecord:
        return not part.is_sure and isinstance(part.value, Op)  # type: ignore[union-attr]
    tested: list[Expr] = []
    if kind is Logic:
        tested = [part.first]  # type: ignore[union-attr]
    elif kind is If:
        tested = [part.test]  # type: ignore[union-attr]
    elif kind is Python and part.kind == "not":  # type: ignore[union-attr]
        tested = part.args  # type: ignore[union-attr]
    elif kind is Comprehension:
        blocks = [stage.block for stage in part.stages if stage.how == "if"]  # type: ignore[union-attr]
        blocks += [part.body] if part.kind in ("any", "every") else []  # type: ignore[union-attr]
        tested = [block.exit.value for block in blocks]
    leaves = [leaf for value in tested for leaf in tested_in(value)]
    return any(type(leaf) is not Ref and not leaf.type.only(BOOL) for leaf in leaves)


def tested_in(value: Expr) -> list[Expr]:
    """What is asked for its truth where the value is."""
    if type(value) is Logic:
        return [*tested_in(value.first), *tested_in_block(value.rest)]
    if type(value) is If:
        return [value, *tested_in_block(value.then), *tested_in_block(value.otherwise)]
    return [value]


def tested_in_block(block: Block) -> list[Expr]:
    return tested_in(block.exit.value) if type(block.exit) is Result else []
