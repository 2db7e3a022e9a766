"""Choices and logic as values: `a if test else b`, `a or b`, `not a`, comparisons."""

from __future__ import annotations

import ast
from collections.abc import Callable

from semac.native.arithmetic import negated
from semac.native.expressions import (
    Handler,
    as_truth,
    assigns,
    attribute,
    expr,
    inlined_call,
    meet,
    negated_c,
    truth,
)
from semac.native.function import FunctionCode
from semac.native.guards import guarded
from semac.native.tests import comparison, test
from semac.native.values import C_TYPES, COUNTED, NotNative, Unknown, Value, join, placed


def choice(f: FunctionCode, node: ast.IfExp) -> Value:
    known = guarded(f, node) or accessor(f, node)
    if known is not None:
        return known
    condition = test(f, node.test)
    if condition in ("0", "1"):
        return expr(f, node.body if condition == "1" else node.orelse)
    return merged(f, condition, lambda: expr(f, node.body), lambda: expr(f, node.orelse), node)


def accessor(f: FunctionCode, node: ast.IfExp) -> Value | None:
    """`xs.car if type(xs) is List else car(xs)` and the like: what the function does natively anyway."""
    call = inlined_call(f, node)
    return None if call is None else expr(f, call)


def merged(
    f: FunctionCode, condition: str, one: Callable[[], Value], other: Callable[[], Value], node: ast.expr
) -> Value:
    """The value of one of two branches, by a condition of C."""
    before = f.assigned
    with f.into() as then:
        a = branch(f, one)
        after = f.assigned
    f.assigned = before
    with f.into() as otherwise:
        b = branch(f, other)
        f.assigned = meet(after, f.assigned)
    if a is None or b is None:
        if a is b:
            raise Unknown
        known = a or b
        assert known is not None
        a = b = Value(known.c, known.rep, kind=known.kind)
    rep = join(a.rep, b.rep)
    kind = a.kind if a.kind == b.kind else ""
    result = f.fresh("t")
    f.emit(f"{C_TYPES[rep]}{result};")
    f.emit(f"if ({condition}) {{")
    into(f, then, a, rep, result, node)
    f.emit("} else {")
    into(f, otherwise, b, rep, result, node)
    f.emit("}")
    value = Value(result, rep, rep in COUNTED, kind)
    if value.is_owned:
        f.live.append(value)
    return value


def branch(f: FunctionCode, write: Callable[[], Value]) -> Value | None:
    """The value of a branch, which isn't among the temporaries while others are written; None if it is unknown yet."""
    found: list[Value] = []
    f.guess(lambda: found.append(write()))
    if not found:
        return None
    (value,) = found
    if value.is_owned:
        f.forget(value)
        value.is_owned = True
    return value


def into(f: FunctionCode, lines: list[str], value: Value, rep: str, target: str, node: ast.expr) -> None:
    """The lines of a branch, and that its value reaches the target as a reference of its own."""
    f.out += lines
    if value.is_owned:
        f.live.append(value)
    f.emit(f"{target} = {f.take(f.converted(value, rep, node))};")


def logic(f: FunctionCode, node: ast.BoolOp) -> Value:
    """`a or b` as a value."""
    if len(node.values) == 2 and isinstance(node.op, ast.Or) and is_items(node):
        return attribute(f, node.values[1])  # type: ignore[arg-type]
    first, *rest = node.values
    more = rest[0] if len(rest) == 1 else placed(ast.BoolOp(node.op, rest), node)
    value = expr(f, first)
    is_or = isinstance(node.op, ast.Or)
    if value.rep == "b":
        if value.c in ("0", "1"):
            return value if (value.c == "1") == is_or else expr(f, more)
        return merged(
            f, value.c if is_or else f"!({value.c})", lambda: Value(str(int(is_or)), "b"), lambda: expr(f, more), node
        )
    if isinstance(first, ast.Name) and assigns(more, first.id):
        value = f.kept(value)
    condition = truth(f, value, first)
    is_owned = value.is_owned
    f.forget(value)
    value.is_owned = is_owned

    def drop_first() -> Value:
        if value.is_owned:
            f.live.append(value)
            f.drop(value)
        return expr(f, more)

    def keep_first() -> Value:
        if value.is_owned:
            f.live.append(value)
        return value

    return merged(f, condition if is_or else f"!({condition})", keep_first, drop_first, node)


def is_items(node: ast.BoolOp) -> bool:
    """`xs.flat or xs.items`."""
    a, b = node.values
    return (
        isinstance(a, ast.Attribute) and isinstance(b, ast.Attribute) and a.attr == "flat" and b.attr == "items"
        and isinstance(a.value, ast.Name) and isinstance(b.value, ast.Name) and a.value.id == b.value.id
    )  # fmt: skip


def unary(f: FunctionCode, node: ast.UnaryOp) -> Value:
    if isinstance(node.op, ast.Not):
        return as_truth(f, negated_c(test(f, node.operand)))
    if isinstance(node.op, ast.USub):
        return negated(f, expr(f, node.operand), node)
    raise NotNative("an operator of one operand")


def comparison_value(f: FunctionCode, node: ast.Compare) -> Value:
    return as_truth(f, comparison(f, node))


CHOICES: dict[type, Handler] = {ast.IfExp: choice, ast.BoolOp: logic, ast.UnaryOp: unary, ast.Compare: comparison_value}
