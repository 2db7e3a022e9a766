"""Text for people: what code to run asks first, and does fast where it can, becomes the call that covers all cases.

`add(a, b)` for `a + b if type(a) is type(b) is int else add(a, b)`. It assumes that the other passes are done, and is
sound because the call is what stands in the other branch: it gives the same answer for operands of every type.
"""

from __future__ import annotations

from semac.anf.nodes import Call, CallBuiltin, CallRuntime, GetField, Guarded, IsRecord, Op, Python
from semac.anf.walk import instructions
from semac.ir.intrinsics import CHAR_TABLES
from semac.ir.unit import Unit
from semac.optimize.tails import functions


def write_plainly(unit: Unit) -> None:
    """Replaces the guarded operations of a unit that is written as text."""
    if not unit.is_text:
        return
    for block in [*unit.blocks, *(function.code for function in functions(unit))]:
        for instr in instructions(block, into_functions=False):
            instr.op = plain(instr.op)
            if instr.var is not None:
                instr.var.op = instr.op


def plain(op: Op) -> Op:
    made: Op = op
    if type(op) is Guarded:
        path, _, builtin = op.slow.partition("builtin:")
        made = CallBuiltin(builtin, op.args, fixed=True) if builtin else CallRuntime(path, op.args)
    elif type(op) is Python and op.kind in CHAR_TABLES:
        made = CallBuiltin(op.kind, op.args, fixed=True)
    elif type(op) is GetField and not op.is_sure:
        made = Call(op.head, [op.record])
    elif type(op) is IsRecord and not op.is_sure:
        made = Call(op.head, [op.value])
    if made is not op:
        made.span, made.type = op.span, op.type
    return made
