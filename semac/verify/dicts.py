"""V10: bare dicts of maps meet those operations alone that want them, and no variable holds both forms.

Computed from what stands in the unit, without the analysis of `optimize/own`: where dicts are made, to which variables
and functions they flow, and which operations take them.
"""

from __future__ import annotations

from typing import Any

from semac.anf import nodes as anf
from semac.anf.nodes import Block, Expr, Jump, Op, Ref, Result
from semac.anf.walk import all_blocks, blocks, operands, params_of
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.types.lattice import DICT, FN
from semac.verify.faults import Place

BARE, MAP = "a bare dict", "a map"
WRAPPERS = frozenset(("sema_runtime.values.maps:Map", "sema_runtime.values.maps:HashMap"))
READERS = frozenset(("size", "in", "get", "is_none", "not"))  # kinds of `Python` that take a dict as it is
BRANCHES = (anf.If, anf.Logic, anf.Match, anf.Try, anf.With, anf.Loop, anf.For)
Forms = frozenset[str]
NOTHING: Forms = frozenset()
JUST_MAP: Forms = frozenset((MAP,))


def check_dicts(unit: Unit, after: str) -> None:
    """Raises Fault where a bare dict meets an operation that wants a map, or the other way round."""
    code = [Code(form, None) for form in unit.blocks]
    for part in code:
        code += part.functions()
    if any(type(op) is anf.SetItem or (type(op) is anf.MakeMap and op.is_raw) for part in code for _, op in part.ops()):
        Dicts(code, Place(after)).run()


class Code:
    """The blocks of a form or function, those of functions made there apart."""

    def __init__(self, block: Block, function: Function | None) -> None:
        self.block = block
        self.function = function
        self.inner = list(all_blocks(block, into_functions=False))

    def ops(self) -> list[tuple[Var | None, Op]]:
        return [(instr.var, instr.op) for block in self.inner for instr in block.instrs]

    def functions(self) -> list[Code]:
        return [Code(op.function.code, op.function) for _, op in self.ops() if type(op) is anf.Closure]


class Dicts:
    def __init__(self, code: list[Code], place: Place) -> None:
        self.code = code
        self.place = place
        self.forms: dict[Any, Forms] = {}  # of variables, and of functions: what they return
        self.has_changed = False

    def run(self) -> None:
        self.has_changed = True
        while self.has_changed:
            self.has_changed = False
            for part in self.code:
                self.flow(part)
        for holder, forms in self.forms.items():
            if len(forms) > 1:
                raise self.place.fault("V10", f"{holder.name or 'a value'} is both a bare dict and a map")
        for part in self.code:
            self.place.function = part.function
            self.check(part)

    # Where forms flow to

    def flow(self, part: Code) -> None:
        for var, op in part.ops():
            for target, value in handed(op):
                self.add(target, self.form(value))
            if var is not None:
                self.add(var, self.made(op))
        for block in part.inner:
            if type(block.exit) is Jump:
                for param, arg in zip(params_of(block.exit.target), block.exit.args, strict=False):
                    self.add(param, self.form(arg))
        if part.function is not None:
            self.add(part.function, self.result(part.block))

    def add(self, holder: Any, forms: Forms) -> None:
        old = self.forms.get(holder, NOTHING)
        if not forms <= old:
            self.forms[holder] = old | forms
            self.has_changed = True

    def form(self, value: Expr) -> Forms:
        """The forms of the maps that an operand can be: none where it surely is no map."""
        known = self.forms.get(value.var, NOTHING) if type(value) is Ref else NOTHING
        return known or (JUST_MAP if type(value) is not Ref and value.type.tags & DICT else NOTHING)

    def made(self, op: Op) -> Forms:
        kind = type(op)
        if kind is anf.MakeMap:
            return frozenset((BARE,)) if op.is_raw else JUST_MAP  # type: ignore[attr-defined]
        if kind is anf.Move:
            return self.form(operands(op)[0])
        if isinstance(op, BRANCHES):
            forms = self.form(op.first) if type(op) is anf.Logic else NOTHING
            return forms.union(*(self.result(inner) for inner in blocks(op)))
        callees = known_callees(op)
        if callees is not None:
            return NOTHING.union(*(self.forms.get(callee, NOTHING) for callee in callees))
        return JUST_MAP if op.type.tags & DICT else NOTHING

    def result(self, block: Block) -> Forms:
        return self.form(block.exit.value) if type(block.exit) is Result else NOTHING

    # Which operations take them

    def check(self, part: Code) -> None:
        for _, op in part.ops():
            self.place.op = op
            if type(op) is anf.Comprehension and any(BARE in self.result(inner) for inner in blocks(op)):
                raise self.place.fault("V10", "a bare dict is an item")
            takes = takers(op)
            for index, value in enumerate(operands(op)):
                forms = self.form(value)
                if BARE in forms and index not in takes:
                    raise self.place.fault("V10", f"operand {index + 1} is a bare dict")
                if MAP in forms and index == 1 and type(op) is anf.SetItem and value.type.only(DICT):
                    raise self.place.fault("V10", "an entry is set in a map that others may see")
                if MAP in forms and type(op) is anf.CallRuntime and op.path in WRAPPERS:
                    raise self.place.fault("V10", "a map is put around a map")
        if part.function is None:
            return
        holders: list[Any] = [part.function, *part.function.params]
        for holder in holders:
            forms = self.forms.get(holder, NOTHING)
            if BARE in forms and part.function.is_open:
                raise self.place.fault("V10", f"{holder.name} is a bare dict, and anybody calls the function")


def takers(op: Op) -> frozenset[int]:
    """The positions of the operands that may be bare dicts."""
    kind = type(op)
    if kind is anf.Loop or kind is anf.For:
        return frozenset(range(len(op.inits)))  # type: ignore[attr-defined]
    if kind in (anf.If, anf.Logic, anf.Move) or (kind is anf.CallRuntime and op.path in WRAPPERS):  # type: ignore[attr-defined]
        return frozenset((0,))
    if kind is anf.SetItem:
        return frozenset((1,))  # the value comes first
    if kind is anf.Throw:
        return frozenset((0,)) if op.is_map else frozenset()  # type: ignore[attr-defined]
    if kind is anf.Python:
        return frozenset(range(len(op.args))) if op.kind in READERS else frozenset()  # type: ignore[attr-defined]
    if known_callees(op) is not None:
        return frozenset(range(1, 1 + len(op.args)))  # type: ignore[attr-defined]
    return frozenset()


def handed(op: Op) -> list[tuple[Any, Expr]]:
    """Pairs of a variable and the operand that becomes its value."""
    if isinstance(op, anf.Loop | anf.For):
        return list(zip(op.params, op.inits, strict=False))
    callees = known_callees(op)
    args: list[Expr] = op.args if callees is not None else []  # type: ignore[attr-defined]
    return [pair for callee in callees or () for pair in zip(callee.params, args, strict=False)]


def known_callees(op: Op) -> list[Function] | None:
    """The functions of the unit that a call reaches; None where others may be called."""
    if type(op) is not anf.Call:
        return None
    head = op.head.type
    if not head.only(FN) or not head.fns or not all(type(member) is Function for member in head.fns):
        return None
    return list(head.fns)
