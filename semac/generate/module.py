"""Emission of a module: blocks of top-level forms → `ast.Module`."""

from __future__ import annotations

import ast
from typing import Any

from sema_runtime.catalogue_index import INDEX
from semac.anf.nodes import (
    Assign,
    Block,
    Call,
    CallBuiltin,
    CallOpen,
    CallRuntime,
    Closure,
    Comprehension,
    Declare,
    Destructure,
    For,
    Lit,
    Loop,
    MakeMap,
    MakeRecordType,
    MakeVector,
    Match,
    Move,
    Op,
    PyAttr,
    Python,
    Read,
    Ref,
    Result,
    Try,
    While,
    With,
)
from semac.anf.walk import blocks, bound, expressions
from semac.generate.context import Context, ModuleState, Printers
from semac.generate.destination import DROP, RETURN, Dest
from semac.generate.expressions import expression
from semac.generate.functions import TYPE_PARAMS, definition, empty_arguments, globals_of
from semac.generate.names import VALUES, ModuleNames, local_base
from semac.generate.nest import nest
from semac.generate.pyast import NOWHERE, assign, begin, call, const, name
from semac.generate.session_names import SharedNames
from semac.generate.statements import block as print_block
from semac.generate.statements import instructions, statement
from semac.generate.truth import truth
from semac.ir.nodes import Var
from semac.ir.unit import Unit

RESULT = "__sema_result__"
PRINTERS = Printers(expression, statement, truth, print_block, instructions)
PLAIN = (Call, CallBuiltin, CallOpen, CallRuntime, Comprehension, MakeMap, MakeVector, Move, PyAttr, Python, Read)
WITH_VARIABLES = (Loop, For, While, Try, With, Match, Destructure, Declare)


def emit_module(unit: Unit, result: bool = False) -> ast.Module:
    """The module of a unit. result: whether the global `RESULT` receives the value of the last top-level form."""
    begin()
    module = ModulePrinter(unit, None)
    body = module.body(result)
    names = module.names
    names.settle_builtins()
    return ast.Module([*names.import_statements(), *names.constant_statements, *names.tables(unit), *body], [])


def emit_input(unit: Unit, shared: SharedNames) -> ast.Module:
    """One function that does what a unit says, as an input of a session, and returns the value of the last form.

    Its globals are those of the program, and what `shared` names. Quoted data and helpers are local variables, which
    functions defined here keep alive: no other input meets them, and they go when nothing refers to them any more.
    """
    begin()
    module = ModulePrinter(unit, shared)
    body = module.body(result=True)
    module.names.settle_builtins()
    last = body[-1] if body else None
    if isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name) and last.targets[0].id == RESULT:
        body[-1] = ast.copy_location(ast.Return(last.value), last)
    elif body:
        body.insert(0, assign(RESULT, const(None, NOWHERE), NOWHERE))
        body.append(ast.Return(name(RESULT, NOWHERE), **NOWHERE))
    else:
        body.append(ast.Pass(**NOWHERE))
    body[:0] = module.names.constant_statements
    used = sorted(var.py for var in unit.globals.values())
    if used:
        body.insert(0, ast.Global(used, **NOWHERE))
    values = ast.arguments([], [ast.arg(VALUES, None, **NOWHERE)], None, [], [], None, [])
    extra: dict[str, Any] = {**NOWHERE, **TYPE_PARAMS}
    return ast.Module([ast.FunctionDef("<module>", values, body, [], None, **extra)], [])


