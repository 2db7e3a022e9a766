"""V10: bare values (dicts of maps, stacks of lists) meet those operations alone that want them, and no variable holds
both forms.

Computed from what stands in the unit, without the analysis of `optimize/own`: where bare values are made, to which
variables and functions they flow, and which operations take them.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from semac.anf import nodes as anf
from semac.anf.nodes import Block, Expr, Jump, Op, Ref, Result
from semac.anf.step_nodes import Consume, Facts
from semac.anf.walk import all_blocks, blocks, operands, params_of
from semac.ir.intrinsics import CHAR_KEYED, FILLS, PUSH_ALL
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.membership import HOLDS
from semac.types.lattice import DICT, FN, LIST, Type
from semac.verify.faults import Place

BARE, GENERAL = "bare", "general"
MADE_ANEW = FILLS | {CHAR_KEYED}
WRAPPERS = frozenset(("sema_runtime.values.maps:Map", "sema_runtime.values.maps:HashMap"))
BRANCHES = (anf.If, anf.Logic, anf.Match, anf.Try, anf.With, anf.Loop, anf.For)
Forms = frozenset[str]
NOTHING: Forms = frozenset()
JUST_GENERAL: Forms = frozenset((GENERAL,))
FIRST, SECOND = frozenset((0,)), frozenset((1,))


QUEUE_READERS = ("queue_head", "queue_first", "queue_list")
QUEUE_CHANGERS = ("drop_head", "take_first", "take_head")


class BareDicts:
    """Dicts that maps are while nobody else sees them."""

    tags = DICT
    bare, general = "a bare dict", "a map"
    # kinds of `Python` that take one as it is, and the position at which they do
    readers = MappingProxyType({"size": 0, "in": 1, "get": 0, "is_none": 0, "not": 0, "drop_key": 0})

    def is_made(self, op: Op) -> bool:
        return (type(op) is anf.MakeMap and op.is_raw) or (type(op) is anf.CallRuntime and op.path in MADE_ANEW)

    def is_used(self, op: Op) -> bool:
        return type(op) is anf.SetItem or self.is_made(op)

    def takes(self, op: Op) -> frozenset[int]:
        """The positions of the operands that may be bare, in operations that don't just hand them on."""
        kind = type(op)
        if kind is anf.CallRuntime and (op.path in WRAPPERS or op.path in MADE_ANEW):  # type: ignore[attr-defined]
            return FIRST
        if kind is anf.SetItem:
            return frozenset((1,))  # the value comes first
        if kind is anf.Throw:
            return FIRST if op.is_map else frozenset()  # type: ignore[attr-defined]
        if kind is anf.Python and op.kind in self.readers:  # type: ignore[attr-defined]
            return frozenset((self.readers[op.kind],))  # type: ignore[attr-defined]
        return frozenset()

    def wants(self, op: Op) -> int | None:
        """The position of an operand that must be bare."""
        if type(op) is anf.SetItem:
            return 1
        if type(op) is anf.Python and op.kind == "drop_key":
            return 0
        return 0 if type(op) is anf.CallRuntime and (op.path in WRAPPERS or op.path in MADE_ANEW) else None


class Stacks:
    """Python lists and queues that lists are while they only grow and shrink at their ends."""

    tags = LIST
    bare, general = "a stack", "a list"
    reading = frozenset(("top", "last", "below_top", "below_two", "stack_list", "stack_reversed", *QUEUE_READERS))
    changers = reading | {"append", "extend", "drop_top", "drop_last", "take_top", "take_last", *QUEUE_CHANGERS}
    readers = changers | {"is_drained", "is_filled", "size", "is_none", "not", "join", "turned"}

    def is_made(self, op: Op) -> bool:
        return type(op) is anf.Python and op.kind in ("new_stack", "new_queue", "queue_of")

    is_used = is_made

    def takes(self, op: Op) -> frozenset[int]:
        """The positions of the operands that may be bare, in operations that don't just hand them on."""
        if (type(op) is anf.Python and op.kind == "in") or (type(op) is anf.CallRuntime and op.path == HOLDS):
            return SECOND
        if type(op) is anf.CallRuntime and op.path == PUSH_ALL:
            return FIRST
        if type(op) is anf.Python and op.kind == "extend":
            return FIRST | SECOND
        return FIRST if type(op) is anf.Python and op.kind in self.readers else frozenset()

    def wants(self, op: Op) -> int | None:
        """The position of an operand that must be bare."""
        if type(op) is anf.CallRuntime and op.path == PUSH_ALL:
            return 0
        return 0 if type(op) is anf.Python and op.kind in self.changers else None


