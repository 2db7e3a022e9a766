"""Calls of builtins on what another operation has just made, for nothing else, are one call.

`(merge state {:a 1 :b 2})` is `(assoc state :a 1 :b 2)`, which later passes can have change a map in place.
`(take 5 (cons entry log))` makes no cell, `(list->string (list c))` no list, `(apply append (map f xs))` no list of
lists. Assumes inferred types. Sound because the first operand of `merge` surely is a map, whose kind the result has
either way, because neither `cons` nor `take` of a literal number can fail, and neither can `append` of what surely are
lists or vectors, nor the text of what surely is a character.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from semac.anf.build import is_fixed
from semac.anf.nodes import (
    Block,
    BuiltinRef,
    CallBuiltin,
    CallRuntime,
    Comprehension,
    Expr,
    Let,
    Lit,
    MakeMap,
    Move,
    Op,
    Ref,
    Result,
    Stage,
)
from semac.anf.walk import all_blocks, exit_operands, operands
from semac.ir.intrinsics import TAKE_CONSED
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.keys import is_stored_key
from semac.optimize.loops.functions import temporary
from semac.optimize.operators import replace
from semac.types.lattice import CHAR, DICT, SEQUENCE, Type, join

POSITIONS = {"merge": 1, "take": 1, "apply": 1, "list->string": 0}  # calls → the place of the operand that is made
OUTER = tuple(POSITIONS)
MOST_ENTRIES = 6  # of a map that is written out; merging more is as fast
MOST_TAKEN = 1 << 30


def fuse_calls(unit: Unit) -> None:
    """Rewrites the calls in a unit; the text for people keeps them."""
    if unit.is_text:
        return
    everything = [block for form in unit.blocks for block in all_blocks(form)]
    outer = {
        part.var
        for block in everything
        for instr in block.instrs
        if type(instr.op) is CallBuiltin and instr.op.name in OUTER and (part := made_for(instr.op)) is not None
    }
    if not outer:
        return
    used: Counter[Var] = Counter()
    for block in everything:
        values = [value for instr in block.instrs for value in operands(instr.op)]
        used.update(value.var for value in (*values, *exit_operands(block.exit)) if type(value) is Ref)
    for block in everything:
        fuse(block, {var for var in outer if used[var] == 1})


def made_for(op: CallBuiltin) -> Ref | None:
    """The operand that may have been made for a call alone."""
    position = POSITIONS[op.name]
    part = op.args[position] if len(op.args) == position + 1 else None
    if type(part) is not Ref or part.var.name or not is_fixed(part.var) or part.var.is_global:
        return None
    return part if fits(op, part.var.op) else None


def fits(op: CallBuiltin, made: Any) -> bool:
    """Whether a call and what made its operand can be one. made: that operation."""
    first = op.args[0]
    if op.name == "apply":
        return type(first) is BuiltinRef and first.name == "append" and makes_rows(made)
    if op.name == "merge":
        return type(made) is MakeMap and first.type.only(DICT) and is_short(made)
    if type(made) is not CallBuiltin or op.as_value:
        return False
    if op.name == "list->string":
        return made.name == "list" and len(made.args) == 1 and made.args[0].type.only(CHAR)
    count = first.value if type(first) is Lit else None
    return made.name == "cons" and len(made.args) == 2 and type(count) is int and 0 < count < MOST_TAKEN


def makes_rows(made: Any) -> bool:
    """Whether an operation makes a list of lists and vectors, an item at a time."""
    if type(made) is not Comprehension or made.kind != "list" or made.bare:
        return False
    return type(made.body.exit) is Result and made.body.exit.value.type.only(SEQUENCE)


def is_short(made: MakeMap) -> bool:
    """Whether a map has few entries, all of them under keys that maps store as they are."""
    return not made.is_raw and 0 < len(made.items) <= 2 * MOST_ENTRIES and all(map(is_stored_key, made.items[::2]))


def fuse(block: Block, parts: set[Var]) -> None:
    """Rewrites a block. parts: variables that are used once, by a call that may take over what made their value."""
    made: dict[Var, Let] = {}
    dropped: set[int] = set()
    for instr in block.instrs:
        op = instr.op
        part = made_for(op) if type(op) is CallBuiltin and op.name in OUTER else None
        if part is not None and op.name == "apply" and part.var in made:  # type: ignore[attr-defined]
            join_rows(part.var, made[part.var].op, op.type)  # type: ignore[arg-type]
            replace(instr, Move(Ref(part.var, op.type), span=op.span, type=op.type))
        elif part is not None and part.var in made and all(map(stays, operands(made[part.var].op))):
            replace(instr, fused(op, made[part.var].op))  # type: ignore[arg-type]
            dropped.add(id(made[part.var]))
        if instr.var in parts:
            made[instr.var] = instr
    if dropped:
        block.instrs = [instr for instr in block.instrs if id(instr) not in dropped]


def join_rows(var: Var, made: Comprehension, type_: Type) -> None:
    """Has a comprehension make one list of the items of its lists."""
    assert type(made.body.exit) is Result
    row = made.body.exit.value
    item = temporary("item", var.owner)
    item.type = join(row.type.item, row.type.vitem)
    made.stages = [*made.stages, Stage("for", item, made.body)]
    made.body = Block([], Result(Ref(item, item.type), made.body.exit.span))
    made.type = var.type = type_


def fused(op: CallBuiltin, made: Op) -> Op:
    if type(made) is MakeMap:
        args = [op.args[0], *made.items]
        return CallBuiltin("assoc", args, tail=op.tail, fixed=True, span=op.span, type=op.type)
    if op.name == "list->string":
        return CallBuiltin("char->string", operands(made), fixed=True, span=op.span, type=op.type)
    return CallRuntime(TAKE_CONSED, [op.args[0], *operands(made)], span=op.span, type=op.type)


def stays(value: Expr) -> bool:
    """Whether an operand is the same where the second call stands."""
    return type(value) is not Ref or (is_fixed(value.var) and not value.var.is_global)
