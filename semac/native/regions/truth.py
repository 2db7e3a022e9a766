"""Tests of numbers, and choices by tests."""

from __future__ import annotations

import ast
from collections.abc import Callable

from semac.native.arithmetic import ARITHMETIC, COMPARISONS
from semac.native.expressions import assigns
from semac.native.regions.expressions import NUMBERS, double, named, number
from semac.native.regions.guarded import called_path, is_field, is_same, type_tests
from semac.native.regions.state import Number, Numeric, Other
from semac.native.tests import SIGNS
from semac.native.values import C_TYPES

CALLS: dict[str, str] = {
    "lt": "{} < {}", "gt": "{} > {}", "le": "!({} > {})", "ge": "!({} < {})", "less": "{} < {}", "greater": "{} > {}",
    "less_or_equal": "{} <= {}", "greater_or_equal": "{} >= {}", "num_eq": "{} == {}",
}  # fmt: skip


def test(r: Numeric, node: ast.expr) -> str:
    """The truth of an expression, in C."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return f"!({test(r, node.operand)})"
    if isinstance(node, ast.BoolOp):
        return logic(r, node)
    if isinstance(node, ast.Compare):
        return comparison(r, node)
    if isinstance(node, ast.IfExp):
        if not is_guarded(r, node):
            raise Other
        return test(r, node.body)
    if isinstance(node, ast.Call):
        return compared_call(r, node)
    if isinstance(node, ast.Name):
        variable = r.f.variable(node.id)
        if variable is not None and variable.rep == "b" and variable.where in ("local", "param"):
            return variable.c
    rep, c = number(r, node)
    return f"({c} != 0.0)" if rep == "f" else f"({c} != 0)"


def logic(r: Numeric, node: ast.BoolOp) -> str:
    is_and = isinstance(node.op, ast.And)
    name = r.f.fresh("x")
    first, *rest = node.values
    r.emit(f"int {name} = {test(r, first)};")
    for part in rest:

        def write(part: ast.expr = part) -> None:
            r.emit(f"{name} = {test(r, part)};")

        r.either(name if is_and else f"!{name}", write, lambda: None)
    return name


def comparison(r: Numeric, node: ast.Compare) -> str:
    if len(node.ops) != 1 or type(node.ops[0]) not in COMPARISONS:
        raise Other
    sign = SIGNS[COMPARISONS[type(node.ops[0])]]
    if isinstance(node.left, ast.Name) and assigns(node.comparators[0], node.left.id):
        raise Other
    return compared(r, f"{{}} {sign} {{}}", node.left, node.comparators[0])


def compared_call(r: Numeric, node: ast.Call) -> str:
    path = called_path(r, node)
    text = CALLS.get(path.removeprefix(ARITHMETIC))
    if text is None or not path.startswith(ARITHMETIC) or len(node.args) != 2:
        raise Other
    if isinstance(node.args[0], ast.Name) and assigns(node.args[1], node.args[0].id):
        raise Other
    return compared(r, text, *node.args)


def compared(r: Numeric, text: str, one: ast.expr, other: ast.expr) -> str:
    a, b = number(r, one), number(r, other)
    if a[0] != b[0]:
        for rep, c in (a, b):
            if rep == "i" and not c.startswith("SHORT("):
                r.leave_if(f"!IS_EXACT({c})")
        a, b = ("f", double(a)), ("f", double(b))
    r.score += a[0] == "f"
    return r.held(("b", text.format(a[1], b[1])))[1]


def choice(r: Numeric, node: ast.IfExp) -> Number:
    """`a + b if type(a) is type(b) in INT_OR_FLOAT else add(a, b)`, which is the same for all that is read here, or
    one of two numbers."""
    if is_guarded(r, node):
        return number(r, node.body)
    if is_field(r, node):
        return number(r, node.body)
    condition = test(r, node.test)
    name = r.f.fresh("x")
    place = len(r.out)
    reps: set[str] = set()

    def way(part: ast.expr) -> Callable[[], None]:
        def write() -> None:
            rep, c = number(r, part)
            reps.add(rep)
            r.emit(f"{name} = {c};")

        return write

    r.either(condition, way(node.body), way(node.orelse))
    if len(reps) != 1:
        raise Other
    (rep,) = reps
    r.out.insert(place, f"{C_TYPES[rep]}{name};")
    return rep, name


def is_guarded(r: Numeric, node: ast.IfExp) -> bool:
    """Whether a choice is an operation behind a test of types, and what the test assigns is done."""
    assigned = type_tests(r, node.test)
    if assigned is None or not is_same(r, node.body, node.orelse):
        return False
    for part in assigned:
        named(r, part)
    return True


NUMBERS[ast.IfExp] = choice
