"""Calls, literals of collections, Python interop, imports."""

from __future__ import annotations

import ast
from fractions import Fraction
from typing import Any

from sema_runtime.support.embedded import embed
from sema_runtime.values.atoms import Char, Keyword, Symbol, keyword
from sema_runtime.values.lists import List
from sema_runtime.values.macros import Macro
from sema_runtime.values.maps import HashMap, Map
from sema_runtime.values.numbers import Complex
from semac.emit.destination import Dest
from semac.emit.emitter import Emitter
from semac.emit.guards import merged
from semac.emit.higher_order import inline_statement
from semac.emit.inline import inline
from semac.emit.names import VALUES
from semac.emit.owned_maps import owned_operation, read_owned
from semac.emit.pyast import Loc, attribute, call, const, name
from semac.ir import nodes as ir
from semac.ir.facts import has_plain_keys
from semac.ir.intrinsics import INTRINSICS, KEYWORD_GET
from semac.ir.jumps import needs_tail_call
from semac.ir.types import MAP, only

ATOMS = (int, float, str, bool, bytes, type(None))
LISTS = "sema_runtime.values.lists:"
MAPS = "sema_runtime.values.maps:"
CONDITION_FIELD = "sema_runtime.conditions.caught:condition_field"
THROWN_FIELD = "sema_runtime.conditions.caught:thrown_field"
VALUE = keyword("value")
TAIL_CALL = "sema_runtime.values.functions:tail_call"


