"""Truth: only nil and #f are false, so a test of a value of unknown type is spelled out."""

from __future__ import annotations

import ast

from semac.anf.nodes import Block, CallBuiltin, Expr, If, Lit, Logic, Op, Python, Result
from semac.anf.walk import blocks
from semac.generate.context import Context
from semac.generate.pyast import boolop, call, compare, const, name, negate, walrus
from semac.types.lattice import BOOL, FALSE, NIL, Type

TRUTHY = "sema_runtime.values.matching:truthy"  # where people read the Python


def truth(c: Context, expr: Expr) -> ast.expr:
    """An expression whose Python truth is the Sema truth of an operand."""
    if not isinstance(expr, Op):
        if type(expr) is Lit:
            return const(expr.value is not None and expr.value is not False, c.current)
        return truth_of(c, c.expr(expr), expr.type)
    if expr.weight:
        loc = c.loc(expr)
        if type(expr) is CallBuiltin and expr.name == "not" and len(expr.args) == 1:
            return negate(c.test(expr.args[0]), loc)
        if type(expr) is Python and expr.kind == "not":
            return negate(c.test(expr.args[0]), loc)
        if type(expr) is Logic:
            op: ast.boolop = ast.And() if expr.is_and else ast.Or()
            return boolop(op, [c.test(expr.first), c.test(value_of(expr.rest))], loc)
        if type(expr) is If:
            return truth_of_if(c, expr)
    return truth_of(c, c.expr(expr), expr.type)


def value_of(block: Block) -> Expr:
    """The value of a block that is an expression."""
    assert type(block.exit) is Result
    return block.exit.value


def truth_of_if(c: Context, op: If) -> ast.expr:
    """`(if a b #f)` tests `a and b`, `(if a #t b)` tests `a or b`."""
    test, loc = c.test(op.test), c.loc(op)
    then, otherwise = map(value_of, blocks(op))
    if type(otherwise) is Lit and (otherwise.value is None or otherwise.value is False):
        return boolop(ast.And(), [test, c.test(then)], loc)
    if type(then) is Lit and then.value is True:
        return boolop(ast.Or(), [test, c.test(otherwise)], loc)
    return ast.IfExp(test, c.test(then), c.test(otherwise), **loc)


def truth_of(c: Context, value: ast.expr, type_: Type) -> ast.expr:
    """The Python truth of an emitted value of a type."""
    if type_.only(BOOL):
        return value
    loc = c.current
    if type_.tags and not type_.tags & FALSE and type_.tags & NIL:
        return compare(value, ast.IsNot(), const(None, loc), loc)
    if c.module.unit.is_text:
        return call(c.runtime(TRUTHY, loc), [value], loc)
    if not isinstance(value, ast.Name):
        target = c.names.temporary("test")
        first = compare(walrus(target, value, loc), ast.IsNot(), const(None, loc), loc)
        value = name(target, loc)
    else:
        first = compare(value, ast.IsNot(), const(None, loc), loc)
    return boolop(ast.And(), [first, compare(name(value.id, loc), ast.IsNot(), const(False, loc), loc)], loc)


def logic_expression(c: Context, op: Logic) -> ast.expr:
    """`and` or `or` as an expression."""
    first = c.expr(op.first)
    kind: ast.boolop = ast.And() if op.is_and else ast.Or()
    loc = c.loc(op)
    if op.first.type.only(BOOL):
        return boolop(kind, [first, c.expr(value_of(op.rest))], loc)
    if not isinstance(first, ast.Name):
        target = c.names.temporary("value")
        kept: ast.expr = walrus(target, first, loc)
        again: ast.expr = name(target, loc)
    else:
        kept, again = first, name(first.id, loc)
    test = kept_test(c, kept, again, op.first.type)
    other = c.expr(value_of(op.rest))
    if op.is_and:
        return ast.IfExp(test, other, again, **loc)
    return ast.IfExp(test, again, other, **loc)


def kept_test(c: Context, kept: ast.expr, again: ast.expr, type_: Type) -> ast.expr:
    """The truth of a value that is assigned on the way (kept) and read again (again)."""
    loc = c.current
    if type_.only(BOOL):
        return kept
    first = compare(kept, ast.IsNot(), const(None, loc), loc)
    if type_.tags and not type_.tags & FALSE:
        return first
    if c.module.unit.is_text:
        return call(c.runtime(TRUTHY, loc), [kept], loc)
    return boolop(ast.And(), [first, compare(again, ast.IsNot(), const(False, loc), loc)], loc)
