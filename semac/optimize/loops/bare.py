"""Lists of whose items alone is asked are Python's own: the `List` around them isn't made.

So are the rests of arguments, and of what patterns take apart. Assumes that builtins are inlined. Sound because every
use of the list reads its items, and none can keep or change them.
"""

from __future__ import annotations

from collections import Counter

from semac.anf.build import is_fixed
from semac.anf.nodes import (
    Block,
    CallBuiltin,
    Comprehension,
    Destructure,
    Expr,
    Guarded,
    Iteration,
    Let,
    MapPattern,
    Match,
    Move,
    Op,
    Pattern,
    Python,
    Read,
    Ref,
    SequencePattern,
    VarPattern,
)
from semac.anf.walk import all_blocks, exit_operands, operands
from semac.ir.intrinsics import ITEMS_OF
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.operators import replace
from semac.types.lattice import ANY, FLAT, VECTOR, make

MADE = ("list", "sort-by")
MADE_OF = {**ITEMS_OF, "spliced": "spliced_items"}
READ = {  # kinds of operations of the list's items → what they are for Python's own list
    "flat_items": "", "list_items": "", "flat_len": "len", "list_len": "len", "flat_part": "part", "flat_item": "item",
    "to_tuple": "to_tuple", "join": "join", "sum_of": "sum_of", "empty": "blank", "car": "tuple_first",
    "sure_car": "head", "flat_get": "tuple_get", "flat_last": "tuple_last",
    "spliced": "spliced",
}  # fmt: skip
INDEX_TESTS = {f"{kind}_flat_index": f"{kind}_index" for kind in ("natural", "low", "python")} | {"flat_index": "index"}
GONE_THROUGH = ("items", "indexed", "zip")


def bare_lists(unit: Unit) -> None:
    """Has lists that only loops and look-ups read be Python's own."""
    made: dict[Var, Let] = {}
    uses: Counter[Var] = Counter()
    reads: dict[Var, list[Let]] = {}
    for form in unit.blocks:
        for block in all_blocks(form):
            for instr in block.instrs:
                if is_list(instr):
                    made[instr.var] = instr  # type: ignore[index]
                for var in read_by(instr.op):
                    reads.setdefault(var, []).append(instr)
                uses.update(value.var for value in operands(instr.op) if type(value) is Ref)
            uses.update(value.var for value in exit_operands(block.exit) if type(value) is Ref)
    bare_rests(unit)
    for var, definition in made.items():
        if uses[var] and uses[var] == len(reads.get(var, ())):
            is_filled = make_bare(definition)
            for instr in reads[var]:
                if is_filled and type(instr.op) is Python and instr.op.kind == "car":
                    instr.op.kind = "sure_car"
                take_items(instr)


def make_bare(definition: Let) -> bool:
    """Has a definition make the items of its list alone. Whether it surely has some."""
    op = definition.op
    if type(op) is Python:
        is_filled = op.kind == "split"  # no text splits into nothing
        op.kind = MADE_OF[op.kind]
        return is_filled
    if type(op) is CallBuiltin:
        replace(definition, Python("tuple", op.args, span=op.span, type=op.type))
        return bool(op.args)
    op.bare = True  # type: ignore[attr-defined]
    return False


def bare_rests(unit: Unit) -> None:
    """Has rests of arguments, and of what patterns take apart, that are only read be sequences of Python."""
    rests = {function.rest for function in unit.functions if function.rest is not None and is_fixed(function.rest)}
    rests |= {rest for form in unit.blocks for block in all_blocks(form) for rest in rests_in(block) if is_fixed(rest)}
    if not rests:
        return
    read: dict[Var, list[Let]] = {}
    refs: dict[Var, list[Ref]] = {}
    others: set[Var] = set()
    for form in unit.blocks:
        for block in all_blocks(form):
            for instr in block.instrs:
                op = instr.op
                if type(op) is Read:
                    others.add(op.var)
                reads = rests_read_by(op)
                for value in operands(op):
                    if type(value) is Ref and value.var in rests:
                        refs.setdefault(value.var, []).append(value)
                        if value in reads:
                            read.setdefault(value.var, []).append(instr)
                        else:
                            others.add(value.var)
            others.update(value.var for value in exit_operands(block.exit) if type(value) is Ref)
    for var in rests - others:
        if var.type is None or not var.type.only(FLAT):  # types weren't inferred
            continue
        var.type = make(VECTOR, vitem=var.type.item)
        for ref in refs.get(var, ()):
            ref.type = var.type
        for instr in read.get(var, ()):
            take_items(instr)


def rests_in(block: Block) -> list[Var]:
    """The variables that patterns of a block bind to the rest of a sequence."""
    todo: list[Pattern] = []
    for instr in block.instrs:
        op = instr.op
        if type(op) is Match:
            todo += [clause.pattern for clause in op.clauses]
        elif type(op) is Destructure:
            todo.append(op.pattern)
        elif isinstance(op, Iteration):
            todo.append(op.target)
    rests = []
    for pattern in todo:  # which grows meanwhile
        if type(pattern) is SequencePattern:
            todo += pattern.parts
            if type(pattern.rest) is VarPattern:
                rests.append(pattern.rest.var)
        elif type(pattern) is MapPattern:
            todo += [part for _, part, _ in pattern.entries]
    return rests


def rests_read_by(op: Op) -> list[Expr]:
    """The operands of an operation of which it reads nothing but items, where they may be tuples as well."""
    if items := items_read_by(op):
        return items
    if isinstance(op, Iteration) and op.how in (*GONE_THROUGH, "reversed"):
        return op.sources
    return op.args[-1:] if type(op) is CallBuiltin and op.name == "apply" and len(op.args) > 1 else []


def is_list(instr: Let) -> bool:
    """Whether an instruction makes a list for one variable, under which nobody else looks for it."""
    op, var = instr.op, instr.var
    if var is None or not makes_list(op):
        return False
    return not var.is_global and is_fixed(var) and var.op is op and op.type.only(FLAT)


def makes_list(op: Op) -> bool:
    if type(op) is Python:
        return op.kind in MADE_OF
    if type(op) is CallBuiltin:
        return op.name == "list" and not op.as_value
    return type(op) is Comprehension and op.kind in MADE and not op.bare


def items_read_by(op: Op) -> list[Expr]:
    """The operands of which an operation of Python reads items."""
    if type(op) is Python and op.kind in READ:
        return op.args if op.kind == "spliced" else op.args[:1]
    return op.args[:1] if type(op) is Guarded and op.fast in READ and op.tests[-1][0] in INDEX_TESTS else []


def read_by(op: Op) -> list[Var]:
    """The lists of which an operation reads nothing but items, once for each time that it does."""
    read = items_read_by(op)
    if isinstance(op, Iteration) and op.how in GONE_THROUGH:
        read = op.sources
    elif type(op) is Destructure and type(op.pattern) is SequencePattern and not op.pattern.or_nil:
        read = [op.value]
    return [value.var for value in read if type(value) is Ref]


def take_items(instr: Let) -> None:
    op = instr.op
    if type(op) is Guarded:  # the builtin, which says what is wrong with an index, takes Python's lists as well
        op.fast = READ[op.fast]
        op.tests = [(INDEX_TESTS.get(kind, kind), places) for kind, places in op.tests]
    if type(op) is not Python:
        return
    kind = READ[op.kind]
    if kind:
        op.kind = kind
    else:
        replace(instr, Move(Ref(op.args[0].var, ANY), span=op.span, type=ANY))  # type: ignore[union-attr]
