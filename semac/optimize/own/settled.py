"""Variables under `set!` that each round of a loop sets before it reads them: they carry nothing to the next round."""

from __future__ import annotations

from semac.anf import nodes as anf
from semac.anf.nodes import Block, Jump, Op
from semac.anf.walk import all_blocks, blocks
from semac.ir.nodes import Var


def settled(loop: Op) -> set[Var]:
    """The variables that a loop sets, and never reads before it has set them in the same round."""
    assigned: set[Var] = set()
    for body in blocks(loop):
        for inner in all_blocks(body, into_functions=False):
            for instr in inner.instrs:
                if type(instr.op) is anf.Assign and not instr.op.var.captured and not instr.op.var.is_global:
                    assigned.add(instr.op.var)
    if not assigned:
        return assigned
    early: set[Var] = set()
    for body in blocks(loop):
        _walk(body, set(), early)
    return assigned - early


def _walk(block: Block, known: set[Var], early: set[Var]) -> set[Var] | None:
    """The variables that surely are set behind a block; None where it goes on elsewhere. known: those before it.
    early: gets those that are read where they may not be set."""
    for instr in block.instrs:
        op = instr.op
        if type(op) is anf.Read:
            if op.var not in known:
                early.add(op.var)
        elif type(op) is anf.Assign:
            known.add(op.var)
        elif inside := blocks(op):
            behind = [_walk(inner, set(known), early) for inner in inside]
            if type(op) in (anf.If, anf.Loop, anf.For):  # other blocks may not run, or not to their end
                ends = [after for after in behind if after is not None]
                if not ends:
                    return None
                known = set.intersection(*ends)
    return None if type(block.exit) is Jump else known
