"""The shape of a loop that a test at its start ends: what both counting loops and walks over lists have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from semac.anf.build import is_fixed
from semac.anf.nodes import Block, CallBuiltin, Expr, If, Jump, Let, Lit, Logic, Match, Op, Ref, Result, Try
from semac.anf.walk import all_blocks, blocks, bound, instructions
from semac.ir.nodes import Var
from semac.types.lattice import BOOL, FALSE, TRUE, atom


class Shape(NamedTuple):
    """A loop whose rounds begin with a test.

    prefix: what comes before the test. stays: for which outcome of the test the round goes on. more: a further test
    that may end the loop, more_stays: for which outcome it doesn't. leave: what happens at the end, stay: the rest of a
    round. jumps: the blocks in stay that go back.
    """

    prefix: list[Let]
    test: CallBuiltin
    stays: bool
    more: Block | None
    more_stays: bool
    leave: Block
    stay: Block
    jumps: list[Block]


def shape_of(body: Block, target: Any) -> Shape | None:
    """The shape of a loop's body; None where it has another one. target: what its jumps go back to."""
    last = body.instrs[-1] if body.instrs else None
    if last is None or not is_value(body, last):
        return None
    if type(last.op) is Logic:
        return logic_shape(body, last.op, target)
    if type(last.op) is not If:
        return None
    then, otherwise = list(jumps_in(last.op.then, target)), list(jumps_in(last.op.otherwise, target))
    jumps = then or otherwise
    if bool(then) is bool(otherwise) or len(jumps) != len(list(tail_jumps(last.op, target))):
        return None
    leave, stay = (last.op.otherwise, last.op.then) if then else (last.op.then, last.op.otherwise)
    by_var = {instr.var: instr for instr in body.instrs if instr.var is not None and not instr.var.name}
    test, stays, consumed = unwrapped(last.op.test, bool(then), by_var)
    more, more_stays = None, stays
    logic = test.op if test is not None else None
    if type(logic) is Logic:
        if logic.is_and is not stays:
            return None
        more = logic.rest
        test, stays, used = unwrapped(logic.first, stays, by_var)
        consumed |= used
    if test is None or type(test.op) is not CallBuiltin:
        return None
    prefix = [instr for instr in body.instrs[:-1] if instr not in consumed]
    return Shape(prefix, test.op, stays, more, more_stays, leave, stay, jumps)


def logic_shape(body: Block, op: Logic, target: Any) -> Shape | None:
    """The shape of `(and test (... (loop ...)))` or `(or test ...)`, which give what a comparison gives at the end."""
    jumps = list(jumps_in(op.rest, target))
    by_var = {instr.var: instr for instr in body.instrs if instr.var is not None and not instr.var.name}
    test, stays, consumed = unwrapped(op.first, op.is_and, by_var)
    if not jumps or len(jumps) != len(list(tail_jumps(op, target))):
        return None
    if test is None or type(test.op) is not CallBuiltin or not op.first.type.only(BOOL):
        return None
    leave = Block([], Result(Lit(not op.is_and, atom(FALSE if op.is_and else TRUE))))
    prefix = [instr for instr in body.instrs[:-1] if instr not in consumed]
    return Shape(prefix, test.op, stays, None, stays, leave, op.rest, jumps)


def unwrapped(value: Expr, stays: bool, by_var: dict[Var, Let]) -> tuple[Let | None, bool, set[Let]]:
    """The instruction of a test without `not` around it, for which outcome the loop goes on, and what this takes."""
    consumed: set[Let] = set()
    while type(value) is Ref and value.var in by_var:
        instr = by_var[value.var]
        consumed.add(instr)
        op = instr.op
        if type(op) is not CallBuiltin or op.name != "not" or len(op.args) != 1:
            return instr, stays, consumed
        value, stays = op.args[0], not stays
    return None, stays, consumed


def is_value(block: Block, instr: Let) -> bool:
    """Whether the value of a block is that of an instruction, which nothing else uses."""
    exit_, var = block.exit, instr.var
    return (
        type(exit_) is Result
        and type(exit_.value) is Ref
        and exit_.value.var is var
        and var is not None
        and not var.name
    )


def jumps_in(block: Block, target: Any) -> Iterator[Block]:
    """The blocks inside of a block that go back to a loop."""
    for inner in all_blocks(block, into_functions=False):
        if type(inner.exit) is Jump and inner.exit.target is target:
            yield inner


def tail_jumps(op: Op, target: Any) -> Iterator[Block]:
    """Those of an operation's blocks, in tail position, that go back to a loop."""
    inner = blocks(op) if type(op) in (If, Match) else [op.rest] if type(op) is Logic else []
    for block in inner:
        yield from jumps_at_end(block, target)


def jumps_at_end(block: Block, target: Any) -> Iterator[Block]:
    """The blocks with which a block ends and that go back to a loop, those of handlers on the way included."""
    for instr in block.instrs:
        if type(instr.op) is Try:
            yield from jumps_at_end(instr.op.handler, target)
    if type(block.exit) is Jump:
        if block.exit.target is target:
            yield block
    elif block.instrs and is_value(block, block.instrs[-1]):
        yield from tail_jumps(block.instrs[-1].op, target)


def always_jumps(block: Block, target: Any) -> bool:
    """Whether every way through a block goes back to a loop."""
    if type(block.exit) is Jump:
        return block.exit.target is target
    last = block.instrs[-1] if block.instrs else None
    if last is None or type(last.op) is not If or not is_value(block, last):
        return False
    return all(always_jumps(inner, target) for inner in blocks(last.op))


def is_constant(value: Expr, params: list[Var]) -> bool:
    """Whether an atom in the test of a loop has the same value in all rounds."""
    return type(value) is Lit or (type(value) is Ref and is_fixed(value.var) and value.var not in params)


def is_settled(value: Expr, body: Block, params: list[Var]) -> bool:
    """Whether an atom anywhere in the body of a loop has the same value in all rounds."""
    if not is_constant(value, params):
        return False
    return type(value) is not Ref or not any(
        instr.var is value.var or value.var in bound(instr.op) for instr in instructions(body, into_functions=False)
    )
