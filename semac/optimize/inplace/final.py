"""Bodies of `try` that change maps in place only where nothing can fail any more: nothing of these is ever undone."""

from __future__ import annotations

from typing import Any

from semac.anf import nodes as anf
from semac.anf.nodes import Block, Let, Lit, Op
from semac.anf.walk import all_blocks, blocks
from semac.ir.nodes import Function
from semac.optimize.inplace.roles import change_of, is_place
from semac.optimize.keys import is_stored_key
from semac.optimize.own.representation import known_callee
from semac.types.lattice import DICT, KEYWORD


class Endings:
    """Answers for the code of a unit. acts: the instructions that may change maps in place."""

    def __init__(self, acts: set[Let]) -> None:
        self.acts = acts
        self.known: dict[Function, bool] = {}

    def is_final(self, block: Block) -> bool:
        """Whether nothing can fail behind each of a block's changes."""
        return self.quiet_from(block, True) is not None

    def quiet_from(self, block: Block, quiet: bool) -> bool | None:
        """Whether nothing can fail from the start of a block on; None where something can behind a change.
        quiet: whether nothing can behind the block."""
        for instr in reversed(block.instrs):
            op = instr.op
            if instr in self.acts:
                if not quiet or not (change_of(op) or self.ends_quietly(op)):
                    return None
                quiet = is_sure_change(op)
            elif type(op) is anf.If:
                ends = [self.quiet_from(inner, quiet) for inner in (op.then, op.otherwise)]
                if None in ends:
                    return None
                quiet = all(ends)
            elif blocks(op):
                if any(has_any(part, self.acts, True) for part in blocks(op)):
                    return None
                quiet = False
            else:
                quiet = quiet and is_quiet(op)
        return quiet

    def ends_quietly(self, op: Op) -> bool:
        """Whether a call reaches a function that can't fail behind its changes."""
        callee = known_callee(op) if type(op) is anf.Call else None
        if callee is None:
            return False
        if callee not in self.known:
            self.known[callee] = False  # while it is looked at: one that calls itself
            self.known[callee] = callee.code is not None and self.is_final(callee.code)
        return self.known[callee]


def has_any(block: Block, acts: set[Let], into_functions: bool = False) -> bool:
    """Whether any of some instructions is in a block, or in one inside."""
    return any(instr in acts for inner in all_blocks(block, into_functions) for instr in inner.instrs)


def is_sure_change(op: Any) -> bool:
    """Whether a change can't fail itself."""
    is_assoc = change_of(op) and op.name == "assoc" and op.args[0].type.only(DICT)
    return is_assoc and all(map(is_stored_key, op.args[1::2]))


def is_quiet(op: Op) -> bool:
    """Whether an operation only moves or gathers values."""
    if type(op) is anf.MakeMap:
        return all(type(key) is Lit and key.type.only(KEYWORD) for key in op.items[0::2])
    if type(op) in (anf.Read, anf.Assign):
        return is_place(op.var)  # type: ignore[attr-defined]
    return type(op) in (anf.Move, anf.MakeVector)
