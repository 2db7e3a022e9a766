"""Truth: conditions, `and`, `or`, `if` as expressions.

Only nil and #f are false, so a test of unknown type is spelled out.
"""

from __future__ import annotations

import ast
from typing import Any

from semac.emit.emitter import Emitter
from semac.emit.pyast import boolop, compare, const, name, negate, walrus
from semac.ir import nodes as ir
from semac.ir.facts import is_owned_assoc, is_short
from semac.ir.jumps import unbounded
from semac.ir.types import ANY, BOOL, NIL, TAGS, only

STATEMENT_NODES = frozenset((
    ir.Let, ir.NamedLet, ir.Define, ir.Bind, ir.Match, ir.Try, ir.While, ir.With, ir.Set, ir.Seq, ir.PyImport,
    ir.PySetAttr,
))  # fmt: skip


def is_expression(node: Any, budget: int = 80) -> bool:
    """Whether a node surely comes out as one Python expression (and not as a huge one)."""
    stack = [node]
    while stack:
        part = stack.pop()
        budget -= 1
        kind = type(part)
        if kind in STATEMENT_NODES or budget < 0:
            return False
        if kind is ir.Call and part.recur is not None:
            return False
        if kind is ir.Call and type(part.head) is ir.Ref and part.head.var.is_global and part.args:
            var = part.head.var
            if not var.defined or var.defined > 1 or var.assigned or var.late:
                return False  # such a function is looked up after its arguments
        if kind is ir.Call and type(part.head) not in (ir.Ref, ir.Const, ir.Builtin):
            return False  # a computed function is saved first
        if kind is ir.CallBuiltin and (part.inlined is not None or part.name == "foldl"):
            return False
        if kind is ir.CallBuiltin and is_owned_assoc(part) and part.args[0].var.owned:
            return False  # an assignment to an entry
        if kind is ir.Lambda:
            if part.function.rest is not None or not is_short(part.function.body) or unbounded(part.function):
                return False
            continue
        stack.extend(ir.children(part))
    return True


class Tests(Emitter):
    """How truth is tested."""

    def test(self, node: Any) -> ast.expr:
        """An expression whose Python truth is the Sema truth of node."""
        kind = type(node)
        loc = self.loc(node)
        if kind is ir.Const:
            return const(node.value is not None and node.value is not False, loc)
        if kind is ir.CallBuiltin and node.name == "not" and len(node.args) == 1:
            return negate(self.test(node.args[0]), loc)
        if (kind is ir.And or kind is ir.Or) and all(map(is_expression, node.items[1:])):
            op: ast.boolop = ast.And() if kind is ir.And else ast.Or()
            return boolop(op, [self.test(item) for item in node.items], loc)
        if kind is ir.If and is_expression(node.then) and is_expression(node.otherwise):
            return self.test_of_if(node)
        return self.truth_of(self.expr(node), node.type)

    def test_of_if(self, node: Any) -> ast.expr:
        """`(if a b #f)` tests `a and b`, `(if a #t b)` tests `a or b`."""
        test, loc = self.test(node.test), self.loc(node)
        if type(node.otherwise) is ir.Const and (node.otherwise.value is None or node.otherwise.value is False):
            return boolop(ast.And(), [test, self.test(node.then)], loc)
        if type(node.then) is ir.Const and node.then.value is True:
            return boolop(ast.Or(), [test, self.test(node.otherwise)], loc)
        return ast.IfExp(test, self.test(node.then), self.test(node.otherwise), **loc)

    def truth_of(self, value: ast.expr, mask: int) -> ast.expr:
        """The Python truth of an emitted value."""
        loc = self.current
        tags = mask & TAGS
        if only(mask, BOOL):
            return value
        if tags and not tags & BOOL and tags & NIL:
            return compare(value, ast.IsNot(), const(None, loc), loc)
        if not isinstance(value, ast.Name):
            target = self.names.temporary("test")
            first = compare(walrus(target, value, loc), ast.IsNot(), const(None, loc), loc)
            value = name(target, loc)
        else:
            first = compare(value, ast.IsNot(), const(None, loc), loc)
        return boolop(ast.And(), [first, compare(name(value.id, loc), ast.IsNot(), const(False, loc), loc)], loc)

    def expr_if(self, node: Any) -> ast.expr:
        if is_expression(node.then) and is_expression(node.otherwise):
            test = self.test(node.test)
            then, otherwise = self.expr(node.then), self.expr(node.otherwise)
            return ast.IfExp(test, then, otherwise, **self.loc(node))
        return self.expr_statement(node)

    def expr_and(self, node: Any) -> ast.expr:
        return self.logic(node, ast.And())

    def expr_or(self, node: Any) -> ast.expr:
        return self.logic(node, ast.Or())

    def logic(self, node: Any, op: ast.boolop) -> ast.expr:
        items = node.items
        if not all(is_expression(item) for item in items[1:]):
            return self.expr_statement(node)
        if all(only(item.type, BOOL) for item in items[:-1]):
            return boolop(op, [self.expr(item) for item in items], self.loc(node))
        first = self.expr(items[0])
        loc = self.loc(node)
        if not isinstance(first, ast.Name):
            target = self.names.temporary("value")
            kept: ast.expr = walrus(target, first, loc)
            again: ast.expr = name(target, loc)
        else:
            kept, again = first, name(first.id, loc)
        test = self.kept_test(kept, again, items[0].type)
        rest = items[1] if len(items) == 2 else type(node)(items[1:], span=node.span)
        if len(items) > 2:
            rest.type = ANY
        other = self.expr(rest)
        if isinstance(op, ast.And):
            return ast.IfExp(test, other, again, **loc)
        return ast.IfExp(test, again, other, **loc)

    def kept_test(self, kept: ast.expr, again: ast.expr, mask: int) -> ast.expr:
        """The truth of a value that is assigned on the way (kept) and read again (again)."""
        loc = self.current
        if only(mask, BOOL):
            return kept
        first = compare(kept, ast.IsNot(), const(None, loc), loc)
        if mask & TAGS and not mask & BOOL:
            return first
        return boolop(ast.And(), [first, compare(again, ast.IsNot(), const(False, loc), loc)], loc)
