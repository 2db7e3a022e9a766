"""Variables that change, and that each round of a loop sets before it reads them: they carry nothing to the next
round."""

from __future__ import annotations

from semac.anf import nodes as anf
from semac.anf.nodes import Block, Jump, Loop, Op
from semac.anf.walk import all_blocks, blocks
from semac.ir.nodes import Var


def settled(loop: Op) -> set[Var]:
    """The variables that a loop sets, and never reads before it has set them in the same round."""
    return _settled(loop)[0]


def overwritten(loop: Loop) -> set[Var]:
    """Those that it surely sets before it ends, so that what is read of them afterwards comes from the last round."""
    return set.intersection(*_settled(loop))


def _settled(loop: Op) -> tuple[set[Var], set[Var]]:
    """(the settled variables, those that are surely set where the loop ends)."""
    assigned: set[Var] = set()
    for body in blocks(loop):
        for inner in all_blocks(body, into_functions=False):
            for instr in inner.instrs:
                if type(instr.op) is anf.Assign and not instr.op.var.captured and not instr.op.var.is_global:
                    assigned.add(instr.op.var)
    if not assigned:
        return assigned, assigned
    early: set[Var] = set()
    ends = [_walk(body, set(), early) for body in blocks(loop)]
    sure = set.intersection(*(end for end in ends if end is not None)) if any(ends) else set()
    return assigned - early, sure


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
