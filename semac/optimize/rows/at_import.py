"""The same for what a module computes while it is imported.

Its forms, and private copies of functions that only these call, hand values to each other that nobody else sees, as in
a program. Globals that they fill are seen when the import has ended: until then code at import has a variable of its
own in place of each (`versions/apart.py`), and the global gets its value with lists and maps (`restoring.py`). Sound
for the reasons that hold there: no mixed code names such a global, and nobody reads it before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from semac.anf.nodes import Assign, Block, CallBuiltin, CallRuntime, MakeMap, Op, Read, Ref
from semac.anf.walk import all_blocks, code_of, instructions, operands
from semac.fingerprint import is_traced
from semac.ir.intrinsics import LEVEL
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit, left_out
from semac.optimize.infer.importing import mixed_code
from semac.optimize.rows.flow import Flows
from semac.optimize.rows.rewrite import Rewriter
from semac.optimize.rows.rules import RULES
from semac.optimize.versions.apart import hand_over, mentioned, replace, variable

MAKERS = frozenset(("list", "map/entries"))


def make_tuples_at_import(unit: Unit, private: Collection[Function]) -> set[Function]:
    """Rewrites the code of a module that runs at import. private: the copies. Returns the functions, copies and those
    inside of them, that aren't copies any more: they take or give tuples, or read variables of the import's own."""
    if unit.is_text or unit.is_input or is_traced() or "rows" in left_out(unit):
        return set()
    if not any(makes_rows(instr.op) for form in unit.blocks for instr in instructions(form)):
        return set()
    code = [each if type(each) is Block else code_of(each) for each in unit.at_import]
    apart = {var: variable(unit, var) for var in kept_apart(unit, code)} if "apart" not in left_out(unit) else {}
    if not apart and not private:
        return set()
    rename(code, apart)
    rewriter = Rewriter(unit, Flows(unit, RULES, private, list(apart.values())))
    rewriter.run()
    shown = {var: own for var, own in apart.items() if rewriter.holds_tuples(own)}
    back = {own: var for var, own in apart.items() if var not in shown}
    rename(code, back)
    for own in back:
        del unit.globals[own.name]
    if shown:
        places = {instr.op.var: instr.op.span for each in code for instr in each.instrs if type(instr.op) is Assign}
        hand_over(unit, shown, lambda var: rewriter.restoring.operation(var, places[var.var]))
    used = set(shown.values())
    return {function for function in rewriter.changed if function is not None} | {
        function for function in private if used & mentioned(code_of(function))
    }


def makes_rows(op: Op) -> bool:
    """Whether an operation makes what may become a tuple."""
    kind = type(op)
    if kind is CallBuiltin:
        return op.name in MAKERS  # type: ignore[attr-defined]
    return kind is MakeMap or (kind is CallRuntime and op.path == LEVEL)  # type: ignore[attr-defined]


def kept_apart(unit: Unit, code: list[Block]) -> list[Var]:
    """The globals that forms define and no mixed code names, if code at import reads one."""
    defined = {
        instr.op.var
        for each in code
        for instr in each.instrs
        if type(instr.op) is Assign and instr.op.define == "global" and can_be_apart(instr.op.var)
    }
    read = (var for each in code for block in all_blocks(each) for var in read_in(block))
    if not any(var in defined for var in read):
        return []
    for each in mixed_code(unit):
        defined -= mentioned(each if type(each) is Block else code_of(each))
    return sorted(defined, key=lambda var: var.name)


def read_in(block: Block) -> Iterator[Var]:
    for instr in block.instrs:
        yield from (value.var for value in operands(instr.op) if type(value) is Ref)
        if type(instr.op) is Read:
            yield instr.op.var


def can_be_apart(var: Var) -> bool:
    return var.is_global and var.defined == 1 and not var.assigned and not var.late and var.known_function is None


def rename(code: list[Block], names: dict[Var, Var]) -> None:
    if names:
        for each in code:
            for block in all_blocks(each, into_functions=False):
                replace(block, names)
