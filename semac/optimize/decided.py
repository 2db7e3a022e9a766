"""Conditionals whose test can have but one outcome become the branch that runs.

Assumes inferred types. Sound because a value whose type has neither nil nor `#f` counts as true, one of no other type
as false: the test is a value that exists already, and nothing else of it is asked. The other branch is gone for the
passes after this one, so what only it reads is needed by nobody. Whether a multimethod has got more methods is asked
in any case: types say that it hasn't, in code that others call only as long as that is so. The text for people keeps
what they have written.
"""

from __future__ import annotations

from semac.anf.build import is_fixed
from semac.anf.nodes import Block, CallRuntime, Expr, If, Jump, Let, Logic, Move, Op, Ref, Result
from semac.anf.walk import all_blocks, gives
from semac.ir.intrinsics import EXTENDED
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.types.lattice import FALSE, NEVER, NIL, Type


def decide_tests(unit: Unit) -> None:
    """Rewrites the conditionals of a unit."""
    if unit.is_text:
        return
    for form in unit.blocks:
        for block in list(all_blocks(form)):
            if any(branch_of(instr.op) is not None for instr in block.instrs):
                decide(block)


def decide(block: Block) -> None:
    """Puts the branches that surely run in the place of their conditionals; they have no instructions any more."""
    todo = block.instrs[::-1]
    block.instrs = []
    while todo:
        instr = todo.pop()
        taken = branch_of(instr.op)
        if taken is None:
            block.instrs.append(instr)
        elif type(taken.exit) is Jump or (not todo and gives(block, instr.var)):  # nothing follows
            block.exit = taken.exit
            todo = taken.instrs[::-1]
            taken.instrs = []
        else:
            if instr.var is not None:
                todo.append(given(instr.var, instr.op, taken.exit.value))  # type: ignore[union-attr]
            todo += taken.instrs[::-1]
            taken.instrs = []


def branch_of(op: Op) -> Block | None:
    """The block that a conditional surely runs; None for any other operation."""
    if type(op) is If:
        is_true = truth_of(op.test)
        return None if is_true is None else op.then if is_true else op.otherwise
    if type(op) is Logic:
        is_true = truth_of(op.first)
        return None if is_true is None else op.rest if is_true is op.is_and else Block([], Result(op.first))
    return None


def truth_of(value: Expr) -> bool | None:
    """Whether a value counts as true; None where that differs, or it never exists."""
    type_: Type = value.type
    if type_ is NEVER or is_about_methods(value):
        return None
    if not type_.tags & (NIL | FALSE):
        return True
    return False if type_.only(NIL | FALSE) else None


def is_about_methods(value: Expr) -> bool:
    made = value.var.op if type(value) is Ref else None
    return type(made) is CallRuntime and made.path == EXTENDED


def given(var: Var, op: Op, value: Expr) -> Let:
    """The variable of a conditional gets what its branch gives."""
    move = Move(value, span=op.span, type=value.type)
    if is_fixed(var):
        var.op = move
    return Let(var, move)
