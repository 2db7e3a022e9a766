"""Loops that only add up integers become `sum(...)`.

Assumes inferred types and lowered operators. Sound because the sum of ints doesn't depend on how it is made, and `sum`
of exact ints is their sum; floats are added in the order of the loop: newer versions of Python's `sum` round less.
"""

from __future__ import annotations

from semac.anf.nodes import (
    Block,
    Comprehension,
    Expr,
    For,
    Jump,
    Let,
    Lit,
    Python,
    Ref,
    Result,
    VarPattern,
)
from semac.anf.walk import all_blocks
from semac.ir.unit import Unit
from semac.optimize.loops.functions import temporary
from semac.types.lattice import INT, atom


def sum_ints(unit: Unit) -> None:
    """Rewrites the loops of a unit that add each item to one parameter."""
    for form in unit.blocks:
        for block in all_blocks(form):
            if any(type(instr.op) is For for instr in block.instrs):
                block.instrs = [new for instr in block.instrs for new in summed(instr)]


def summed(instr: Let) -> list[Let]:
    op, var = instr.op, instr.var
    if type(op) is not For or not adds_items(op) or var is None:
        return [instr]
    item: Expr = Ref(op.target.var, atom(INT))  # type: ignore[attr-defined]
    total = Comprehension(op.target, op.how, op.sources, op.who, "sum", [], Block([], Result(item)), span=op.span)
    total.place = op.place
    total.type = atom(INT)
    (init,) = op.inits
    if type(init) is Lit and init.value == 0:
        instr.op = total
        if var.op is op:
            var.op = total
        return [instr]
    part = temporary("total", var.owner)
    part.op = total
    added = Python("add", [init, Ref(part, total.type)], span=op.span, type=total.type)
    instr.op = added
    if var.op is op:
        var.op = added
    return [Let(part, total), instr]


def adds_items(op: For) -> bool:
    """Whether all that happens to an item is that it is added to the only parameter, and both are ints."""
    exit_ = op.body.exit
    if type(exit_) is not Jump or len(op.params) != 1 or len(op.inits) != 1 or len(op.body.instrs) != 1:
        return False
    (acc,), (added,), leaving = op.params, op.body.instrs, op.after.exit
    step = added.op
    if type(leaving) is not Result or type(leaving.value) is not Ref or leaving.value.var is not acc:
        return False
    if type(op.target) is not VarPattern or type(step) is not Python or step.kind != "add" or len(step.args) != 2:
        return False
    if not all(type(arg) is Ref and arg.type.only(INT) for arg in [*step.args, *op.inits] if type(arg) is not Lit):
        return False
    is_passed = type(exit_.args[0]) is Ref and exit_.args[0].var is added.var
    return is_passed and [getattr(arg, "var", None) for arg in step.args] in (
        [acc, op.target.var],
        [op.target.var, acc],
    )
