"""Caught errors become condition maps where they are used as such; thrown maps aren't made into maps.

Sound because the handler's variable is then used in `(:key e)`, which the runtime answers from the exception as from
the map, in `(:key (:value e))` of what was thrown, and in branches of the handler that run once and make the map, which
is the same there as at its start; and because a map written in `throw` has no other use. A variable that a closure
captures, or that is assigned, is left alone.
"""

from __future__ import annotations

from typing import Any

from sema_runtime.values.atoms import keyword
from sema_runtime.values.maps import PLAIN
from semac.anf.build import is_fixed
from semac.anf.nodes import (
    Block,
    CallRuntime,
    Expr,
    Let,
    Lit,
    MakeMap,
    Ref,
    Throw,
    Try,
)
from semac.anf.walk import LOOPS, all_blocks, blocks, exit_operands, map_exit, map_operands, operands, refs
from semac.ir.intrinsics import KEYWORD_GET
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.loops.functions import temporary
from semac.optimize.operators import replace
from semac.types.lattice import ANY

CONDITION_FIELD = "sema_runtime.conditions.caught:condition_field"
CONDITION_MAP = "sema_runtime.conditions.describe:condition_map"
THROWN_FIELD = "sema_runtime.conditions.caught:thrown_field"
VALUE, TYPE = keyword("value"), keyword("type")


def read_caught_fields(unit: Unit) -> None:
    """Rewrites the handlers of `try`, and `throw` of maps, in all blocks of a unit."""
    for form in unit.blocks:
        for block in list(all_blocks(form)):
            for instr in block.instrs:
                if type(instr.op) is Try:
                    caught(instr.op)
                elif type(instr.op) is Throw:
                    thrown(instr.op, block)


def caught(op: Try) -> None:
    if not is_fixed(op.var):
        return
    reads = [
        instr for inner in all_blocks(op.handler, into_functions=False) for instr in inner.instrs if gets(instr, op.var)
    ]
    uses = sum(ref.var is op.var for ref in refs(op.handler))
    wholes = whole_uses(op, reads)
    if not reads or len(reads) + len(wholes) != uses or any(block is op.handler for block, _ in wholes):
        return
    op.is_exception = True
    for block, place in wholes:
        make_condition(op.var, block, place, reads[0].op.span)
    for instr in reads:
        assert type(instr.op) is CallRuntime
        replace(instr, CallRuntime(CONDITION_FIELD, instr.op.args, span=instr.op.span))
    values = {  # those that have no name of the program, and are read at all
        instr.var
        for instr in reads
        if instr.op.args[1].value is VALUE and instr.var is not None and not instr.var.name  # type: ignore[attr-defined]
    }
    for inner in all_blocks(op.handler, into_functions=False):
        for instr in inner.instrs:
            for value in values:
                if gets(instr, value) and sum(ref.var is value for ref in refs(op.handler)) == 1:
                    assert type(instr.op) is CallRuntime
                    replace(instr, CallRuntime(THROWN_FIELD, [Ref(op.var), instr.op.args[1]], span=instr.op.span))


def whole_uses(op: Try, reads: list[Let]) -> list[tuple[Block, Let | None]]:
    """The places that use an error as a whole, each once: an instruction of a block, or None for its exit.

    Loops and functions aren't looked into: there it could be used again.
    """
    places: list[tuple[Block, Let | None]] = []
    stack = [op.handler]
    while stack:
        block = stack.pop()
        for instr in block.instrs:
            if instr not in reads and mentions(operands(instr.op), op.var):
                places.append((block, instr))
            if type(instr.op) not in LOOPS:
                stack += blocks(instr.op)
        if mentions(exit_operands(block.exit), op.var):
            places.append((block, None))
    return places


def mentions(values: list[Expr], var: Var) -> bool:
    return any(type(value) is Ref and value.var is var for value in values)


def make_condition(error: Var, block: Block, place: Let | None, span: Any) -> None:
    """Makes the condition map in front of the place that uses it."""
    made = CallRuntime(CONDITION_MAP, [Ref(error)], span=span, type=ANY)
    condition = temporary("condition", error.owner)
    condition.op, condition.type = made, ANY

    def changed(value: Expr) -> Expr:
        return Ref(condition, ANY) if type(value) is Ref and value.var is error else value

    at = len(block.instrs) if place is None else block.instrs.index(place)
    block.instrs.insert(at, Let(condition, made))
    if place is None:
        map_exit(block.exit, changed)
    else:
        map_operands(place.op, changed)


def gets(instr: Let, var: Var) -> bool:
    """Whether an instruction reads an entry with a known key of a variable."""
    op = instr.op
    if type(op) is not CallRuntime or op.path not in (KEYWORD_GET, CONDITION_FIELD):
        return False
    subject, key = op.args
    return type(subject) is Ref and subject.var is var and type(key) is Lit


def thrown(op: Throw, block: Block) -> None:
    """A map that is made in the block of its `throw` is seen nowhere but there."""
    value = op.value
    if type(value) is not Ref or type(value.var.op) is not MakeMap or value.var.name:
        return
    made = value.var.op
    if all(instr.var is not value.var for instr in block.instrs):
        return
    plain = all(type(key) is Lit and type(key.value) in PLAIN and key.value is not TYPE for key in made.items[0::2])
    if plain and sum(ref.var is value.var for ref in refs(block)) == 1:
        made.is_raw = op.is_map = True
