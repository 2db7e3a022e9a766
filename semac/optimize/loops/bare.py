"""Lists of whose items alone is asked are Python's own: the `List` around them isn't made.

Assumes that builtins are inlined. Sound because every use of the list reads its items, and none can keep or change
them.
"""

from __future__ import annotations

from collections import Counter

from semac.anf.build import is_fixed
from semac.anf.nodes import Comprehension, Iteration, Let, Move, Op, Python, Ref
from semac.anf.walk import all_blocks, exit_operands, operands
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.operators import replace
from semac.types.lattice import ANY, FLAT

MADE = ("list", "sort-by")
READ = {  # kinds of operations of the list's items → what they are for Python's own list
    "flat_items": "", "list_items": "", "flat_len": "len", "list_len": "len", "flat_part": "part",
    "to_tuple": "to_tuple", "join": "join", "sum_of": "sum_of",
}  # fmt: skip
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
    for var, definition in made.items():
        if uses[var] and uses[var] == len(reads.get(var, ())):
            definition.op.bare = True  # type: ignore[attr-defined]
            for instr in reads[var]:
                take_items(instr)


def is_list(instr: Let) -> bool:
    """Whether an instruction makes a list for one variable, under which nobody else looks for it."""
    op, var = instr.op, instr.var
    if type(op) is not Comprehension or op.kind not in MADE or op.bare or var is None:
        return False
    return not var.is_global and is_fixed(var) and var.op is op and op.type.only(FLAT)


def read_by(op: Op) -> list[Var]:
    """The lists of which an operation reads nothing but items, once for each time that it does."""
    if type(op) is Python and op.kind in READ:
        return [op.args[0].var] if type(op.args[0]) is Ref else []
    if isinstance(op, Iteration) and op.how in GONE_THROUGH:
        return [source.var for source in op.sources if type(source) is Ref]
    return []


def take_items(instr: Let) -> None:
    op = instr.op
    if type(op) is not Python:
        return
    kind = READ[op.kind]
    if kind:
        op.kind = kind
    else:
        replace(instr, Move(Ref(op.args[0].var, ANY), span=op.span, type=ANY))  # type: ignore[union-attr]