class Calls(Emitter):
    """How calls, collections and Python interop are emitted."""

    def expr_builtin(self, node: Any) -> ast.expr:
        return self.builtin(node.name, self.loc(node))

    def builtin(self, sema: str, loc: Loc) -> ast.expr:
        """A builtin that the program names."""
        shared = self.module.names.shared_builtin(sema)
        return self.runtime(self.builtin_path(sema), loc) if shared is None else name(shared, loc)

    # Calls of the program's own functions

    def stmt_call(self, node: Any, dest: Dest) -> None:
        if node.recur is not None:
            self.recur(node)
            return
        if node.tail and dest.kind == "return" and needs_tail_call(node, self.function):
            head, args = self.call_parts(node)
            loc = self.loc(node)
            self.finish(call(self.runtime(TAIL_CALL, loc), [head, *args], loc), dest, loc)
            return
        self.finish(self.expr_call(node), dest, self.loc(node))

    def expr_call(self, node: Any) -> ast.expr:
        head, args = self.call_parts(node)
        return call(head, args, self.loc(node))

    def call_parts(self, node: Any) -> tuple[ast.expr, list[ast.expr]]:
        """(function, arguments). As in the reference, a global is looked up before its arguments where the call is a
        tail call, and after them elsewhere; which one shows where it may be undefined, or changed meanwhile."""
        head = node.head
        if type(head) is ir.Ref and head.var.is_global:
            early = head.var not in self.module.defined and (self.function is None or head.var.late)
            if early or not head.var.defined or not is_stable_head(head):
                is_thunk = self.function is not None and self.function.is_thunk
                return self.early_head(node) if node.tail and not is_thunk else self.late_head(node)
        if is_stable_head(head):
            args = self.exprs(node.args)
            return self.expr(head), args
        values = self.exprs([head, *node.args])
        if not isinstance(values[0], ast.Name):
            values[0] = self.save(values[0], "function", self.current)  # so that an error can show what was no function
        return values[0], values[1:]

    def early_head(self, node: Any) -> tuple[ast.expr, list[ast.expr]]:
        values = self.exprs([node.head, *node.args])
        return values[0], values[1:]

    def late_head(self, node: Any) -> tuple[ast.expr, list[ast.expr]]:
        args = self.exprs(node.args)
        may_be_unbound = any(type(arg) is ir.Ref and arg.var.is_global and not arg.var.defined for arg in node.args)
        if may_be_unbound or not all(isinstance(arg, ast.Constant | ast.Name) for arg in args):
            args = [arg if isinstance(arg, ast.Constant) else self.save(arg, "value", self.current) for arg in args]
        return self.expr(node.head), args

    # Builtins and runtime functions

    def stmt_builtin(self, node: Any, dest: Dest) -> None:
        if not inline_statement(self, node, dest):
            loc = self.loc(node)
            if node.tail and dest.kind == "return" and node.name == "apply" and len(node.args) >= 2:
                path = "sema_runtime.values.functions:tail_apply"
                self.finish(call(self.runtime(path, loc), self.exprs(node.args), loc), dest, loc)
                return
            value = self.expr_call_builtin(node)
            self.finish(value, dest, self.loc(node), not isinstance(value, ast.Constant))

    def expr_call_builtin(self, node: Any) -> ast.expr:
        inlined = owned_operation(self, node) or inline(self, node)
        if inlined is not None:
            return inlined
        args = self.exprs(node.args)
        loc = self.loc(node)
        if node.name in INTRINSICS or node in self.module.unit.fixed:
            return call(self.runtime(self.builtin_path(node.name), loc), args, loc)
        return call(self.builtin(node.name, loc), args, loc)

    def expr_runtime(self, node: Any) -> ast.expr:
        if node.path == KEYWORD_GET and type(node.args[0]) is ir.Ref and node.args[0].var in self.errors:
            return self.caught_field(CONDITION_FIELD, node.args[0], node)
        if node.path == KEYWORD_GET and self.is_thrown_value(node.args[0]):
            return self.caught_field(THROWN_FIELD, node.args[0].args[0], node)
        if node.path == KEYWORD_GET and self.is_owned(node.args[0]):
            return read_owned(self, node, "get", node.args[1:])
        if node.path == KEYWORD_GET and only(node.args[0].type, MAP):
            values = self.exprs(node.args)
            entries = attribute(values[0], "d", self.loc(node))
            return call(attribute(entries, "get", self.loc(node)), values[1:], self.loc(node))
        args = self.exprs(node.args)
        loc = self.loc(node)
        return call(self.runtime(node.path, loc), args, loc)

    def caught_field(self, path: str, error: Any, node: Any) -> ast.expr:
        """`(:type e)` of a caught exception, or `(:code (:value e))`."""
        args = self.exprs([error, node.args[1]])
        loc = self.loc(node)
        return call(self.runtime(path, loc), args, loc)

    def is_thrown_value(self, node: Any) -> bool:
        """Whether a node is `(:value e)` of a caught exception."""
        if type(node) is not ir.Runtime or node.path != KEYWORD_GET or type(node.args[0]) is not ir.Ref:
            return False
        return node.args[0].var in self.errors and node.args[1].value is VALUE

    # Collections and constants

    def expr_vector(self, node: Any) -> ast.expr:
        return merged(self.exprs(node.items), self.loc(node))

    def expr_map(self, node: Any) -> ast.expr:
        values = self.exprs([part for pair in zip(node.keys, node.values, strict=True) for part in pair])
        loc = self.loc(node)
        keys, items = values[0::2], values[1::2]
        if node in self.module.unit.raw:
            return ast.Dict(list(keys), list(items), **loc)
        kind = self.runtime(MAPS + "Map", loc)
        if has_plain_keys(node):
            return call(kind, [ast.Dict(list(keys), list(items), **loc)], loc)
        pairs: list[ast.expr] = [ast.Tuple([k, v], ast.Load(), **loc) for k, v in zip(keys, items, strict=True)]
        literal = self.runtime("sema_runtime.values.map_keys:map_literal", loc)
        return call(literal, [ast.List(pairs, ast.Load(), **loc)], loc)

    def constant_data(self, value: Any, loc: Loc) -> ast.expr:
        """An expression for any constant: quoted data is built once, in a module constant."""
        if isinstance(value, ATOMS):
            return const(value, loc)
        if type(value) in (Keyword, Symbol, Char, Fraction):
            atom: ast.expr = self.module.names.atom(value, loc)
            return atom
        if type(value) is Complex:
            halves = [self.constant_data(value.re, loc), self.constant_data(value.im, loc)]
            return call(self.runtime("sema_runtime.values.numbers:Complex", loc), halves, loc)
        if type(value) is Macro:
            macro = call(
                self.runtime("sema_runtime.values.macros:Macro", loc), [const(value.name, loc), const(None, loc)], loc
            )
            return macro
        if type(value) is List and not value.items:
            return self.runtime(LISTS + "EMPTY", loc)
        if type(value) not in (List, tuple, Map, HashMap):
            return self.embedded(value, loc)
        data = self.data(value, loc)
        return name(self.module.names.constant(("quoted", id(value)), "quoted", data), loc)

    def embedded(self, value: Any, loc: Loc) -> ast.expr:
        """A value that no text can say; an input of a session keeps its own, so that they go with it."""
        unit = self.module.unit
        unit.is_portable = False
        if self.module.names.shared is None:
            return call(self.runtime("sema_runtime.support.embedded:embedded", loc), [const(embed(value), loc)], loc)
        unit.values.append(value)
        return ast.Subscript(name(VALUES, loc), const(len(unit.values) - 1, loc), ast.Load(), **loc)

    def data(self, value: Any, loc: Loc) -> ast.expr:
        if type(value) is List:
            items = [self.data(item, loc) for item in value.items]
            return call(self.runtime(LISTS + "List", loc), [ast.List(items, ast.Load(), **loc)] if items else [], loc)
        if type(value) is tuple:
            return ast.Tuple([self.data(item, loc) for item in value], ast.Load(), **loc)
        if type(value) is Map or type(value) is HashMap:
            kind = self.runtime(MAPS + type(value).__name__, loc)
            pairs: list[ast.expr] = [
                ast.Tuple([self.data(k, loc), self.data(v, loc)], ast.Load(), **loc) for k, v in value.pairs()
            ]
            return call(attribute(kind, "of", loc), [ast.List(pairs, ast.Load(), **loc)], loc)
        return self.constant_data(value, loc)

    # Python interop and imports

    def expr_py_attr(self, node: Any) -> ast.expr:
        return attribute(self.expr(node.object), node.name, self.loc(node))

    def expr_py_item(self, node: Any) -> ast.expr:
        target, key = self.exprs([node.object, node.key])
        return ast.Subscript(target, key, ast.Load(), **self.loc(node))

    def stmt_py_set_attr(self, node: Any, dest: Dest) -> None:
        self.finish(self.expr_py_set_attr(node), dest, self.loc(node), False)

    def expr_py_set_attr(self, node: Any) -> ast.expr:
        target, value = self.exprs([node.object, node.value])
        loc = self.loc(node)
        if not isinstance(value, ast.Name | ast.Constant):
            value = self.save(value, "value", loc)
        place = ast.Attribute(target, node.name, ast.Store(), **loc)
        self.append(ast.Assign([place], value, **loc))
        return value

    def expr_py_call(self, node: Any) -> ast.expr:
        names = list(node.keywords)
        values = self.exprs([node.head, *node.args, *node.keywords.values()])
        loc = self.loc(node)
        count = len(values) - len(names)
        keywords = [ast.keyword(key, value, **loc) for key, value in zip(names, values[count:], strict=True)]
        return call(values[0], values[1:count], loc, keywords)

    def stmt_py_import(self, node: Any, dest: Dest) -> None:
        self.finish(self.expr_py_import(node), dest, self.loc(node), False)

    def expr_py_import(self, node: Any) -> ast.expr:
        loc = self.loc(node)
        variables = [node.var] if node.names is None else [var for _, var in node.names]
        if not self.at_module:
            self.assigned_globals.update(var.py for var in variables)
        if node.names is None:
            self.append(ast.Import([import_alias(node.module, node.var.py, loc)], **loc))
        else:
            aliases = [ast.alias(attr, None if var.py == attr else var.py, **loc) for attr, var in node.names]
            self.append(ast.ImportFrom(node.module, aliases, 0, **loc))
        return const(None, loc)

    def expr_import(self, node: Any) -> ast.expr:
        path = self.expr(node.path)
        loc = self.loc(node)
        names: list[ast.expr] = [const(imported, loc) for imported in node.names]
        scope = ast.Call(name("globals", loc), [], [], **loc)
        return call(self.runtime("sema_runtime.compiler_bridge:import_file", loc), [path, scope, *names], loc)


def import_alias(module: str, local: str, loc: Loc) -> ast.alias:
    """`import module` or `import module as local`; of a dotted module `import` binds the first part."""
    return ast.alias(module, None if local == module.partition(".")[0] else local, **loc)


def is_stable_head(head: Any) -> bool:
    """Whether looking the function up after the arguments makes no difference."""
    if type(head) is ir.Ref:
        return not head.var.assigned and (not head.var.is_global or head.var.defined <= 1)
    return type(head) is ir.Const and type(head.value) is not float  # of which no plain text says the value
