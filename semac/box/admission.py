"""The first check: a program names nothing that its profile lacks, and nothing that doesn't exist.

It looks at each unit as analysis has made it, macro bodies included, before anything of it runs. All unknown names are
reported at once.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from semac.anf import nodes
from semac.anf.walk import all_blocks, blocks, operands
from semac.box.profile import BUILTINS, OWN, RUNTIME, advice
from semac.ir.unit import Unit

FORBIDDEN = (nodes.PyImport, nodes.PyAttr, nodes.PyItem, nodes.PySetAttr, nodes.PyCall, nodes.Import, nodes.With)
MOST_NAMES = 8  # of a message


class Refused(Exception):
    """A program isn't admitted. reason: as in `Outcome`."""

    def __init__(self, reason: str, message: str, span: Any = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.span = span
        self.hint = hint


def admit(unit: Unit, granted: frozenset[str]) -> None:
    """Raises Refused for a unit that uses what it may not. granted: names of the session and its tools."""
    unknown: dict[str, Any] = {}
    for form in unit.blocks:
        for block in all_blocks(form):
            for instr in block.instrs:
                check(instr.op)
                find_unknown(instr.op, granted, unknown)
    if unknown:
        raise unbound(unknown, unit, granted)


def check(op: nodes.Op) -> None:
    """Refuses an operation that the profile lacks."""
    if isinstance(op, nodes.With):
        context = op.context.var.op if type(op.context) is nodes.Ref else None
        if type(context) is nodes.CallRuntime and context.path == "sema_runtime.values.parameters:parameterized":
            return
    if isinstance(op, FORBIDDEN):
        raise Refused("invalid_form", "Python and imports can't be reached from the box", op.span, advice("py/"))
    for name in [op.name] if isinstance(op, nodes.CallBuiltin | nodes.CallOpen) else []:
        check_builtin(name, op.span)
    for operand in operands(op):
        if type(operand) is nodes.BuiltinRef:
            check_builtin(operand.name, operand.span or op.span)
    if type(op) is nodes.CallRuntime and op.path.partition(":")[0] not in RUNTIME:
        raise Refused("invalid_form", "this form isn't available in the box", op.span, advice("py/"))
    for block in blocks(op):
        for operand in [block.exit.value] if type(block.exit) is nodes.Result else block.exit.args:  # type: ignore[union-attr]
            if type(operand) is nodes.BuiltinRef:
                check_builtin(operand.name, operand.span or op.span)


def check_builtin(name: str, span: Any) -> None:
    if name not in BUILTINS:
        raise Refused("unbound_var", f"{name} isn't available in the box", span, advice(name))


def find_unknown(op: nodes.Op, granted: frozenset[str], unknown: dict[str, Any]) -> None:
    """Collects the globals that an operation reads and nothing defines, with a place of each."""
    read = [op.var] if type(op) is nodes.Read else []
    read += [operand.var for operand in operands(op) if type(operand) is nodes.Ref]
    for var in read:
        if var.is_global and not var.defined and not var.assigned and var.name not in granted and var.name not in OWN:
            unknown.setdefault(var.name, op.span)


def unbound(unknown: dict[str, Any], unit: Unit, granted: frozenset[str]) -> Refused:
    name, span = next(iter(unknown.items()))
    if name.startswith("tool/"):
        tools = sorted(known for known in granted if known.startswith("tool/"))
        return Refused("unknown_tool", f"there is no {name}", span, f"the tools are {', '.join(tools) or 'none'}")
    if name.startswith("data/"):
        inputs = sorted(known for known in granted if known.startswith("data/"))
        return Refused("unbound_var", f"there is no {name}", span, f"the inputs are {', '.join(inputs) or 'none'}")
    names = list(unknown)
    shown = ", ".join(names[:MOST_NAMES]) + (", ..." if len(names) > MOST_NAMES else "")
    defined = {known for known, var in unit.globals.items() if var.defined}
    close = get_close_matches(name, {*BUILTINS, *granted, *defined, *OWN}, 1, 0.75)
    hint = f"did you mean {close[0]}?" if close else advice(name)
    return Refused("unbound_var", f"Unbound variable{'s' * (len(names) > 1)}: {shown}", span, hint)
