"""The first check: a program names nothing that its profile lacks, and nothing that doesn't exist.

It looks at each unit as analysis has made it, macro bodies included, before anything of it runs. All unknown names are
reported at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import Any

from sema_runtime.conditions.hints import nearest
from semac.anf import nodes
from semac.anf.walk import all_blocks, exit_operands, operands
from semac.box.profile import ABSENT_FORMS, BUILTINS, ENDINGS, OWN, RUNTIME, advice
from semac.box.suggestions import LONGEST, listed, suggestion
from semac.ir.identifiers import PREDEFINED, is_module_attribute
from semac.ir.nodes import Var
from semac.ir.unit import Unit

FORBIDDEN = (nodes.PyImport, nodes.PyAttr, nodes.PyItem, nodes.PySetAttr, nodes.PyCall, nodes.Import, nodes.With)


IN_MACROS = "macros run before the program: they know builtins and other macros, no tools, inputs or definitions"


class Refused(Exception):
    """A program isn't admitted. reason: as in `Outcome`."""

    def __init__(self, reason: str, message: str, span: Any = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.span = span
        self.hint = hint


def admit(unit: Unit, granted: frozenset[str], inputs: frozenset[str] = frozenset()) -> None:
    """Raises Refused for a unit that uses what it may not. granted: names of the session and its tools. inputs: names
    of all `data/NAME`, also of those that the program doesn't mention."""
    names = Names(granted)
    for form in unit.blocks:
        for block in all_blocks(form):
            for instr in block.instrs:
                check(instr.op)
                names.note(instr.op)
            names.note_operands(exit_operands(block.exit), None)
    names.sort()
    if names.absent or names.unknown:
        refused = refusal(names, inputs, unit)
        if not unit.is_input:  # the body of a macro
            refused.hint = refused.hint or IN_MACROS
        raise refused


def check(op: nodes.Op) -> None:
    """Refuses an operation that the profile lacks."""
    if isinstance(op, nodes.With):
        context = op.context.var.op if type(op.context) is nodes.Ref else None
        if type(context) is nodes.CallRuntime and context.path == "sema_runtime.values.parameters:parameterized":
            return
    if isinstance(op, FORBIDDEN):
        raise Refused("invalid_form", "Python and imports can't be reached from the box", op.span, advice("py/"))
    if type(op) is nodes.CallRuntime and op.path not in RUNTIME and op.path.partition(":")[0] not in RUNTIME:
        raise Refused("invalid_form", "this form isn't available in the box", op.span, advice("py/"))


def check_own(name: str, span: Any = None) -> None:
    """Raises Refused for a global, or a macro, that no program may define: later ones would rely on it."""
    if name in ENDINGS:
        raise Refused("invalid_form", f"{name} ends a program and can't be defined", span, "choose another name")
    if is_module_attribute(name) and name in PREDEFINED:
        raise Refused("invalid_form", f"{name} isn't available in the box", span, "choose another name")


class Names:
    """Names that a program uses and may not, each with a place. absent: builtins that the box lacks. unknown: globals
    that nothing defines."""

    def __init__(self, granted: frozenset[str]) -> None:
        self.granted = granted
        self.absent: dict[str, Any] = {}
        self.unknown: dict[str, Any] = {}

    def sort(self) -> None:
        """Brings names into the order of the text."""
        self.absent = dict(sorted(self.absent.items(), key=place))
        self.unknown = dict(sorted(self.unknown.items(), key=place))

    def note(self, op: nodes.Op) -> None:
        if isinstance(op, nodes.CallBuiltin | nodes.CallOpen):
            self.note_builtin(op.name, op.span)
        if type(op) is nodes.Read:
            self.note_global(op.var, op.span)
        if type(op) is nodes.Assign and op.var.is_global:
            check_own(op.var.name, op.span)
        self.note_operands(operands(op), op.span)

    def note_operands(self, read: Iterable[nodes.Expr], span: Any) -> None:
        for operand in read:
            if type(operand) is nodes.BuiltinRef:
                self.note_builtin(operand.name, operand.span or span)
            elif type(operand) is nodes.Ref:
                self.note_global(operand.var, span)

    def note_builtin(self, name: str, span: Any) -> None:
        if name not in BUILTINS:
            self.absent.setdefault(name, span)

    def note_global(self, var: Var, span: Any) -> None:
        if var.is_global and not var.defined and not var.assigned and var.name not in self.granted:
            if var.name not in OWN:
                self.unknown.setdefault(var.name, span)


def place(named: tuple[str, Any]) -> tuple[int, int]:
    span = named[1]
    return (span.line, span.col) if span is not None else (0, 0)


def refusal(names: Names, data: frozenset[str], unit: Unit) -> Refused:
    """One error for all names."""
    tools = {name: names.unknown[name] for name in starting("tool/", names.unknown)}
    inputs = {name: names.unknown[name] for name in starting("data/", names.unknown)}
    if tools:
        return granted_ones("unknown_tool", "the tools are", tools, starting("tool/", names.granted))
    if inputs:
        return granted_ones("unbound_var", "the inputs are", inputs, dict.fromkeys(data))
    forms = [name for name in names.unknown if name in ABSENT_FORMS]
    if forms:
        span = names.unknown[forms[0]]
        return Refused("invalid_form", f"{listed(forms)} {unavailable(forms)}", span, advice(forms[0]))
    parts = []
    if names.unknown:
        parts.append(f"Unbound variable{'s' * (len(names.unknown) > 1)}: {listed(names.unknown)}")
    if names.absent:
        parts.append(f"{listed(names.absent)} {unavailable(names.absent)}")
    first, span = next(iter((names.unknown or names.absent).items()))
    defined = {known for known, var in unit.globals.items() if var.defined}
    known = {*BUILTINS, *names.granted, *defined, *OWN}
    return Refused("unbound_var", "; ".join(parts), span, suggestion(first, known))


def unavailable(names: Sized) -> str:
    return f"{'isn' if len(names) == 1 else 'aren'}'t available in the box"


def starting(start: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(start)]


def granted_ones(reason: str, words: str, missing: dict[str, Any], granted: Iterable[str]) -> Refused:
    """The error for tools, or inputs, that nobody has granted: a place of each, and those that there are."""
    known = sorted(granted)
    name, span = next(iter(missing.items()))
    near = nearest(name, known) if len(name) <= LONGEST else None
    hint = f"{f'did you mean {near}? ' if near else ''}{words} {listed(known) if known else 'none'}"
    return Refused(reason, f"there is no {listed(missing)}", span, hint)