KINDS = (BareDicts(), Stacks())


def check_bare(unit: Unit, after: str) -> None:
    """Raises Fault where a bare value meets an operation that wants the general form, or the other way round."""
    code = [Code(form, None) for form in unit.blocks]
    for part in code:
        code += part.functions()
    for kind in KINDS:
        if any(kind.is_used(op) for part in code for _, op in part.ops()):
            Checker(code, kind, Place(after)).run()


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


class Checker:
    def __init__(self, code: list[Code], kind: BareDicts | Stacks, place: Place) -> None:
        self.code = code
        self.kind = kind
        self.place = place
        self.forms: dict[Any, Forms] = {}  # of variables, and of functions: what they return
        self.parts: dict[Any, set[int]] = {}  # of vectors, and of functions that return them: the positions in `forms`
        self.has_changed = False
        self.local: set[Any] = set()  # variables whose values come from instructions alone

    def run(self) -> None:
        for var, op in (pair for part in self.code for pair in part.ops()):
            self.local.add(op.var if type(op) is anf.Assign and not op.var.is_global else var)
        self.has_changed = True
        while self.has_changed:
            self.has_changed = False
            for part in self.code:
                self.flow(part)
        for holder, forms in self.forms.items():
            if len(forms) > 1:
                named = holder[0].name if type(holder) is tuple else holder.name
                named = named or "a value"
                raise self.place.fault("V10", f"{named} is both {self.kind.bare} and {self.kind.general}")
        for part in self.code:
            self.place.function = part.function
            self.check(part)

    # Where forms flow to

    def flow(self, part: Code) -> None:
        for var, op in part.ops():
            for target, value in handed(op):
                self.add(target, self.form(value))
            if type(op) is anf.For and not op.inits:  # its variables begin with the first item
                for param in op.params:
                    self.add(param, JUST_GENERAL if param.type.tags & self.kind.tags else NOTHING)
            if type(op) is anf.Assign:
                self.add(op.var, self.form(op.value))
            if var is not None:
                self.add(var, self.made(op))
                self.parts_of(var, op)
            if type(op) is anf.Destructure and type(op.value) is Ref:
                for index, target in pattern_parts(op.pattern):
                    self.add(target, self.forms.get((op.value.var, index), NOTHING))
        for block in part.inner:
            if type(block.exit) is Jump:
                for param, arg in zip(params_of(block.exit.target), block.exit.args, strict=False):
                    self.add(param, self.form(arg))
        if part.function is not None:
            self.add(part.function, self.result(part.block))
            self.parts_from(part.function, part.block.exit)

    def parts_of(self, var: Var, op: Op) -> None:
        """What is at the positions of a vector that an operation gives."""
        if type(op) is anf.MakeVector:
            for index, value in enumerate(op.items):
                self.add_part(var, index, self.form(value))
        elif type(op) is anf.Move:
            self.same_parts(var, op.value)
        elif isinstance(op, BRANCHES):
            for inner in blocks(op):
                self.parts_from(var, inner.exit)
        for callee in known_callees(op) or ():
            self.same_parts(var, callee)

    def parts_from(self, holder: Any, exit_: Any) -> None:
        if type(exit_) is Result:
            self.same_parts(holder, exit_.value)

    def same_parts(self, holder: Any, source: Any) -> None:
        source = source.var if type(source) is Ref else source
        for index in tuple(self.parts.get(source, ())):
            self.add_part(holder, index, self.forms[source, index])

    def add_part(self, holder: Any, index: int, forms: Forms) -> None:
        if forms:
            self.parts.setdefault(holder, set()).add(index)
            self.add((holder, index), forms)

    def has_bare(self, value: Expr) -> bool:
        """Whether an operand is a vector with a bare value in it."""
        holder = value.var if type(value) is Ref else None
        return any(BARE in self.forms[holder, index] for index in self.parts.get(holder, ()))

    def add(self, holder: Any, forms: Forms) -> None:
        old = self.forms.get(holder, NOTHING)
        if not forms <= old:
            self.forms[holder] = old | forms
            self.has_changed = True

    def form(self, value: Expr) -> Forms:
        """The forms that an operand can have: none where it surely is no value of the kind."""
        if not value.type.tags:
            return NOTHING  # in code that never runs
        known = self.forms.get(value.var, NOTHING) if type(value) is Ref else NOTHING
        return known or (JUST_GENERAL if type(value) is not Ref and value.type.tags & self.kind.tags else NOTHING)

    def made(self, op: Op) -> Forms:
        kind = type(op)
        if self.kind.is_made(op):
            return frozenset((BARE,))
        if kind is anf.Move:
            return self.form(operands(op)[0])
        if kind is anf.Read and (op.var in self.forms or op.var in self.local):  # type: ignore[attr-defined]
            return self.forms.get(op.var, NOTHING)  # type: ignore[attr-defined]
        if isinstance(op, BRANCHES):
            forms = self.form(op.first) if type(op) is anf.Logic else NOTHING
            return forms.union(*(self.result(inner) for inner in blocks(op)))
        callees = known_callees(op)
        if callees is not None:
            return NOTHING.union(*(self.forms.get(callee, NOTHING) for callee in callees))
        return JUST_GENERAL if op.type.tags & self.kind.tags else NOTHING

    def result(self, block: Block) -> Forms:
        return self.form(block.exit.value) if type(block.exit) is Result else NOTHING

    # Which operations take them

    def check(self, part: Code) -> None:
        for _, op in part.ops():
            self.place.op = op
            if type(op) is anf.Comprehension and any(BARE in self.result(inner) for inner in blocks(op)):
                raise self.place.fault("V10", f"{self.kind.bare} is an item")
            takes = hands_on(op) | self.kind.takes(op)
            wants = self.kind.wants(op)
            for index, value in enumerate(operands(op)):
                if index not in takes and type(op) is not anf.Destructure and self.has_bare(value):
                    raise self.place.fault("V10", f"{self.kind.bare} is in operand {index + 1}, a vector")
                forms = self.form(value)
                if BARE in forms and index not in takes and value.type.tags:  # else the code is never reached
                    raise self.place.fault("V10", f"operand {index + 1} is {self.kind.bare}")
                if GENERAL in forms and index == wants and not value.type.tags & ~self.kind.tags:
                    raise self.place.fault("V10", f"operand {index + 1} is {self.kind.general}, which others may see")
        if part.function is None:
            return
        holders: list[Any] = [part.function, *part.function.params]
        for holder in holders:
            is_bare = BARE in self.forms.get(holder, NOTHING) or self.has_bare(Ref(holder))
            if is_bare and part.function.is_open:
                raise self.place.fault("V10", f"{holder.name} is {self.kind.bare}, and anybody calls the function")


