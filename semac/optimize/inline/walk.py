"""The pass that inlines: one walk over the calls of a unit."""

from __future__ import annotations

from semac.anf.nodes import CallBuiltin, CallRuntime, Closure, Let, Op, Python, Try, With
from semac.ir.unit import Unit, left_out
from semac.optimize.inline import access, bulk, lists, maps, numbers, predicates, text  # they enter their builtins
from semac.optimize.inline.table import INLINE, INLINE_RUNTIME, Place
from semac.optimize.operators import OFTEN, ONCE, inside, replace

ENTERED = (access, bulk, lists, maps, numbers, predicates, text)


def inline_builtins(unit: Unit) -> None:
    """Inlines the calls of builtins that the table has."""
    stack = [(form, ONCE, not unit.is_text) for form in unit.blocks]
    while stack:
        block, runs, ends = stack.pop()
        rewritten: list[Let] = []
        for instr in block.instrs:
            op = instr.op
            kind = type(op)
            if kind is CallBuiltin or kind is CallRuntime:
                inline(instr, op, runs == OFTEN, ends, unit, rewritten)
            elif kind is Python and op.kind == "get":  # of a bare dict
                maps.share_default(op)
            rewritten.append(instr)
            ends_inside = not unit.is_text if kind is Closure else ends and kind not in (Try, With)
            stack += ((inner, often, ends_inside) for inner, often in inside(op, runs))  # not what was inlined
        block.instrs = rewritten


def inline(instr: Let, op: Op, guards: bool, ends: bool, unit: Unit, rewritten: list[Let]) -> None:
    if type(op) is CallBuiltin:
        inliner = INLINE.get(op.name)
    else:
        inliner = INLINE_RUNTIME.get(op.path)  # type: ignore[attr-defined]
    if inliner is None:
        return
    owner = instr.var.owner if instr.var is not None else None
    place = Place(owner, guards, ends, instr.var is not None, op.span, unit.is_text, is_module(unit))
    new = inliner(op, place)
    if new is not None:
        new.span, new.type = op.span, op.type
        rewritten += place.before
        replace(instr, new)


def is_module(unit: Unit) -> bool:
    """Whether a unit is a module, whose functions Python may call with what it has."""
    return not (unit.is_program or unit.is_input or unit.is_text or "foreign" in left_out(unit))
