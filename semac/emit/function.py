"""Emission of functions: IR → statements and expressions.

Every node is emitted either as an expression (`expr`, which may first append statements to the current block) or as
statements with a destination (`stmt`): return it, assign it, or drop it. Destinations are what keeps the output flat.
"""

from __future__ import annotations

import ast
from typing import Any

from semac.emit.calls import Calls
from semac.emit.destination import DROP, RETURN, Dest
from semac.emit.flow import Flow
from semac.emit.owned_maps import plain_split
from semac.emit.patterns import Matches
from semac.emit.pyast import Loc, assign, const, name
from semac.emit.tests import Tests
from semac.ir import nodes as ir
from semac.ir.facts import globals_of, has_effects, has_plain_keys, is_short, read_early, throws_plainly
from semac.ir.identifiers import mangle
from semac.ir.jumps import unbounded

ATOMS = (int, float, str, bool, bytes, type(None))


def empty_arguments() -> ast.arguments:
    return ast.arguments([], [], None, [], [], None, [])


class FunctionEmitter(Calls, Flow, Tests, Matches):
    """Emits the statements of one Python function (or of the module's top level, where `root` is None)."""

    # Statements

    def stmt(self, node: Any, dest: Dest) -> None:
        """Emits node so that its value reaches dest."""
        kind = type(node)
        method = STATEMENTS.get(kind)
        if method is not None:
            method(self, node, dest)
        else:
            value = self.expr(node)
            self.finish(value, dest, self.loc(node), has_effects(node))

    def stmt_seq(self, node: Any, dest: Dest) -> None:
        for item in node.items[:-1]:
            self.stmt(item, DROP)
        self.stmt(node.items[-1], dest)

    def stmt_let(self, node: Any, dest: Dest) -> None:
        self.let_bindings(node)
        self.stmt(node.body, dest)

    def let_bindings(self, node: Any) -> None:
        """Assigns the variables of a Let. All values are computed before a name they mention could be reused."""
        for var, value in node.bindings:
            if type(value) is ir.Lambda and var.known_function is value.function:
                self.def_lambda(value, self.bind(var))
                continue
            target = self.names.local(var)
            if var.raw_list:
                self.append(assign(target, plain_split(self, value), self.loc(value)))
            else:
                self.stmt(value, Dest("assign", target))
            self.owned.add(var)

    def stmt_define(self, node: Any, dest: Dest) -> None:
        self.define_vars(node)
        self.stmt(node.body, dest)

    def define_vars(self, node: Any) -> None:
        """Names the variables of a body; those that could be read too early start as nil."""
        loc = self.loc(node)
        early = read_early(node.vars, node.body)
        for var in node.vars:
            target = self.bind(var)
            if var in early:
                self.append(assign(target, const(None, loc), loc))

    def stmt_set(self, node: Any, dest: Dest) -> None:
        value = self.set_value(node)
        if dest.kind != "drop":
            self.finish(value, dest, self.loc(node))
        elif dest.after:
            self.append(ast.Break(**self.loc(node)))

    def set_value(self, node: Any) -> ast.expr:
        """Emits the assignment; returns the expression for the form's value."""
        var, loc = node.var, self.loc(node)
        if var.is_global:
            if not self.at_module:
                self.assigned_globals.add(var.py)
        elif not var.py:  # defined in the middle of an expression
            self.bind(var)
        elif var not in self.owned:
            self.nonlocals.add(var.py)
        if type(node.value) is ir.Lambda and node.define and (var.is_global or var in self.owned):
            self.def_lambda(node.value, var.py)
        else:
            self.stmt(node.value, Dest("assign", var.py))
        return const(None, loc) if node.define == "global" else name(var.py, loc)

    def stmt_throw(self, node: Any, dest: Dest) -> None:
        maker = "sema_runtime.lib.language.control:throw_value"
        if throws_plainly(node.value):
            maker = "sema_runtime.values.errors:Thrown"
            if has_plain_keys(node.value):
                self.module.unit.raw.add(node.value)
                maker = "sema_runtime.values.errors:ThrownMap"
        value = self.expr(node.value)
        loc = self.loc(node)
        error = ast.Call(self.runtime(maker, loc), [value], [], **loc)
        self.append(ast.Raise(error, None, **loc))

    # Functions

    def def_lambda(self, node: Any, target: str) -> None:
        """Emits `def target(...)` for a Lambda."""
        function = node.function
        loc = self.loc(node) if node.span is not None else self.current
        inner = FunctionEmitter(self.module, self, function.body)
        inner.function = function
        if self.at_module or self.parent is None:
            inner.names.taken |= globals_of(function.body)
        shown = "<lambda>" if function.anonymous else function.name
        self.module.names.note(target, shown)
        arguments = inner.parameters(function, loc)
        if function.doc is not None:
            inner.append(ast.Expr(const(function.doc, loc), **loc))
        if function.rest is not None:
            rest = function.rest.py
            as_list = ast.Call(inner.runtime("sema_runtime.values.lists:List", loc), [name(rest, loc)], [], **loc)
            inner.append(assign(rest, as_list, loc))
        body = function.body
        if function.doc is not None and type(body) is ir.Seq:
            body = ir.Seq(body.items[1:], span=body.span) if len(body.items) > 2 else body.items[1]
        inner.function_body(function, body)
        self.append(inner.definition(target, arguments, inner.block, loc))

    def parameters(self, function: ir.Function, loc: Loc) -> ast.arguments:
        args = []
        seen: dict[str, ir.Var] = {}
        for var in function.params:
            seen[var.name] = var
        for var in function.params:
            if seen[var.name] is not var:  # of equal names the last one counts
                args.append(ast.arg(self.names.temporary("unused"), None, **loc))
                continue
            args.append(ast.arg(self.bind(var), None, **loc))
        vararg = ast.arg(self.bind(function.rest), None, **loc) if function.rest is not None else None
        return ast.arguments([], args, vararg, [], [], None, [])

    def function_body(self, function: ir.Function, body: Any) -> None:
        if function.self_tail:
            self.self_tail_loop(function, body)
        else:
            self.stmt(body, RETURN)
        last = self.block[-1] if self.block else None
        if isinstance(last, ast.Return) and isinstance(last.value, ast.Constant) and last.value.value is None:
            self.block.pop()

    def definition(self, target: str, arguments: ast.arguments, body: list[ast.stmt], loc: Loc) -> ast.stmt:
        head: list[ast.stmt] = []
        if self.assigned_globals:
            head.append(ast.Global(sorted(self.assigned_globals), **loc))
        if self.nonlocals:
            head.append(ast.Nonlocal(sorted(self.nonlocals), **loc))
        position = 1 if body and is_docstring(body[0]) else 0
        body[position:position] = head
        extra: dict[str, Any] = dict(loc)
        return ast.FunctionDef(target, arguments, body or [ast.Pass(**loc)], [], None, **extra, **TYPE_PARAMS)

    # Expressions

    def expr(self, node: Any) -> ast.expr:
        """Emits node as an expression; statements it needs go to the current block first."""
        return EXPRESSIONS[type(node)](self, node)  # type: ignore[no-any-return]

    def expr_const(self, node: Any) -> ast.expr:
        value, loc = node.value, self.loc(node)
        if isinstance(value, ATOMS):
            if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
                return ast.Call(name("float", loc), [const(str(value), loc)], [], **loc)
            return const(value, loc)
        return self.constant_data(value, loc)

    def expr_ref(self, node: Any) -> ast.expr:
        if not node.var.py:  # declared, but nothing that runs ever defines it
            return const(None, self.loc(node))
        return name(node.var.py, self.loc(node))

    def expr_box(self, node: Any) -> ast.expr:
        return self.wrap(self.expr(node.value), node.kind)

    def expr_let(self, node: Any) -> ast.expr:
        self.let_bindings(node)
        return self.expr(node.body)

    def expr_define(self, node: Any) -> ast.expr:
        self.define_vars(node)
        return self.expr(node.body)

    def expr_seq(self, node: Any) -> ast.expr:
        for item in node.items[:-1]:
            self.stmt(item, DROP)
        return self.expr(node.items[-1])

    def expr_set(self, node: Any) -> ast.expr:
        return self.set_value(node)

    def expr_throw(self, node: Any) -> ast.expr:
        loc = self.loc(node)
        return ast.Call(
            self.runtime("sema_runtime.lib.language.control:throw", loc), [self.expr(node.value)], [], **loc
        )

    def expr_lambda(self, node: Any) -> ast.expr:
        function = node.function
        if function.rest is None and is_short(function.body) and not function.self_tail and not unbounded(function):
            loc = self.loc(node)
            inner = FunctionEmitter(self.module, self, function.body)
            inner.function = function
            arguments = inner.parameters(function, loc)
            body = inner.expr(function.body)
            if not inner.block and not inner.nonlocals and not inner.assigned_globals:
                return ast.Lambda(arguments, body, **loc)
        target = self.names.temporary(ir_name(function))
        self.def_lambda(node, target)
        return name(target, self.current)


