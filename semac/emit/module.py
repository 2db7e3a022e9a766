"""Emission of a module: IR → `ast.Module`. The statements of functions are emitted by `function.py`."""

from __future__ import annotations

import ast
from typing import Any

from sema_runtime.catalogue_index import INDEX
from semac.emit.destination import DROP, RETURN, Dest
from semac.emit.emitter import ModuleState
from semac.emit.function import TYPE_PARAMS, FunctionEmitter, empty_arguments
from semac.emit.names import VALUES, ModuleNames
from semac.emit.pyast import NOWHERE, assign, const, name
from semac.emit.session_names import SharedNames
from semac.ir import nodes as ir
from semac.ir.facts import has_locals, mentioned
from semac.ir.unit import Unit

RESULT = "__sema_result__"


def emit_module(unit: Unit, result: bool = False) -> ast.Module:
    """The module of a unit. result: whether the global `RESULT` receives the value of the last top-level form."""
    emitter = ModuleEmitter(unit, None)
    body = emitter.body(result)
    names = emitter.names
    return ast.Module([*names.import_statements(), *names.constant_statements, *names.tables(unit), *body], [])


def emit_input(unit: Unit, shared: SharedNames) -> ast.Module:
    """One function that does what a unit says, as an input of a session, and returns the value of the last form.

    Its globals are those of the program, and what `shared` names. Quoted data and helpers are local variables, which
    functions defined here keep alive: no other input meets them, and they go when nothing refers to them any more.
    """
    emitter = ModuleEmitter(unit, shared)
    body = emitter.body(result=True)
    last = body[-1] if body else None
    if isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name) and last.targets[0].id == RESULT:
        body[-1] = ast.copy_location(ast.Return(last.value), last)
    elif body:
        body.insert(0, assign(RESULT, const(None, NOWHERE), NOWHERE))
        body.append(ast.Return(name(RESULT, NOWHERE), **NOWHERE))
    else:
        body.append(ast.Pass(**NOWHERE))
    body[:0] = emitter.names.constant_statements
    used = sorted(var.py for var in unit.globals.values())
    if used:
        body.insert(0, ast.Global(used, **NOWHERE))
    values = ast.arguments([], [ast.arg(VALUES, None, **NOWHERE)], None, [], [], None, [])
    extra: dict[str, Any] = {**NOWHERE, **TYPE_PARAMS}
    return ast.Module([ast.FunctionDef("<module>", values, body, [], None, **extra)], [])


def mark_late(unit: Unit) -> None:
    """Marks globals that a function above may call before they are defined, as a form in between may call it."""
    first: dict[ir.Var, int] = {}  # called global → the first form with a function that calls it
    last_run = -1  # the last form that may call functions
    for index, item in enumerate(unit.tree.items):
        for node in ir.walk(item):
            kind = type(node)
            if kind is ir.Call and type(node.head) is ir.Ref:
                first.setdefault(node.head.var, index)
            elif kind is ir.Set and first.get(node.var, index) <= last_run:
                node.var.late = node.var.is_global
        if not (type(item) is ir.Set and type(item.value) in (ir.Lambda, ir.Const, ir.Quote)):
            last_run = index


class ModuleEmitter(ModuleState):
    """Top-level forms become definitions and statements; a form with variables of its own runs in a small function."""

    def __init__(self, unit: Unit, shared: SharedNames | None) -> None:
        super().__init__(unit, ModuleNames(unit, shared))
        mark_late(unit)

    def body(self, result: bool) -> list[ast.stmt]:
        """The statements of the top-level forms."""
        items = self.unit.tree.items
        body: list[ast.stmt] = []
        for index, item in enumerate(items):
            last = result and index == len(items) - 1
            self.top(item, Dest("assign", RESULT) if last else DROP, body)
            self.defined |= {part.var for part in ir.walk(item) if type(part) is ir.Set and part.var.is_global}
        return [*self.builtin_aliases(), *body]

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

    def used_early(self, var: ir.Var) -> bool:
        """Whether a top-level form before the definition of a global mentions it."""
        for item in self.unit.tree.items:
            if type(item) is ir.Set and item.var is var:
                return type(item.value) is not ir.Lambda and var in mentioned(item.value)
            if var in mentioned(item):
                return True
        return False

    def top(self, node: Any, dest: Dest, out: list[ast.stmt]) -> None:
        if type(node) is ir.Set and type(node.value) is ir.Lambda:
            emitter = FunctionEmitter(self, None, None)
            emitter.block = out
            emitter.stmt(node, dest)
            return
        if type(node) is ir.Seq and not has_locals(node):
            for item in node.items[:-1]:
                self.top(item, DROP, out)
            self.top(node.items[-1], dest, out)
            return
        emitter = FunctionEmitter(self, None, None)
        if type(node) is ir.Set and node.var.is_global and has_locals(node.value):
            call = self.wrapped(node.value, f"make_{node.var.py}", out)
            out.append(assign(node.var.py, call, emitter.loc(node)))
            emitter.block = out
            if dest.kind == "assign":
                emitter.finish(const(None, NOWHERE) if node.define else name(node.var.py, NOWHERE), dest, NOWHERE)
            return
        emitter.block = out
        if has_locals(node):
            call = self.wrapped(node, "main", out, DROP if dest.kind == "drop" else RETURN)
            emitter.finish(call, dest, emitter.loc(node), True)
            return
        emitter.stmt(node, dest)

    def wrapped(self, node: Any, base: str, out: list[ast.stmt], dest: Dest = RETURN) -> ast.expr:
        """Defines a function of no parameters around node; returns the call."""
        local = self.names.fresh_global(base)
        self.names.note(local, "<lambda>")
        emitter = FunctionEmitter(self, None, node)
        loc = emitter.loc(node)
        emitter.stmt(node, dest)
        out.append(emitter.definition(local, empty_arguments(), emitter.block, loc))
        return ast.Call(name(local, loc), [], [], **loc)
