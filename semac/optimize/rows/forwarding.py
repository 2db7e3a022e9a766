"""A field of a tuple that was made just before is the value that was put there, and a tuple of which nothing else is
asked isn't made: `(:left (assoc tape :head x))` needs no new tape.

Sound because a tuple never changes, and because a variable that is defined once has the same value where the tuple is
read as where it was made: both stand in the same round of the same function.
"""

from __future__ import annotations

from typing import Any

from semac.anf.build import is_fixed
from semac.anf.nodes import Block, CallRuntime, Expr, Let, Lit, MakeVector, Move, Ref
from semac.anf.walk import all_blocks, refs
from semac.ir.nodes import Var
from semac.optimize.operators import replace


def forward_fields(code: Block, fields: frozenset[str]) -> None:
    """Rewrites the code of a function, or a form. fields: the functions of the runtime that read a field."""
    blocks = list(all_blocks(code, into_functions=False))
    made = {instr.var: instr.op for block in blocks for instr in block.instrs if makes_tuple(instr)}
    if not made:
        return
    for block in blocks:
        block.instrs = [instr for instr in block.instrs if not forwarded(instr, made, fields)]
    used = {ref.var for ref in refs(code)}
    unused = made.keys() - used
    for block in blocks if unused else ():
        block.instrs = [instr for instr in block.instrs if instr.var not in unused]


def makes_tuple(instr: Let) -> bool:
    var = instr.var
    return type(instr.op) is MakeVector and var is not None and is_local(var)


def forwarded(instr: Let, made: dict[Any, Any], fields: frozenset[str]) -> bool:
    """Has an instruction that reads a field give the value itself. Whether nobody wants that."""
    op = instr.op
    if type(op) is not CallRuntime or op.path not in fields or type(op.args[0]) is not Ref:
        return False
    tuple_ = made.get(source_of(op.args[0].var))
    index = op.args[1]
    if tuple_ is None or type(index) is not Lit:
        return False
    item: Expr = tuple_.items[index.value]
    if type(item) is Ref and not is_local(item.var):
        return False
    if instr.var is None:
        return True
    replace(instr, Move(Ref(item.var) if type(item) is Ref else item, span=op.span))
    return False


def source_of(var: Var) -> Var:
    """The variable that a variable is another name of."""
    while is_local(var) and type(var.op) is Move and type(var.op.value) is Ref:
        var = var.op.value.var
    return var


def is_local(var: Var) -> bool:
    return is_fixed(var) and not var.is_global
