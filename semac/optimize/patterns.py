"""Patterns of keywords on values that are surely maps become look-ups, one for each variable.

`(let (({:keys [at seen]} state)) ...)` then reads its map as `(:at state)` does: what other passes know of a single
field, as that a map in it has no other holder, holds for it, too.

Sound because a pattern of keywords takes any map, because a look-up can't fail for one and gives nil for what is
missing, as the pattern does, and because nothing runs between the look-ups. Text for people keeps its patterns.
"""

from __future__ import annotations

from semac.anf.build import is_fixed
from semac.anf.literals import literal
from semac.anf.nodes import CallRuntime, Destructure, Let, MapPattern, VarPattern
from semac.anf.walk import all_blocks, pattern_vars
from semac.ir.intrinsics import KEYWORD_GET
from semac.ir.unit import Unit
from semac.optimize.fields.split import again
from semac.optimize.rows.flow import names_fields


def look_up_keywords(unit: Unit) -> None:
    """Rewrites the patterns in all blocks of a unit, whose types are known."""
    if unit.is_text:
        return
    for form in unit.blocks:
        for block in all_blocks(form):
            block.instrs = [new for instr in block.instrs for new in looked_up(instr)]


def looked_up(instr: Let) -> list[Let]:
    """The look-ups in place of an instruction, or that alone."""
    return lookups(instr.op) if type(instr.op) is Destructure and has_lookups(instr.op) else [instr]


def has_lookups(op: Destructure) -> bool:
    """Whether a pattern only names variables for keywords, and its value is a map."""
    pattern = op.pattern
    is_plain = type(pattern) is MapPattern and pattern.fits and names_fields(pattern)
    return is_plain and all(map(is_fixed, pattern_vars(pattern)))


def lookups(op: Destructure) -> list[Let]:
    assert type(op.pattern) is MapPattern
    found = []
    for key, part, _ in op.pattern.entries:
        assert type(part) is VarPattern
        var = part.var
        var.op = CallRuntime(KEYWORD_GET, [again(op.value), literal(key)], span=op.span, type=var.type)
        found.append(Let(var, var.op))
    return found
