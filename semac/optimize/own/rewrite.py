"""Gives the variables of bare groups their form: literals, look-ups and changes become those of Python's own values.

Where a value is lent or given away, its general form is made. What differs between representations is in the
subclasses of `Rewriter`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from semac.anf import nodes as anf
from semac.anf.nodes import Block, CallRuntime, Expr, Let, Op, Python, Ref, Result
from semac.anf.walk import all_blocks, blocks, map_operands, operands, params_of, sets
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.operators import replace
from semac.optimize.own.analysis import Analysis, analyzed
from semac.optimize.own.code import LOOPS, Code
from semac.optimize.own.representation import CHANGE, READ, TESTS, Representation, known_callee
from semac.optimize.own.sinking import uses
from semac.types.lattice import ANY, Type


def rewrite_groups(unit: Unit, form: Representation, rewriter: Callable[[Analysis], Rewriter]) -> None:
    """Rewrites a unit where groups of variables can hold values of a representation."""
    analysis = analyzed(unit, form)
    if any(group.is_raw for group in analysis.groups.group_of.values()):
        rewriting = rewriter(analysis)
        for code in rewriting.concerned(analysis):
            rewriting.code(code.block, code.function)


def calls_any(unit: Unit, names: frozenset[str]) -> bool:
    """Whether a unit calls one of some builtins."""
    return any(
        type(instr.op) is anf.CallBuiltin and instr.op.name in names
        for form in unit.blocks
        for block in all_blocks(form)
        for instr in block.instrs
    )


class Rewriter:
    """Gives the variables of bare groups their form. hint: the name of variables that it makes."""

    hint = ""

    def __init__(self, analysis: Analysis) -> None:
        self.groups = analysis.groups
        self.form = analysis.form
        self.names_of = analysis.names_of
        self.out: list[Let] = []
        self.renamed: dict[Var, Var] = {}
        self.general: set[Var] = set()  # variables of raw groups whose branches give general maps all the same

    def concerned(self, analysis: Analysis) -> list[Code]:
        """The code that there is something to rewrite in: what has a variable of one of the groups."""
        return analysis.code

    def kind(self, member: Any) -> str:
        """ "Map" or "HashMap" of a variable, or function's result, that is raw; "" of others."""
        group = self.groups.known(member)
        return group.kind if group is not None and group.is_raw and member not in self.general else ""

    def took_item(self, subject: Ref, takes: dict[str, str]) -> bool:
        """Whether the last reader of a list read the item that goes, and now drops it as well. takes: operations that
        read it, and those that drop it too."""
        changing = subject.var.op.var if type(subject.var.op) is anf.Read else None
        for earlier in reversed(self.out):
            if changing is not None and sets(earlier.op, changing):
                return False
            if any(uses(earlier, name) for name in self.names_of(subject.var)):
                op = earlier.op
                if type(op) is not Python or op.kind not in takes or earlier.var is None:
                    return False
                replace(earlier, Python(takes[op.kind], op.args, span=op.span, type=op.type))
                return True
        return False

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
                if self.form.is_held(arg) and self.kind(arg.var) and not self.kind(param):  # type: ignore[union-attr]
                    arg = self.wrapped(arg)  # type: ignore[arg-type]
                exit_.args[index] = arg

    def give(self, block: Block) -> None:
        """The value of a block goes where general maps are wanted."""
        exit_ = block.exit
        if type(exit_) is not Result:
            return
        value = exit_.value
        if self.form.is_held(value) and self.kind(value.var):  # type: ignore[union-attr]
            last = block.instrs[-1] if block.instrs else None
            if last is not None and last.var is value.var and blocks(last.op):  # type: ignore[union-attr]
                self.general.add(value.var)  # type: ignore[union-attr, arg-type]
                self.give_first(block)
                return  # a jump or a tail call inside stays at the end
            if last is not None and type(last.op) is anf.Call:  # no chain of tail calls that ends raw comes back here
                last.op.trampolined = False
            self.out = block.instrs
            exit_.value = self.wrapped(value)  # type: ignore[arg-type]

    def give_first(self, block: Block) -> None:
        """What `or` passes on, in front of its block."""
        last = block.instrs[-1]
        op = last.op
        if type(op) is anf.Logic and not op.is_and and self.form.is_held(op.first) and self.kind(op.first.var):  # type: ignore[union-attr]
            self.out = block.instrs[:-1]
            op.first = self.wrapped(op.first, op.span)  # type: ignore[arg-type]
            block.instrs = [*self.out, last]

    def current(self, value: Expr) -> Expr:
        """The variable that holds the map of another one, which took it over in place."""
        if type(value) is Ref:
            while value.var in self.renamed:
                value = Ref(self.renamed[value.var], value.type)
        return value

    def bind(self, op: Op, span: Any = None, hint: str = "items") -> Ref:
        """A variable of any value for an operation that is put out."""
        var = Var("", None)
        var.hint, var.defined, var.op, var.type, op.span = hint, 1, op, ANY, span
        self.out.append(Let(var, op))
        return Ref(var)

    def wrapped(self, value: Ref, span: Any = None) -> Ref:
        """The general form of the value of a variable."""
        var = Var("", value.var.owner)
        var.hint, var.defined = value.var.name or value.var.hint or self.hint, 1
        op = self.general_form(self.kind(value.var), Ref(value.var, value.type), span, value.type)
        var.op = op
        var.type = value.type
        self.out.append(Let(var, op))
        return Ref(var, value.type)

    def instruction(self, instr: Let) -> None:
        op, var = instr.op, instr.var
        if type(op) is anf.Assign and var is None and self.kind(op.var) and self.has_already(op):
            return
        raw = [use for use in self.form.uses_of(op, var) if self.kind(use.var)]
        map_operands(op, self.current)
        if var is not None and self.kind(var) and self.form.fresh(op):
            map_operands(op, self.converted(op, var))
            self.make(instr)
            self.out.append(instr)
            return
        for use in raw:
            if use.how == CHANGE:
                self.change(instr)
                return
            if use.how == READ and type(op) in (anf.CallBuiltin, CallRuntime):
                self.read(instr)
                self.out.append(instr)
                return
        if raw and self.shown(instr):
            self.out.append(instr)
            return
        map_operands(op, self.converted(op, var))
        self.out.append(instr)
        if type(op) is anf.Call and var is not None and self.kind(known_callee(op)) and not self.kind(var):
            self.wrap_result(instr, self.kind(known_callee(op)))
        if type(op) is anf.Destructure and self.form.carried is not None:
            self.wrap_parts(op)

    def has_already(self, op: anf.Assign) -> bool:
        """Whether a variable is set to the value that it was read for, which has changed in place since."""
        value = self.current(op.value)
        while type(value) is Ref and type(value.var.op) is anf.Move:
            value = self.current(value.var.op.value)
        read = value.var if type(value) is Ref else None
        if read is None or type(read.op) is not anf.Read or read.op.var is not op.var:
            return False
        return self.is_unset_since(read, op.var)

    def is_unset_since(self, read: Var, changing: Var) -> bool:
        """Whether nothing has set a variable since it was read in this block."""
        for instr in reversed(self.out):
            if instr.var is read:
                return True
            if sets(instr.op, changing):
                return False
        return False

    def wrap_result(self, instr: Let, kind: str) -> None:
        """A call gives a bare value to a variable that holds the general form."""
        op: Any = instr.op
        op.tail = op.trampolined = False  # no chain of tail calls that ends raw comes back here
        var: Any = instr.var
        entries = Var("", var.owner)
        entries.hint, entries.defined, entries.op, entries.type = self.hint, 1, op, op.type
        instr.var = entries
        self.let(var, op, self.general_form(kind, Ref(entries, op.type), op.span, op.type))

    def wrap_parts(self, op: anf.Destructure) -> None:
        """A function gives bare values in a vector to variables that hold the general form."""
        for part, var in self.form.carried.parts(op):
            if self.kind(part) and not self.kind(var):
                entries = Var("", var.owner)
                entries.hint, entries.defined, entries.type = self.hint, 1, var.type
                op.pattern.parts[part.position].var = entries  # type: ignore[attr-defined]
                self.out.append(Let(var, self.general_form(self.kind(part), Ref(entries, var.type), op.span, var.type)))

    def let(self, var: Var, old: anf.Op, new: anf.Op) -> None:
        """Binds a variable to another operation."""
        self.out.append(Let(var, new))
        if var.op is old:
            var.op = new

    def converted(self, op: anf.Op, var: Var | None) -> Callable[[Expr], Expr]:
        """What gives each operand the form that an operation wants."""
        takes = {id(value) for value, target in self.handed(op, var) if self.kind(target)}
        is_test = type(op) is Python and op.kind in TESTS
        only_tests = type(op) is anf.If or is_test or (type(op) is anf.Logic and var is None)

        def convert(value: Expr) -> Expr:
            if not self.form.is_held(value) or not self.kind(value.var) or only_tests or id(value) in takes:  # type: ignore[union-attr]
                return value
            return self.wrapped(value, op.span)  # type: ignore[arg-type]

        return convert

    def handed(self, op: anf.Op, var: Var | None) -> list[tuple[Expr, Any]]:
        """The operands that go to a variable as they are, and that variable."""
        if type(op) in (anf.Move, anf.Logic):
            return [(operands(op)[0], var)]
        if type(op) is anf.MakeVector and self.form.carried is not None:
            return [(value, part) for part, value in self.form.carried.parts(op)]
        if type(op) is anf.Assign:
            return [(op.value, op.var)]
        if isinstance(op, LOOPS):
            return list(zip(op.inits, op.params, strict=False))
        callee = known_callee(op) if type(op) is anf.Call else None
        return list(zip(op.args, callee.params, strict=True)) if callee is not None else []  # type: ignore[attr-defined]

    def change(self, instr: Let) -> None:
        """An operation changes its operand in place: the result is the operand itself."""
        op: Any = instr.op
        subject = self.changed(instr)
        var = instr.var
        if var is None:
            return
        if not self.kind(var):
            self.let(var, op, self.general_form(self.kind(subject.var), subject, op.span, op.type))
        elif var.name:
            read = subject.var.op
            if type(read) is anf.Read and self.is_unset_since(subject.var, read.var):
                self.let(var, op, anf.Read(read.var, span=op.span, type=op.type))
            else:
                self.let(var, op, anf.Move(subject, span=op.span, type=op.type))
        else:
            self.renamed[var] = subject.var

    # What each representation does in its own way

    def general_form(self, kind: str, value: Ref, span: Any, type_: Type) -> anf.Op:
        """The operation that makes the general form of a bare value."""
        raise NotImplementedError

    def make(self, instr: Let) -> None:
        """A fresh value is made bare."""
        raise NotImplementedError

    def read(self, instr: Let) -> None:
        """An operation only reads the bare value."""
        raise NotImplementedError

    def shown(self, instr: Let) -> bool:
        """Whether an operation that takes the general form has been replaced by one that takes the bare one."""
        return False

    def changed(self, instr: Let) -> Ref:
        """Puts out the operations that change a bare value, and returns it."""
        raise NotImplementedError
