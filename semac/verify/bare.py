"""V10: bare dicts and stacks meet those operations alone that want them, and no variable holds both forms.

Computed from what stands in the unit, without the analysis of `optimize/own`: where bare values are made, to which
variables and functions they flow, and which operations take them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from semac.anf import nodes as anf
from semac.anf.nodes import Block, Expr, Jump, Op, Ref, Result
from semac.anf.walk import all_blocks, blocks, operands, params_of
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.types.lattice import DICT, FN, LIST
from semac.verify.faults import Place

BARE, GENERAL = "a bare value", "a value of the runtime"
BRANCHES = (anf.If, anf.Logic, anf.Match, anf.Try, anf.With, anf.Loop, anf.For)
Forms = frozenset[str]
NOTHING: Forms = frozenset()
JUST_GENERAL: Forms = frozenset((GENERAL,))


class Bare(NamedTuple):
    """A representation. tags: of the type; readers: kinds of `Python` that take bare values; changes, wrappers: the
    operations, by kind or path, that change a bare value or make its general form."""

    name: str
    tags: int
    readers: frozenset[str]
    changes: frozenset[str]
    wrappers: frozenset[str]

    def is_made(self, op: Op) -> bool:
        if self.tags == DICT:
            return type(op) is anf.MakeMap and op.is_raw
        return type(op) is anf.Python and op.kind == "new_stack"


DICTS = Bare(
    "dict", DICT, frozenset(("size", "in", "get", "is_none", "not")), frozenset(("SetItem",)),
    frozenset(("sema_runtime.values.maps:Map", "sema_runtime.values.maps:HashMap")),
)  # fmt: skip
STACKS = Bare(
    "stack", LIST, frozenset(("blank", "is_filled", "top", "below_top", "size", "is_none", "not")),
    frozenset(("append", "drop_top")), frozenset(("stack_list", "stack_reversed")),
)  # fmt: skip


def check_bare(unit: Unit, after: str) -> None:
    """Raises Fault where a bare value meets an operation that wants the general form, or the other way round."""
    code = [Code(form, None) for form in unit.blocks]
    for part in code:
        code += part.functions()
    for bare in (DICTS, STACKS):
        if any(bare.is_made(op) or name_of(op) in bare.changes for part in code for _, op in part.ops()):
            Flow(code, bare, Place(after)).run()


def name_of(op: Op) -> str:
    """What representations call an operation: the kind or path that tells it from others."""
    if type(op) is anf.Python:
        return op.kind
    return op.path if type(op) is anf.CallRuntime else type(op).__name__


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


class Flow:
    def __init__(self, code: list[Code], bare: Bare, place: Place) -> None:
        self.code = code
        self.bare = bare
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
                raise self.place.fault(
                    "V10", f"{holder.name or 'a value'} is both a bare {self.bare.name} and a general one"
                )
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
        return known or (JUST_GENERAL if type(value) is not Ref and value.type.tags & self.bare.tags else NOTHING)

    def made(self, op: Op) -> Forms:
        kind = type(op)
        if self.bare.is_made(op):
            return frozenset((BARE,))
        if kind is anf.Move:
            return self.form(operands(op)[0])
        if isinstance(op, BRANCHES):
            forms = self.form(op.first) if type(op) is anf.Logic else NOTHING
            return forms.union(*(self.result(inner) for inner in blocks(op)))
        callees = known_callees(op)
        if callees is not None:
            return NOTHING.union(*(self.forms.get(callee, NOTHING) for callee in callees))
        return JUST_GENERAL if op.type.tags & self.bare.tags else NOTHING

    def result(self, block: Block) -> Forms:
        return self.form(block.exit.value) if type(block.exit) is Result else NOTHING

    # Which operations take them

    def check(self, part: Code) -> None:
        for _, op in part.ops():
            self.place.op = op
            if type(op) is anf.Comprehension and any(BARE in self.result(inner) for inner in blocks(op)):
                raise self.place.fault("V10", f"a bare {self.bare.name} is an item")
            self.check_operands(op, takers(op, self.bare))
        if part.function is None:
            return
        holders: list[Any] = [part.function, *part.function.params]
        for holder in holders:
            forms = self.forms.get(holder, NOTHING)
            if BARE in forms and part.function.is_open:
                raise self.place.fault("V10", f"{holder.name} is a bare value, and anybody calls the function")

    def check_operands(self, op: Op, takes: frozenset[int]) -> None:
        name = name_of(op)
        changed = 1 if type(op) is anf.SetItem else 0
        for index, value in enumerate(operands(op)):
            forms = self.form(value)
            if BARE in forms and index not in takes:
                raise self.place.fault("V10", f"operand {index + 1} is a bare {self.bare.name}")
            if GENERAL in forms and index == changed and name in self.bare.changes and value.type.only(self.bare.tags):
                raise self.place.fault("V10", f"a {self.bare.name} that others may see is changed")
            if GENERAL in forms and index == 0 and name in self.bare.wrappers:
                raise self.place.fault("V10", "the general form is made of a general value")


def takers(op: Op, bare: Bare) -> frozenset[int]:
    """The positions of the operands that may be bare."""
    kind = type(op)
    if kind is anf.Loop or kind is anf.For:
        return frozenset(range(len(op.inits)))  # type: ignore[attr-defined]
    name = name_of(op)
    if kind in (anf.If, anf.Logic, anf.Move) or name in bare.wrappers:
        return frozenset((0,))
    if name in bare.changes:
        return frozenset((1,)) if kind is anf.SetItem else frozenset((0,))  # of an entry the value comes first
    if kind is anf.Throw:
        return frozenset((0,)) if op.is_map and bare is DICTS else frozenset()  # type: ignore[attr-defined]
    if kind is anf.Python:
        return frozenset(range(len(op.args))) if op.kind in bare.readers else frozenset()  # type: ignore[attr-defined]
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