def hands_on(op: Op) -> frozenset[int]:
    """The positions of the operands whose values an operation only tests or hands on."""
    kind = type(op)
    if kind is anf.MakeVector:
        return frozenset(range(len(op.items)))  # type: ignore[attr-defined]
    if kind is anf.Loop or kind is anf.For:
        return frozenset(range(len(op.inits)))  # type: ignore[attr-defined]
    if kind in (anf.If, anf.Logic, anf.Move, anf.Assign):
        return FIRST
    if kind is Facts:
        return frozenset(range(len(op.items)))  # type: ignore[attr-defined]
    if known_callees(op) is not None:
        first = 3 if kind is Consume else 1
        return frozenset(range(first, first + len(op.args)))  # type: ignore[attr-defined]
    return frozenset()


def pattern_parts(pattern: Any) -> list[tuple[int, Var]]:
    """The variables that a pattern binds to parts of a vector, with their positions."""
    parts = pattern.parts if type(pattern) is anf.SequencePattern else []
    return [(index, part.var) for index, part in enumerate(parts) if type(part) is anf.VarPattern]


def handed(op: Op) -> list[tuple[Any, Expr]]:
    """Pairs of a variable and the operand that becomes its value."""
    if isinstance(op, anf.Loop | anf.For):
        return list(zip(op.params, op.inits, strict=False))
    callees = known_callees(op)
    args: list[Expr] = op.args if callees is not None else []  # type: ignore[attr-defined]
    return [pair for callee in callees or () for pair in zip(callee.params, args, strict=False)]


def known_callees(op: Op) -> list[Function] | None:
    """The functions of the unit that a call reaches; None where others may be called."""
    if type(op) is not anf.Call and type(op) is not Consume:
        return None
    head: Type = op.head.type
    if not head.only(FN) or not head.fns or not all(type(member) is Function for member in head.fns):
        return None
    return list(head.fns)
