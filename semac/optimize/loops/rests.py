"""The rest of a flat list, of which nothing but loops goes through all items, is a slice of its sequence.

A cell for each item would be linked first, and the items collected from these. Assumes inferred types. Sound because
lists don't change; in proportion to what the loops cost anyway.
"""

from __future__ import annotations

from semac.anf.build import is_fixed
from semac.anf.nodes import CallBuiltin, Comprehension, For, Op, Python, Ref
from semac.anf.walk import all_blocks, exit_operands, operands
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.loops.shape import always_jumps
from semac.optimize.operators import replace
from semac.types.lattice import FLAT, make

RESTS = ("cdr", "rest")
EARLY = ("any", "every", "find")  # kinds of comprehensions that may end before the last item
WHOLE = ("items", "reversed", "indexed", "zip")  # ways to go through a source to its end


def slice_rests(unit: Unit) -> None:
    """Rewrites calls of `cdr` and `rest` in a unit; the text for people keeps them."""
    if unit.is_text:
        return
    rests = {
        instr.var: instr
        for form in unit.blocks
        for block in all_blocks(form)
        for instr in block.instrs
        if type(instr.op) is CallBuiltin and instr.op.name in RESTS and is_flat_rest(instr.op, instr.var)
    }
    if not rests:
        return
    others: set[Var] = set()  # variables that have another use
    walked: set[Var] = set()
    for form in unit.blocks:
        for block in all_blocks(form):
            others.update(value.var for value in exit_operands(block.exit) if type(value) is Ref)
            for instr in block.instrs:
                uses = {value.var for value in operands(instr.op) if type(value) is Ref}
                (walked if goes_through(instr.op) else others).update(uses)
    walked = (walked & rests.keys()) - others
    for var in walked:
        instr = rests[var]
        type_ = make(FLAT, item=instr.op.type.item)
        replace(instr, Python("flat_rest", instr.op.args, span=instr.op.span, type=type_))  # type: ignore[attr-defined]
        var.type = type_
    for form in unit.blocks if walked else ():
        for block in all_blocks(form):
            for instr in block.instrs:
                for value in operands(instr.op):
                    if type(value) is Ref and value.var in walked:
                        value.type = value.var.type


def is_flat_rest(op: CallBuiltin, var: Var | None) -> bool:
    return var is not None and is_fixed(var) and not var.is_global and len(op.args) == 1 and op.args[0].type.only(FLAT)


def goes_through(op: Op) -> bool:
    """Whether an operation goes through all items of its operands."""
    if type(op) is CallBuiltin:
        return op.name == "append"  # which copies them all
    if type(op) is Comprehension:
        return op.how in WHOLE and op.kind not in EARLY
    return type(op) is For and op.how in WHOLE and not op.inits and always_jumps(op.body, op)