def ir_name(function: ir.Function) -> str:
    return mangle(function.py or (function.name if function.name != "<lambda>" else "fn"))


def is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


TYPE_PARAMS: dict[str, Any] = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}

STATEMENTS: dict[type, Any] = {
    ir.Seq: FunctionEmitter.stmt_seq,
    ir.Let: FunctionEmitter.stmt_let,
    ir.Define: FunctionEmitter.stmt_define,
    ir.Set: FunctionEmitter.stmt_set,
    ir.Throw: FunctionEmitter.stmt_throw,
    ir.If: FunctionEmitter.stmt_if,
    ir.While: FunctionEmitter.stmt_while,
    ir.NamedLet: FunctionEmitter.stmt_named_let,
    ir.Try: FunctionEmitter.stmt_try,
    ir.Match: FunctionEmitter.stmt_match,
    ir.Bind: FunctionEmitter.stmt_bind,
    ir.With: FunctionEmitter.stmt_with,
    ir.Call: FunctionEmitter.stmt_call,
    ir.CallBuiltin: FunctionEmitter.stmt_builtin,
    ir.PyImport: FunctionEmitter.stmt_py_import,
    ir.PySetAttr: FunctionEmitter.stmt_py_set_attr,
    ir.And: FunctionEmitter.stmt_and_or,
    ir.Or: FunctionEmitter.stmt_and_or,
}
EXPRESSIONS: dict[type, Any] = {
    ir.Const: FunctionEmitter.expr_const,
    ir.Quote: FunctionEmitter.expr_const,
    ir.Ref: FunctionEmitter.expr_ref,
    ir.Builtin: FunctionEmitter.expr_builtin,
    ir.Set: FunctionEmitter.expr_set,
    ir.If: FunctionEmitter.expr_if,
    ir.And: FunctionEmitter.expr_and,
    ir.Or: FunctionEmitter.expr_or,
    ir.Seq: FunctionEmitter.expr_seq,
    ir.Let: FunctionEmitter.expr_let,
    ir.Define: FunctionEmitter.expr_define,
    ir.Lambda: FunctionEmitter.expr_lambda,
    ir.NamedLet: FunctionEmitter.expr_statement,
    ir.While: FunctionEmitter.expr_while,
    ir.Call: FunctionEmitter.expr_call,
    ir.CallBuiltin: FunctionEmitter.expr_call_builtin,
    ir.Runtime: FunctionEmitter.expr_runtime,
    ir.Vector: FunctionEmitter.expr_vector,
    ir.MapLit: FunctionEmitter.expr_map,
    ir.Try: FunctionEmitter.expr_statement,
    ir.Throw: FunctionEmitter.expr_throw,
    ir.Match: FunctionEmitter.expr_statement,
    ir.Bind: FunctionEmitter.expr_bind,
    ir.With: FunctionEmitter.expr_statement,
    ir.Box: FunctionEmitter.expr_box,
    ir.PyImport: FunctionEmitter.expr_py_import,
    ir.PyAttr: FunctionEmitter.expr_py_attr,
    ir.PyItem: FunctionEmitter.expr_py_item,
    ir.PySetAttr: FunctionEmitter.expr_py_set_attr,
    ir.PyCall: FunctionEmitter.expr_py_call,
    ir.Import: FunctionEmitter.expr_import,
}
