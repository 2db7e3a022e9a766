"""Loops that walk down a list, and do nothing else with it than take its first item, become loops over its items.

Assumes inferred types: what is walked is a list of the language. Sound because lists don't change, and `car` and
`cdr` of a list never fail. A loop that something may leave before the end goes from cell to cell (`walk`), so that a
list which has just been consed isn't laid out flat for a few of its items.
"""

from __future__ import annotations

from typing import Any

from sema_runtime.values.lists import List
from semac.anf.build import is_fixed
from semac.anf.nodes import AnyPattern, Block, CallBuiltin, Expr, For, Let, Lit, Move, Ref, VarPattern
from semac.anf.walk import all_blocks, exit_operands, is_call_on, operands, refs
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.loops.functions import temporary
from semac.optimize.loops.named import for_loop, rewrite_loops
from semac.optimize.loops.shape import Shape, always_jumps, shape_of
from semac.optimize.operators import replace
from semac.types.lattice import FLAT, LIST, NEVER, Type, list_of

EMPTINESS = {"null?": False, "empty?": False, "pair?": True}  # tests → whether a round follows where they hold
FIRST, REST = ("car", "first"), ("cdr", "rest")


def walk_lists(unit: Unit) -> None:
    """Rewrites the loops of a unit that walk down a list."""
    rewrite_loops(unit, walked)


def walked(body: Block, target: Any, params: list[Var], inits: list[Expr]) -> tuple[list[Let], For] | None:
    """What a loop over a list becomes."""
    shape = shape_of(body, target)
    if shape is None or shape.prefix or EMPTINESS.get(shape.test.name) is not shape.stays:
        return None
    tested = shape.test.args[0] if len(shape.test.args) == 1 else None
    if type(tested) is not Ref or tested.var not in params or not tested.type.only(LIST):
        return None
    walker = tested.var
    position = params.index(walker)
    if not is_fixed(walker) or not all(is_part(jump.exit.args[position], walker, REST) for jump in shape.jumps):  # type: ignore[union-attr]
        return None
    heads = heads_of(shape, walker, rests_of(shape, position))
    if heads is None:
        return None
    leaves = shape.more is not None or not always_jumps(shape.stay, target)
    values = dict(zip(params, inits, strict=True))
    empty = list_of(NEVER)
    loop = for_loop(shape, body, params, values, walker, Move(Lit(List(), empty), type=empty))
    if loop is None:
        return None
    loop.how = "walk" if leaves and not values[walker].type.only(FLAT) else "items"
    loop.sources = [values[walker]]
    loop.target = VarPattern(bound_to(heads, walker, tested.type.item, loop.body)) if heads else AnyPattern()
    return [], loop


def rests_of(shape: Shape, position: int) -> set[Var]:
    """What the jumps hand on as the rest of the list, where that has no other use."""
    rests = {jump.exit.args[position].var for jump in shape.jumps}  # type: ignore[union-attr]
    blocks = [shape.stay, *([shape.more] if shape.more is not None else [])]
    uses = sum(ref.var in rests for block in blocks for ref in refs(block))
    return rests if uses == len(shape.jumps) else set()


def bound_to(heads: list[tuple[Let, Block]], walker: Var, type_: Type, body: Block) -> Var:
    """The variable of an item: that of the program which is bound to it first, where there is one."""
    own = [instr.var for instr, _ in heads if instr.var is not None and instr.var.name and is_fixed(instr.var)]
    item = next((var for var in own if not var.captured), None)
    if item is None:
        item = temporary("item", walker.owner)
    item.type, item.op = type_, None
    taken = {instr.var for instr, _ in heads if instr.var is not None and not instr.var.name}
    first = {instr for instr, _ in heads if instr.var is item or instr.var in taken}
    for block in all_blocks(body, into_functions=False):  # a further test of the round stands in another block by now
        block.instrs = [instr for instr in block.instrs if instr not in first]
    for instr, _ in heads:
        if instr not in first:
            replace(instr, Move(Ref(item, type_), span=instr.op.span, type=type_))
    for ref in refs(body):
        if ref.var in taken:
            ref.var = item
    return item


def is_part(value: Expr, walker: Var, names: tuple[str, ...]) -> bool:
    return type(value) is Ref and is_call_on(value.var.op, names, walker)


def is_walker(value: Expr, walker: Var) -> bool:
    return type(value) is Ref and value.var is walker


def heads_of(shape: Shape, walker: Var, rests: set[Var]) -> list[tuple[Let, Block]] | None:
    """The instructions that take the first item; None where anything else is done with the list in a round."""
    heads: list[tuple[Let, Block]] = []
    if shape.more is not None and any(is_walker(value, walker) for value in exit_operands(shape.leave.exit)):
        return None  # what a further test leaves with is the rest of the list
    for outer in [shape.stay, *([shape.more] if shape.more is not None else [])]:
        for block in all_blocks(outer):
            values = exit_operands(block.exit)
            if any(is_walker(value, walker) for value in values):
                return None
            for instr in block.instrs:
                op = instr.op
                if not any(is_walker(value, walker) for value in operands(op)):
                    continue
                if instr.var in rests:
                    continue
                if type(op) is not CallBuiltin or len(op.args) != 1 or op.name not in FIRST:
                    return None
                heads.append((instr, block))
    return heads
