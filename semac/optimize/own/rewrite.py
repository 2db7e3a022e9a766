"""Gives the variables of raw groups their bare dicts: literals, look-ups and changes become those of Python's dicts.

Where a map is lent or given away, a map object is put around its dict: that costs the same however large the map is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from semac.anf import nodes as anf
from semac.anf.nodes import Block, CallRuntime, Expr, Let, Lit, MakeMap, Python, Ref, Result
from semac.anf.walk import all_blocks, blocks, map_operands, operands, params_of
from semac.ir.intrinsics import KEYWORD_GET
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.keys import is_stored_key
from semac.optimize.operators import replace
from semac.optimize.own.analysis import Analysis, analyzed
from semac.optimize.own.groups import Groups
from semac.optimize.own.uses import CHANGE, READ, is_fresh, known_callee, maps, uses_of
from semac.types.lattice import ANY, BOOL, NIL, atom

STORED = "sema_runtime.values.maps:stored"
NEW_KEY = "sema_runtime.values.map_keys:assoc_key"  # raises for a mutable one
WRAP = "sema_runtime.values.maps:"


def own_maps(unit: Unit) -> None:
    """Has maps that nobody else can see change in place.

    Assumes types and escapes as inferred. Sound because a dict is changed only where liveness shows that its map is
    read nowhere else afterwards under the name it had before.
    """
    if not any_assoc(unit):
        return
    analysis = analyzed(unit)
    groups = analysis.groups
    if any(group.is_raw for group in groups.group_of.values()):
        rewriter = Rewriter(groups, analysis)
        for block, function in analysis.code:
            rewriter.code(block, function)


def any_assoc(unit: Unit) -> bool:
    return any(
        type(instr.op) is anf.CallBuiltin and instr.op.name == "assoc"
        for form in unit.blocks
        for block in all_blocks(form)
        for instr in block.instrs
    )


class Rewriter:
    def __init__(self, groups: Groups, analysis: Analysis) -> None:
        self.groups = groups
        self.analysis = analysis
        self.out: list[Let] = []
        self.renamed: dict[Var, Var] = {}
        self.general: set[Var] = set()  # variables of raw groups whose branches give general maps all the same

    def kind(self, member: Any) -> str:
        """ "Map" or "HashMap" of a variable, or function's result, that is raw; "" of others."""
        group = self.groups.known(member)
        return group.kind if group is not None and group.is_raw and member not in self.general else ""

    def code(self, block: Block, function: Function | None) -> None:
        for inner in list(all_blocks(block, into_functions=False)):
            self.block(inner)
        if function is None or not self.kind(function):
            self.give(block)
        for inner in list(all_blocks(block, into_functions=False)):
            for instr in inner.instrs:
                if instr.var is not None and not self.kind(instr.var):
                    for branch in blocks(instr.op):
                        self.give(branch)

    def block(self, block: Block) -> None:
        self.out = []
        for instr in block.instrs:
            self.instruction(instr)
        block.instrs = self.out
        exit_ = block.exit
        if isinstance(exit_, Result):
            exit_.value = self.current(exit_.value)
        else:
            for index, (param, arg) in enumerate(zip(params_of(exit_.target), exit_.args, strict=False)):
                arg = self.current(arg)
                if maps(arg) and self.kind(arg.var) and not self.kind(param):  # type: ignore[union-attr]
                    arg = self.wrapped(arg)  # type: ignore[arg-type]
                exit_.args[index] = arg

    def give(self, block: Block) -> None:
        """The value of a block goes where general maps are wanted."""
        exit_ = block.exit
        if type(exit_) is not Result:
            return
        value = exit_.value
        if maps(value) and self.kind(value.var):  # type: ignore[union-attr]
            last = block.instrs[-1] if block.instrs else None
            if last is not None and last.var is value.var and blocks(last.op):  # type: ignore[union-attr]
                self.general.add(value.var)  # type: ignore[union-attr, arg-type]
                return  # a jump or a tail call inside stays at the end
            if last is not None and type(last.op) is anf.Call:  # no chain of tail calls that ends raw comes back here
                last.op.trampolined = False
            self.out = block.instrs
            exit_.value = self.wrapped(value)  # type: ignore[arg-type]

    def current(self, value: Expr) -> Expr:
        """The variable that holds the map of another one, which took it over in place."""
        if type(value) is Ref:
            while value.var in self.renamed:
                value = Ref(self.renamed[value.var], value.type)
        return value

    def wrapped(self, value: Ref, span: Any = None) -> Ref:
        """A map around the dict of a variable."""
        kind = self.kind(value.var)
        var = Var("", value.var.owner)
        var.hint, var.defined = value.var.name or value.var.hint or "entries", 1
        op = CallRuntime(WRAP + kind, [Ref(value.var, value.type)], span=span, type=value.type)
        var.op = op
        var.type = value.type
        self.out.append(Let(var, op))
        return Ref(var, value.type)

    def instruction(self, instr: Let) -> None:
        op, var = instr.op, instr.var
        raw = [use for use in uses_of(op, var) if self.kind(use.var)]
        map_operands(op, self.current)
        if var is not None and self.kind(var) and is_fresh(op):
            map_operands(op, self.converted(op, var))
            if type(op) is MakeMap:
                op.is_raw = True
            else:
                replace(instr, MakeMap([], True, span=op.span, type=op.type))
            self.out.append(instr)
            return
        for use in raw:
            if use.how == CHANGE:
                self.change(instr)
                return
            if use.how == READ and type(op) in (anf.CallBuiltin, CallRuntime):
                self.read(instr)
                return
        map_operands(op, self.converted(op, var))
        self.out.append(instr)
        if type(op) is anf.Call and var is not None and self.kind(known_callee(op)) and not self.kind(var):
            self.wrap_result(instr, self.kind(known_callee(op)))

    def wrap_result(self, instr: Let, kind: str) -> None:
        """A call gives a dict to a variable that holds a general map."""
        op: Any = instr.op
        op.tail = op.trampolined = False  # no chain of tail calls that ends raw comes back here
        var: Any = instr.var
        entries = Var("", var.owner)
        entries.hint, entries.defined, entries.op, entries.type = "entries", 1, op, op.type
        instr.var = entries
        wrapper = CallRuntime(WRAP + kind, [Ref(entries, op.type)], span=op.span, type=op.type)
        self.let(var, op, wrapper)

    def let(self, var: Var, old: anf.Op, new: anf.Op) -> None:
        """Binds a variable to another operation."""
        self.out.append(Let(var, new))
        if var.op is old:
            var.op = new

    def converted(self, op: anf.Op, var: Var | None) -> Callable[[Expr], Expr]:
        """What gives each operand the form that an operation wants."""
        takes = {id(value) for value, target in self.handed(op, var) if self.kind(target)}
        only_tests = type(op) is anf.If or type(op) is Python or (type(op) is anf.Logic and var is None)

        def convert(value: Expr) -> Expr:
            if not maps(value) or not self.kind(value.var) or only_tests or id(value) in takes:  # type: ignore[union-attr]
                return value
            return self.wrapped(value, op.span)  # type: ignore[arg-type]

        return convert

    def handed(self, op: anf.Op, var: Var | None) -> list[tuple[Expr, Any]]:
        """The operands that go to a variable as they are, and that variable."""
        if type(op) in (anf.Move, anf.Logic):
            return [(operands(op)[0], var)]
        if isinstance(op, anf.Loop | anf.For):
            return list(zip(op.inits, op.params, strict=False))
        callee = known_callee(op) if type(op) is anf.Call else None
        return list(zip(op.args, callee.params, strict=True)) if callee is not None else []  # type: ignore[attr-defined]

    def key(self, key: Expr, span: Any, path: str = STORED) -> Expr:
        """The key as a dict has it. path: of the function that says so of a key of unknown type."""
        if is_stored_key(key):
            return key
        var = Var("", None)
        var.hint, var.defined = "key", 1
        op = CallRuntime(path, [key], span=span)
        var.op, var.type = op, ANY
        self.out.append(Let(var, op))
        return Ref(var)

    def read(self, instr: Let) -> None:
        """`get`, `contains?`, `count` and `(:key m)` of a dict."""
        op: Any = instr.op
        name = op.name if type(op) is anf.CallBuiltin else "get" if op.path == KEYWORD_GET else ""
        subject = op.args[0]
        if name in ("count", "length"):
            new = Python("size", [subject])
        elif name == "contains?":
            new = Python("in", [self.key(op.args[1], op.span), subject])
        elif name == "get":
            new = Python("get", [subject, self.key(op.args[1], op.span), *op.args[2:]])
        elif name == "nil?":
            new = Python("is_none", [subject])
        elif name == "map?":
            new = anf.Move(Lit(True, atom(BOOL)))  # type: ignore[assignment]
        else:
            self.out.append(instr)
            return
        new.span, new.type = op.span, op.type
        replace(instr, new)
        self.out.append(instr)

    def change(self, instr: Let) -> None:
        """`(assoc m k v ...)` as `m[k] = v`: the result is m itself."""
        op: Any = instr.op
        subject: Ref = op.args[0]
        keys = [self.key(key, op.span, NEW_KEY) for key in op.args[1::2]]
        for key, value in zip(keys, op.args[2::2], strict=True):
            if maps(value) and self.kind(value.var):
                value = self.wrapped(value, op.span)
            self.out.append(Let(None, anf.SetItem(subject, key, value, span=op.span, type=atom(NIL))))
        var = instr.var
        if var is None:
            return
        if not self.kind(var):
            self.let(var, op, CallRuntime(WRAP + self.kind(subject.var), [subject], span=op.span, type=op.type))
        elif var.name:
            self.let(var, op, anf.Move(subject, span=op.span, type=op.type))
        else:
            self.renamed[var] = subject.var
