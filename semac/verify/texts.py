"""V11: characters that are held as texts meet operations of Python alone, and what hands them on as they are."""

from __future__ import annotations

from semac.anf import nodes as anf
from semac.anf.nodes import Expr, Jump, Ref
from semac.anf.walk import all_blocks, exit_operands, operands
from semac.ir.unit import Unit
from semac.verify.faults import Place

FORM = "text"
HANDED_ON = (anf.Python, anf.Move, anf.Guarded)


def check_texts(unit: Unit, after: str) -> None:
    """Raises Fault where an operation gets a text in place of a character."""
    place = Place(after)
    for form in unit.blocks:
        for block in all_blocks(form):
            for instr in block.instrs:
                place.op = instr.op
                values = operands(instr.op)[:2] if type(instr.op) is anf.SetItem else operands(instr.op)  # no keys
                if not isinstance(instr.op, HANDED_ON) and any(map(is_text, values)):
                    raise place.fault("V11", "an operand is the text of a character")
            if type(block.exit) is Jump and any(map(is_text, exit_operands(block.exit))):
                raise place.fault("V11", "a variable of a loop gets the text of a character")


def is_text(value: Expr) -> bool:
    return type(value) is Ref and value.var.type is not None and value.var.type.form == FORM and bool(value.type.tags)
