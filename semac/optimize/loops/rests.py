"""The rest of a flat list, of which nothing but loops goes through all items, is a slice of its sequence.

A cell for each item would be linked first, and the items collected from these. A rest that is only asked whether it is
empty isn't made at all. Assumes inferred types. Sound because lists don't change; in proportion to what the loops cost
anyway.
"""

from __future__ import annotations

from semac.anf.build import is_fixed
from semac.anf.nodes import CallBuiltin, Comprehension, For, Let, Lit, Op, Python, Ref
from semac.anf.walk import all_blocks, exit_operands, operands
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.loops.functions import temporary
from semac.optimize.loops.shape import always_jumps
from semac.optimize.operators import replace
from semac.types.lattice import FLAT, NATURAL, POSITIVE, atom, make

RESTS = ("cdr", "rest")
EMPTINESS = ("null?", "empty?")
COPYING = ("append", "string/join", "reverse", "length", "sort", "list->string")
EARLY = ("any", "every", "find")  # kinds of comprehensions that may end before the last item
WHOLE = ("items", "reversed", "indexed", "zip")  # ways to go through a source to its end


def slice_rests(unit: Unit) -> None:
    """Rewrites calls of `cdr` and `rest` in a unit; the text for people keeps them."""
    if unit.is_text:
        return
    rests = {
        instr.var: instr
        for form in unit.blocks
        for block in all_blocks(form)
        for instr in block.instrs
        if type(instr.op) is CallBuiltin and instr.op.name in RESTS and is_flat_rest(instr.op, instr.var)
    }
    if not rests:
        return
    others: set[Var] = set()  # variables that have another use
    walked: set[Var] = set()
    asked: set[Var] = set()
    for form in unit.blocks:
        for block in all_blocks(form):
            others.update(value.var for value in exit_operands(block.exit) if type(value) is Ref)
            for instr in block.instrs:
                uses = {value.var for value in operands(instr.op) if type(value) is Ref}
                (walked if goes_through(instr.op) else asked if asks(instr.op) else others).update(uses)
    walked = (walked & rests.keys()) - others
    drop_rests(unit, {var: rests[var] for var in (asked & rests.keys()) - others - walked if is_fixed_list(rests[var])})
    for var in walked:
        instr = rests[var]
        type_ = make(FLAT, item=instr.op.type.item)
        replace(instr, Python("flat_rest", instr.op.args, span=instr.op.span, type=type_))  # type: ignore[attr-defined]
        var.type = type_
    for form in unit.blocks if walked else ():
        for block in all_blocks(form):
            for instr in block.instrs:
                for value in operands(instr.op):
                    if type(value) is Ref and value.var in walked:
                        value.type = value.var.type


def is_flat_rest(op: CallBuiltin, var: Var | None) -> bool:
    return var is not None and is_fixed(var) and not var.is_global and len(op.args) == 1 and op.args[0].type.only(FLAT)


def asks(op: Op) -> bool:
    """Whether an operation asks if a list is empty."""
    return type(op) is CallBuiltin and op.name in EMPTINESS and len(op.args) == 1


def is_fixed_list(rest: Let) -> bool:
    """Whether the list of a rest is in a variable that never changes."""
    value = rest.op.args[0]  # type: ignore[attr-defined]
    return type(value) is Ref and is_fixed(value.var) and not value.var.is_global


def drop_rests(unit: Unit, rests: dict[Var, Let]) -> None:
    """Asks for the lengths of lists in place of the emptiness of their rests, which nothing else sees."""
    dropped = set(map(id, rests.values()))
    for form in unit.blocks if rests else ():
        for block in all_blocks(form):
            kept: list[Let] = []
            for instr in block.instrs:
                if id(instr) in dropped:
                    continue
                op = instr.op
                if asks(op) and type(value := op.args[0]) is Ref and value.var in rests:  # type: ignore[attr-defined]
                    items = rests[value.var].op.args  # type: ignore[attr-defined]
                    length = temporary("size", instr.var.owner if instr.var is not None else None)
                    length.op = Python("flat_len", list(items), span=op.span, type=atom(NATURAL))
                    length.type = length.op.type
                    kept.append(Let(length, length.op))
                    replace(
                        instr,
                        Python("lt", [Ref(length, length.type), Lit(2, atom(POSITIVE))], span=op.span, type=op.type),
                    )
                kept.append(instr)
            block.instrs = kept


def goes_through(op: Op) -> bool:
    """Whether an operation goes through all items of its operands."""
    if type(op) is CallBuiltin:
        return op.name in COPYING  # which looks at them all
    if type(op) is Comprehension:
        return op.how in WHOLE and op.kind not in EARLY
    return type(op) is For and op.how in WHOLE and not op.inits and always_jumps(op.body, op)
