"""Emission of a module: IR → `ast.Module`. The statements of functions are emitted by `emit_function.py`."""

from __future__ import annotations

import ast
from typing import Any

from sema_runtime.catalogue_index import INDEX
from semac import ir
from semac.analyze import Unit
from semac.dest import DROP, RETURN, Dest
from semac.emit_function import FunctionEmitter, empty_arguments
from semac.emit_names import ModuleNames
from semac.ir_facts import has_locals, mentioned
from semac.pyast import NOWHERE, assign, const, name


def emit_module(unit: Unit, result: str | None = None) -> ast.Module:
    """The module of a unit. result: a global that shall receive the value of the last top-level form."""
    return ModuleEmitter(unit).module(result)


class ModuleEmitter:
    """Top-level forms become definitions and statements; a form with variables of its own runs in a small function."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.names = ModuleNames(unit)
        self.defined: set[ir.Var] = set()  # globals whose definition stands above the current form

    def module(self, result: str | None) -> ast.Module:
        items = self.unit.tree.items
        body: list[ast.stmt] = []
        for index, item in enumerate(items):
            last = result is not None and index == len(items) - 1
            self.top(item, Dest("assign", result or "") if last else DROP, body)
            self.defined |= {here.var for here in ir.walk(item) if type(here) is ir.Set and here.var.is_global}
        body[:0] = self.builtin_aliases()
        head = self.names.import_statements()
        tail = self.names.display_statement()
        return ast.Module([*head, *self.names.constant_statements, *tail, *body], [])

    def builtin_aliases(self) -> list[ast.stmt]:
        """`name = builtin` for builtins that the program changes later, or uses before it defines its own."""
        made: list[ast.stmt] = []
        for sema, var in self.unit.globals.items():
            if sema in INDEX and (sema in self.unit.reassigned or (var.defined and self.used_early(var))):
                module, python, *_ = INDEX[sema]
                original = self.names.runtime(f"sema_runtime.{module}", python)
                made.append(assign(var.py, name(original, NOWHERE), NOWHERE))
        return made

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
            made = self.wrapped(node.value, f"make_{node.var.py}", out)
            out.append(assign(node.var.py, made, emitter.loc(node)))
            emitter.block = out
            if dest.kind == "assign":
                emitter.finish(const(None, NOWHERE) if node.define else name(node.var.py, NOWHERE), dest, NOWHERE)
            return
        emitter.block = out
        if has_locals(node):
            made = self.wrapped(node, "main", out, DROP if dest.kind == "drop" else RETURN)
            emitter.finish(made, dest, emitter.loc(node), True)
            return
        emitter.stmt(node, dest)

    def wrapped(self, node: Any, base: str, out: list[ast.stmt], dest: Dest = RETURN) -> ast.expr:
        """Defines a function of no parameters around node; gives the call."""
        local = self.names.fresh_global(base)
        self.names.display[local] = "<lambda>"
        emitter = FunctionEmitter(self, None, node)
        loc = emitter.loc(node)
        emitter.stmt(node, dest)
        out.append(emitter.definition(local, empty_arguments(), emitter.block, loc))
        return ast.Call(name(local, loc), [], [], **loc)
