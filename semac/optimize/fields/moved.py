"""Code that moves to the end of a branch, with what is known there in place of variables (`threads.py`)."""

from __future__ import annotations

from typing import Any

from semac.anf.literals import literal
from semac.anf.nodes import Block, Expr, If, Jump, Let, Op, Ref, Result
from semac.anf.walk import LOOPS, all_blocks, bound, instructions, map_exit, map_operands, value_blocks
from semac.ir.nodes import Function, Var
from semac.optimize.calls import is_movable
from semac.optimize.fields.split import again
from semac.optimize.versions.copies import Copier

MOST_COPIED = 40  # operations that are copied for a test
Values = dict[Var, Expr]


class Moved(Copier):
    """Code that moves to the end of a branch, as it is or as a copy, with values in place of variables."""

    def __init__(self, values: Values, owner: Function | None) -> None:
        super().__init__()
        self.known = values
        self.owner = owner
        self.own: set[Var] = set()

    def twin(self, instr: Let) -> Let:
        self.own.update(own_vars(Block([instr], Result(literal(None)))))
        copied: Let = self.copy(instr)
        self.finish()
        if instr.var is not None and copied.var is not None:
            self.known[instr.var] = Ref(copied.var)
        return copied

    def test(self, instr: Let, counts: dict[int, int]) -> Op:
        """A conditional that still has to be asked."""
        op = instr.op
        if type(op) is If:
            then, otherwise = self.block(op.then, counts), self.block(op.otherwise, counts)
            return If(now(op.test, self.known), then, otherwise, span=op.span)
        is_copied = any(counts.get(id(inner), 0) > 1 for inner in value_blocks(op))
        return self.twin(instr).op if is_copied else self.same(instr).op

    def block(self, block: Block, counts: dict[int, int]) -> Block:
        return self.twin_block(block) if counts.get(id(block), 0) > 1 else self.same_block(block)

    def twin_block(self, block: Block) -> Block:
        self.own.update(own_vars(block))
        copied: Block = self.copy(block)
        self.finish()
        return copied

    def finish(self) -> None:
        for before, after in self.vars:
            after.op = self.made.get(id(before.op))
            if after.name and self.owner is not None:
                self.owner.locals.append(after)
        self.vars.clear()

    def copy(self, part: Any) -> Any:
        if type(part) is Ref:
            value = now(part, self.known)
            return again(value) if type(value) is not Ref or value.var not in self.own else super().copy(value)
        if type(part) is Var and part not in self.own:
            return part
        if type(part) is Jump:
            return Jump(part.target, [self.copy(arg) for arg in part.args], part.span)
        return part if isinstance(part, Function) else super().copy(part)

    def same(self, instr: Let) -> Let:
        self.same_block(Block([instr], Result(literal(None))))
        return instr

    def same_block(self, block: Block) -> Block:
        for inner in all_blocks(block, into_functions=False):
            for instr in inner.instrs:
                map_operands(instr.op, lambda value: now(value, self.known))
            map_exit(inner.exit, lambda value: now(value, self.known))
        return block


def now(value: Expr, values: Values) -> Expr:
    """What an operand is with values in place of variables."""
    if type(value) is not Ref or value.var not in values:
        return value
    while type(value) is Ref and value.var in values:
        value = values[value.var]
    return again(value)


def own_vars(block: Block) -> set[Var]:
    found: set[Var] = set()
    for instr in instructions(block):
        found.update(bound(instr.op))
        if instr.var is not None:
            found.add(instr.var)
    return found


def can_be_copied(op: Op) -> bool:
    return is_movable(op) and type(op) not in LOOPS
