"""Globals that hold maps, kept apart while their module is imported.

`(define memo {})` with `(set! memo (assoc memo key value))` in a function: what runs at import has a variable of its
own for it, which nobody else reads, so `own/variables.py` can give it a bare dict. When the last form has run, the
global gets the map. Sound because until then nobody but code at import reads or sets the global: no mixed code names
it, and an import that fails leaves no module. Leaving out "apart" leaves that out.
"""

from __future__ import annotations

from collections.abc import Callable

from semac.anf.nodes import Assign, Block, CallBuiltin, Let, Lit, Op, Read, Ref, Result
from semac.anf.walk import all_blocks, code_of, exit_operands, map_exit, map_operands, operands
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.infer.importing import mixed_code

CHANGERS = frozenset(("assoc", "dissoc"))


def keep_apart(unit: Unit) -> bool:
    """Gives code at import variables of its own. Returns whether any has one."""
    code = [each if type(each) is Block else code_of(each) for each in unit.at_import]
    tables = {var for each in code for var in changed_in(each) if can_be_apart(var)}
    if not tables:
        return False
    for each in mixed_code(unit):
        tables -= mentioned(each if type(each) is Block else code_of(each))
    apart = {var: variable(unit, var) for var in sorted(tables, key=lambda var: var.name)}
    for each in code:
        for block in all_blocks(each, into_functions=False):
            replace(block, apart)
    hand_over(unit, apart)
    return bool(apart)


def can_be_apart(var: Var) -> bool:
    return var.is_global and var.defined == 1 and var.assigned > 0 and not var.late


def changed_in(code: Block) -> set[Var]:
    """The variables that code sets to what it makes of their map."""
    found = set()
    for block in all_blocks(code, into_functions=False):
        changed = {instr.var for instr in block.instrs if type(instr.op) is CallBuiltin and instr.op.name in CHANGERS}
        for instr in block.instrs:
            op = instr.op
            if type(op) is Assign and type(op.value) is Ref and op.value.var in changed:
                found.add(op.var)
    return found


def mentioned(code: Block) -> set[Var]:
    found = set()
    for block in all_blocks(code):
        for instr in block.instrs:
            if type(instr.op) in (Read, Assign):
                found.add(instr.op.var)  # type: ignore[attr-defined]
            found.update(value.var for value in operands(instr.op) if type(value) is Ref)
        found.update(value.var for value in exit_operands(block.exit) if type(value) is Ref)
    return found


def variable(unit: Unit, original: Var) -> Var:
    name = f"-import-{original.name}"
    while name in unit.globals:
        name = f"-{name}"
    var = Var(name, None, is_global=True)
    var.defined, var.assigned, var.is_private = original.defined, original.assigned, True
    unit.globals[name] = var
    return var


def replace(block: Block, apart: dict[Var, Var]) -> None:
    for instr in block.instrs:
        op = instr.op
        if type(op) in (Read, Assign) and op.var in apart:  # type: ignore[attr-defined]
            op.var = apart[op.var]  # type: ignore[attr-defined]
        map_operands(op, lambda value: Ref(apart[value.var]) if type(value) is Ref and value.var in apart else value)
    map_exit(block.exit, lambda value: Ref(apart[value.var]) if type(value) is Ref and value.var in apart else value)


def hand_over(unit: Unit, apart: dict[Var, Var], shown: Callable[[Ref], Op | None] | None = None) -> None:
    """The globals get what their variables hold, after the last form. shown: what others see in place of a value."""
    last = unit.epilogue
    if last is None:
        unit.epilogue = last = Block([], Result(Lit(None)))
        unit.blocks.append(last)
        unit.at_import.add(last)
    for original, var in apart.items():
        held = Var("", unit.main)
        held.hint, held.defined = original.name, 1
        held.op = Read(var)
        last.instrs.append(Let(held, held.op))
        copied = shown(Ref(var)) if shown is not None else None
        if copied is not None:
            copied.args[0] = Ref(held)  # type: ignore[attr-defined]
            held = Var("", unit.main)
            held.hint, held.defined, held.op = original.name, 1, copied
            last.instrs.append(Let(held, copied))
        last.instrs.append(Let(None, Assign(original, Ref(held), "global")))


def is_handed_over(op: Assign, var: Var) -> bool:
    """Whether an assignment of the epilogue gives a global what the variable holds that stood for it."""
    return var.is_private and op.var.is_global and not op.var.is_private
