"""Loops over `(map/entries m)`, `(enumerate xs)`, `(zip xs ys)` and `(map list xs ys)` whose items are only taken apart
bind the parts.

Assumes that the call stands right before the loop and has no other use. Sound because each item is a list or vector of
as many items as there are parts, which nobody sees but what takes it apart, and that can't fail.
"""

from __future__ import annotations

from typing import NamedTuple

from semac.anf.build import is_fixed
from semac.anf.nodes import (
    AnyPattern,
    Block,
    CallBuiltin,
    Comprehension,
    Destructure,
    Expr,
    Iteration,
    Let,
    Lit,
    MakeVector,
    Move,
    Op,
    Pattern,
    Ref,
    Result,
    SequencePattern,
    VarPattern,
)
from semac.anf.walk import all_blocks, blocks, exit_operands, operands
from semac.ir.nodes import Var
from semac.optimize.loops.functions import temporary
from semac.optimize.operators import replace

HOW = {"map/entries": "pairs", "enumerate": "indexed", "zip": "zip"}  # builtins whose items are lists of parts
PARTS = {"pairs": ("key", "value"), "indexed": ("index", "item")}  # of the items of one operand
KEYED = ("sort-by", "group-by", "key-by")  # comprehensions that need the whole item
POSITIONS = {"car": 0, "first": 0, "cadr": 1, "second": 1, "caddr": 2, "third": 2}


class Rows(NamedTuple):
    """What makes a list whose items have as many parts as there are names. how: as in `Iteration`."""

    how: str
    sources: list[Expr]
    who: str
    names: tuple[str, ...]


def rows_of(made: Op) -> Rows | None:
    """What an operation makes such a list of; None for any other."""
    if type(made) is CallBuiltin and made.name in HOW:
        how = HOW[made.name]
        names = PARTS.get(how, ("item",) * len(made.args))
        is_whole = len(made.args) == (len(names) if made.name == "zip" else 1)
        return Rows(how, made.args, made.name, names) if is_whole and len(names) > 1 else None
    if type(made) is not Comprehension or (made.how, made.kind) != ("zip", "list") or made.stages:
        return None
    items = plain_parts(made.target)
    body, exit_ = made.body.instrs, made.body.exit
    row = body[0] if len(body) == 1 else None
    if row is None or type(exit_) is not Result or type(exit_.value) is not Ref or exit_.value.var is not row.var:
        return None
    is_row = type(row.op) is MakeVector or (type(row.op) is CallBuiltin and row.op.name in ("list", "vector"))
    parts = [value.var if type(value) is Ref else None for value in operands(row.op)]
    if not is_row or parts != [item.var for item in items if type(item) is VarPattern]:
        return None
    return Rows("zip", made.sources, made.who, ("item",) * len(parts))


def binds_parts(op: Iteration, made: Op) -> bool:
    """Has a loop bind the parts of its items where it can. made: what makes the list that it goes through."""
    if op.how != "items" or type(op.target) is not VarPattern or (type(op) is Comprehension and op.kind in KEYED):
        return False
    rows = rows_of(made)
    if rows is None:
        return False
    names = rows.names
    count = len(names)
    item = op.target.var
    uses = uses_of(op, item)
    if uses is None or not all(takes_part(instr, count) for instr, _ in uses):
        return False
    parts = [named(index, uses) or temporary(names[index], item.owner) for index in range(count)]
    for instr, block in uses:
        if type(instr.op) is Destructure:
            spread(instr, block, parts)
        elif instr.var in parts:  # the loop binds it now
            block.instrs.remove(instr)
            instr.var.op = None
        else:
            replace(instr, Move(Ref(parts[position_of(instr.op)]), span=instr.op.span))  # type: ignore[arg-type]
    op.target = SequencePattern([VarPattern(part) for part in parts], None, True)
    op.how, op.sources, op.who, op.place = rows.how, rows.sources, rows.who, made.span  # type: ignore[attr-defined]
    return True


def uses_of(op: Iteration, item: Var) -> list[tuple[Let, Block]] | None:
    """The instructions that use the item of a loop, with their blocks; None where it is the value of a block."""
    found = []
    for outer in blocks(op):
        for block in all_blocks(outer):
            if any(type(value) is Ref and value.var is item for value in exit_operands(block.exit)):
                return None
            for instr in block.instrs:
                if any(type(value) is Ref and value.var is item for value in operands(instr.op)):
                    found.append((instr, block))
    return found


def takes_part(instr: Let, count: int) -> bool:
    """Whether an instruction takes a part of its operand, or all parts."""
    op = instr.op
    if type(op) is Destructure:
        return not isinstance(op.value, Lit) and len(plain_parts(op.pattern)) == count
    return type(op) is CallBuiltin and len(op.args) == (2 if op.name == "nth" else 1) and 0 <= position_of(op) < count


def plain_parts(pattern: Pattern) -> list[Pattern]:
    """The parts of a pattern that only names them; none of any other."""
    if type(pattern) is not SequencePattern or pattern.rest is not None:
        return []
    return pattern.parts if all(type(part) in (VarPattern, AnyPattern) for part in pattern.parts) else []


def position_of(op: CallBuiltin) -> int:
    """Which part a call takes; -1 where that isn't known."""
    if op.name == "nth":
        index = op.args[1]
        return index.value if type(index) is Lit and type(index.value) is int else -1
    return POSITIONS.get(op.name, -1)


def named(index: int, uses: list[tuple[Let, Block]]) -> Var | None:
    """A variable of the program that is bound to a part, and to nothing else."""
    for instr, _ in uses:
        if type(instr.op) is Destructure:
            part = plain_parts(instr.op.pattern)[index]
            var = part.var if type(part) is VarPattern else None
        else:
            var = instr.var if position_of(instr.op) == index else None  # type: ignore[arg-type]
        if var is not None and var.name and is_fixed(var) and not var.captured:
            return var
    return None


def spread(instr: Let, block: Block, parts: list[Var]) -> None:
    """Moves where all parts are bound at once."""
    assert type(instr.op) is Destructure
    moves = []
    for part, source in zip(plain_parts(instr.op.pattern), parts, strict=True):
        if type(part) is VarPattern and part.var is not source:
            move = Move(Ref(source), span=instr.op.span)
            moves.append(Let(part.var, move))
            if is_fixed(part.var):
                part.var.op = move
    index = block.instrs.index(instr)
    block.instrs[index : index + 1] = moves
