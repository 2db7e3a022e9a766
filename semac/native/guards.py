"""Arithmetic and comparisons behind tests of types, as the compiler writes them for what it does not know."""

from __future__ import annotations

import ast

from semac.generate.guards import SMALL
from semac.native.arithmetic import ARITHMETIC, COMPARED, COMPARISONS, GUARDED, OPERATORS, arithmetic, finished, same
from semac.native.expressions import named, operands
from semac.native.function import FunctionCode
from semac.native.values import Value

# The sets of types that a test asks for: of numbers, and of all that Python compares as the language does.
KINDS = frozenset((ARITHMETIC + "INT_OR_FLOAT", "sema_runtime.values.atoms.PLAIN"))


def guarded(f: FunctionCode, node: ast.IfExp) -> Value | None:
    """`a + b if type(a) is type(b) in INT_OR_FLOAT else add(a, b)` and the like; None for other choices."""
    function = arithmetic_call(f, node.orelse)
    body = node.body
    if function is None or not isinstance(body, ast.BinOp) or type(body.op) is not GUARDED.get(function):
        return None
    assert isinstance(node.orelse, ast.Call)
    a, b = node.orelse.args
    if not (same(a, body.left) and same(b, body.right)):
        return None
    left_right = guarded_operands(f, node.test, node.orelse)
    if left_right is None:
        return None
    left, right = left_right
    if set(left.rep + right.rep) <= {"i", "f"}:
        return arithmetic(f, body.op, left, right, body)
    one, other = f.as_dynamic(left), f.as_dynamic(right)
    f.at(node.orelse)
    called = f.module.runtime_value(f, node.orelse.func.id).c  # type: ignore[attr-defined]
    kind = OPERATORS[type(body.op)]
    return finished(f, f.checked("d", f"sdyn_or_{kind}({one.c}, {other.c}, {called})", node.orelse), one, other)


def guarded_comparison(f: FunctionCode, node: ast.IfExp) -> str | None:
    """The same of a comparison, where only its truth is asked for."""
    function = arithmetic_call(f, node.orelse)
    body, is_not = node.body, False
    if isinstance(body, ast.UnaryOp) and isinstance(body.op, ast.Not):
        body, is_not = body.operand, True
    if function not in COMPARED or not isinstance(body, ast.Compare) or len(body.ops) != 1:
        return None
    kind = COMPARISONS.get(type(body.ops[0]), "")
    kind = f"not_{kind}" if is_not else kind
    assert isinstance(node.orelse, ast.Call)
    a, b = node.orelse.args
    if kind not in COMPARED[function] or not (same(a, body.left) and same(b, body.comparators[0])):
        return None
    values = guarded_operands(f, node.test, node.orelse)
    if values is None:
        return None
    left, right = values
    if left.rep == right.rep == "i":
        name = kind.removeprefix("not_")
        truth = f.temp("b", f"{'!' if is_not else ''}sint_{name}({left.c}, {right.c})")
        return finished(f, truth, left, right).c
    one, other = f.as_dynamic(left), f.as_dynamic(right)
    f.at(node.orelse)
    called = f.module.runtime_value(f, node.orelse.func.id).c  # type: ignore[attr-defined]
    way = "sdyn_num_eq" if function == "num_eq" else f"sdyn_or_{kind}"
    truth = f.checked("b", f"{way}({one.c}, {other.c}, {called})", node.orelse)
    return finished(f, truth, one, other).c


def arithmetic_call(f: FunctionCode, node: ast.expr) -> str | None:
    """The name of the function of the runtime's arithmetic that a call of two arguments calls."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or len(node.args) != 2 or node.keywords:
        return None
    path = f.module.runtime_path(f, node.func.id) or ""
    return path.removeprefix(ARITHMETIC) if path.startswith(ARITHMETIC) else None


def guarded_operands(f: FunctionCode, test: ast.expr, call: ast.Call) -> list[Value] | None:
    """The arguments of a call behind a test of their types, after what the test assigns."""
    assigned = assigned_in(f, test)
    if assigned is None:
        return None

    for node in assigned:
        named(f, node, is_number=True)
    return operands(f, call.args, as_objects=False)


def assigned_in(f: FunctionCode, test: ast.expr) -> list[ast.NamedExpr] | None:
    """What `type((n := x)) is type(m) in INT_OR_FLOAT` assigns, or a test of a size; None for other tests."""
    asked = asked_about(f, test)
    if asked is None:
        return None
    found: list[ast.NamedExpr] = []
    for argument in asked:
        if isinstance(argument, ast.NamedExpr):
            found.append(argument)
        elif not isinstance(argument, ast.Name):
            return None
    return found


def asked_about(f: FunctionCode, test: ast.expr) -> list[ast.expr] | None:
    """The operands of which a test asks whether they are numbers, of the same type, or small."""
    if not isinstance(test, ast.Compare):
        return None
    parts = [test.left, *test.comparators]
    if all(isinstance(op, ast.Lt) for op in test.ops):
        asked = [part for part in parts if not is_bound(part)]
        return asked if len(asked) == 1 and len(parts) > 1 else None
    if not f.module.is_builtin(f, "type") or not all(isinstance(op, ast.Is) for op in test.ops[:-1]):
        return None
    if is_number_type(f, test.ops[-1], parts[-1]):
        parts.pop()
    elif not isinstance(test.ops[-1], ast.Is):
        return None
    arguments: list[ast.expr] = []
    for part in parts:
        if not (isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "type"):
            return None
        arguments += part.args
    return arguments


def is_bound(node: ast.expr) -> bool:
    """Whether a number is one that the compiler compares ints with before a float meets them."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) is int and abs(node.value) == SMALL


def is_number_type(f: FunctionCode, op: ast.cmpop, node: ast.expr) -> bool:
    if not isinstance(node, ast.Name):
        return False
    if isinstance(op, ast.Is):
        return node.id in ("int", "float") and f.module.is_builtin(f, node.id)
    return isinstance(op, ast.In) and f.module.runtime_path(f, node.id) in KINDS
