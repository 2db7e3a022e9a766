"""Keys of unknown type are asked once how maps store them.

`(contains? memo k)` and the look-up behind it need the stored form of the key both, as do two changes under it. Sound
because a variable that nobody assigns has the same stored form wherever it is read, and what is known in a block holds
in the blocks inside it, which run after it.
"""

from __future__ import annotations

from semac.anf.build import is_fixed
from semac.anf.nodes import Block, CallRuntime, Closure, Let, Move, Ref
from semac.anf.walk import blocks
from semac.ir.intrinsics import NEW_KEY, STORED
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.operators import replace
from semac.optimize.tails import functions


class Known:
    """What is known of a variable as a key. var: holds its stored form; is_new: whether that was asked for by `assoc`,
    which refuses some keys."""

    __slots__ = ("is_new", "var")

    def __init__(self, var: Var, is_new: bool) -> None:
        self.var = var
        self.is_new = is_new


def ask_keys_once(unit: Unit) -> None:
    """Has the stored forms of keys computed once in the blocks of a unit."""
    for block in [*unit.blocks, *(function.code for function in functions(unit))]:
        ask_in(block, {})


def ask_in(block: Block, known: dict[Var, Known]) -> None:
    for instr in block.instrs:
        op = instr.op
        if type(op) is CallRuntime and op.path in (STORED, NEW_KEY):
            ask(instr, op, known)
        if type(op) is not Closure:  # functions are visited apart
            for inner in blocks(op):
                ask_in(inner, dict(known))


def ask(instr: Let, op: CallRuntime, known: dict[Var, Known]) -> None:
    """The stored form of a key, taken from what is known of it."""
    key, result = op.args[0], instr.var
    if type(key) is not Ref or key.var.is_global or not is_fixed(key.var) or result is None:
        return
    is_new, earlier = op.path == NEW_KEY, known.get(key.var)
    if earlier is not None and (earlier.is_new or not is_new):
        replace(instr, Move(Ref(earlier.var, op.type), span=op.span, type=op.type))
        return
    known[key.var] = Known(result, is_new)