class ModulePrinter(ModuleState):
    """Top-level forms become definitions and statements; a form with variables of its own runs in a small function."""

    def __init__(self, unit: Unit, shared: SharedNames | None) -> None:
        super().__init__(unit, ModuleNames(unit, shared), PRINTERS)
        self.locals = {local_base(var.name) for var in unit.main.locals}

    def body(self, result: bool) -> list[ast.stmt]:
        """The statements of the top-level forms."""
        aliases = self.builtin_aliases()
        body: list[ast.stmt] = []
        last_form = self.unit.last_form
        for block in self.unit.blocks:
            last = result and block is last_form
            self.top(block, Dest("assign", RESULT) if last else DROP, body)
        return [*aliases, *body]

    def builtin_aliases(self) -> list[ast.stmt]:
        """`name = builtin` for builtins that the program changes later, or uses before it defines its own."""
        aliases: list[ast.stmt] = []
        for sema, var in self.unit.globals.items():
            if sema in INDEX and (sema in self.unit.reassigned or (var.defined and self.used_early(var))):
                if self.names.shared_builtin(sema) is not None:
                    continue  # the session sees to it
                module, python, *_ = INDEX[sema]
                original = self.names.runtime(f"sema_runtime.{module}", python)
                aliases.append(assign(var.py, name(original, NOWHERE), NOWHERE))
        return aliases

    def used_early(self, var: Var) -> bool:
        """Whether a top-level form before the definition of a global mentions it."""
        for block in self.unit.blocks:
            own = next((i.op for i in block.instrs if type(i.op) is Assign and i.op.var is var), None)
            if own is not None:
                values = [instr.op for instr in block.instrs]
                return type(values[0]) is not Closure and mentions(block, var, but=own)
            if mentions(block, var):
                return True
        return False

    def top(self, block: Block, dest: Dest, out: list[ast.stmt]) -> None:
        definition_of = defines(block)
        needs_function = has_locals(block)
        nested = block
        if definition_of is not None and needs_function:
            nested = Block(block.instrs[:-1], Result(definition_of.value))
        nest(nested)
        c = Context(self, None, set(), at_module=True)
        c.names.reserve(self.locals)
        c.out = out
        if not needs_function:
            c.block(nested, dest)
            return
        if self.unit.is_text and not has_captured(nested):
            self.at_top(nested, definition_of, dest, c)
            return
        if definition_of is None:
            first = first_op(nested)
            made = self.wrapped(nested, "main", out, DROP if dest.kind == "drop" else RETURN)
            c.finish(made, dest, c.loc(first) if first is not None else NOWHERE, True)
            return
        made = self.wrapped(nested, f"make_{definition_of.var.py}", out)
        out.append(assign(definition_of.var.py, made, c.loc(definition_of)))
        if dest.kind == "assign":
            c.finish(const(None, NOWHERE), dest, NOWHERE)

    def at_top(self, block: Block, definition_of: Assign | None, dest: Dest, c: Context) -> None:
        """A form with variables as people write it: these become globals, under names that nothing else has."""
        if definition_of is None:
            c.block(block, dest)
            return
        c.block(block, Dest("assign", definition_of.var.py))
        if dest.kind == "assign":
            c.finish(const(None, NOWHERE), dest, NOWHERE)

    def wrapped(self, block: Block, base: str, out: list[ast.stmt], dest: Dest = RETURN) -> ast.expr:
        """Defines a function of no parameters around a block; returns the call."""
        local = self.names.fresh_global(base)
        self.names.note(local, "<lambda>")
        c = Context(self, None, globals_of(block))
        c.names.reserve(self.locals)
        first = first_op(block)
        loc = c.loc(first) if first is not None else NOWHERE
        c.block(block, dest)
        out.append(definition(c, local, empty_arguments(), c.out, loc))
        return call(name(local, loc), [], loc)


def first_op(block: Block) -> Any:
    """The operation that a form is: where its function is said to stand."""
    value = block.exit.value if type(block.exit) is Result else None
    if isinstance(value, Op) and value.span is not None:
        return value
    return next((instr.op for instr in block.instrs if instr.op.span is not None), None)


def defines(block: Block) -> Assign | None:
    """The definition of a global that a form is."""
    last = block.instrs[-1].op if block.instrs else None
    is_definition = type(last) is Assign and last.define == "global" and type(block.exit) is Result
    return last if is_definition and type(block.exit.value) is Lit else None  # type: ignore[union-attr, return-value]


def has_locals(form: Block) -> bool:
    """Whether a form binds variables of its own, outside of functions and comprehensions."""
    stack = [(form, False)]
    while stack:
        current, is_inside = stack.pop()
        for instr in current.instrs:
            op = instr.op
            kind = type(op)
            if isinstance(op, MakeRecordType) and op.record.form >= 0:
                continue  # it is a class of the module
            if kind in WITH_VARIABLES or (instr.var is not None and instr.var.name):
                return True
            if is_inside and kind not in PLAIN:  # it may need statements or variables
                return True
            stack += [(inner, is_inside or kind is Comprehension) for inner in blocks(op)]
    return False


def has_captured(form: Block) -> bool:
    """Whether functions that a form makes share its variables."""
    parts = list(expressions(form, into_functions=False))
    ops = [part for part in parts if isinstance(part, Op)]
    inner = [form, *(block for op in ops for block in blocks(op))]  # operations may be operands by now
    own = {instr.var for block in inner for instr in block.instrs}
    own.update(var for op in ops for var in (op.vars if type(op) is Declare else bound(op)))
    closures = [part for part in parts if type(part) is Closure]
    return any(
        (type(part) is Ref or type(part) is Read or type(part) is Assign) and part.var in own and not part.var.is_global
        for closure in closures
        for part in expressions(closure.function.code)
    )


def mentions(block: Block, var: Var, but: Assign | None = None) -> bool:
    return any(
        (type(expr) is Ref or type(expr) is Read or type(expr) is Assign) and expr.var is var and expr is not but
        for expr in expressions(block)
    )
