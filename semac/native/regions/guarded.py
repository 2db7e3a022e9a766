"""Operations behind tests of types, as the compiler writes them for what it does not know."""

from __future__ import annotations

import ast

from semac.native.arithmetic import ARITHMETIC, COMPARED, COMPARISONS, same
from semac.native.guards import asked_about
from semac.native.regions.state import Numeric, Other

OPERATIONS: dict[str, ast.operator] = {
    "add": ast.Add(), "plus": ast.Add(), "sub": ast.Sub(), "minus": ast.Sub(), "mul": ast.Mult(), "times": ast.Mult(),
    "div": ast.Div(), "over": ast.Div(),
}  # fmt: skip
ROOTS = ("math.sqrt", "sema_runtime.lib.numbers.math.sqrt")
EFFECTS = (ast.NamedExpr, ast.Call, ast.Lambda)


def called_path(r: Numeric, node: ast.Call) -> str:
    if node.keywords or not isinstance(node.func, ast.Name) or any(isinstance(arg, ast.Starred) for arg in node.args):
        raise Other
    path = r.f.module.runtime_path(r.f, node.func.id)
    if path is None:
        raise Other
    r.f.needs.add(node.func.id)
    return path


def type_tests(r: Numeric, node: ast.expr) -> list[ast.NamedExpr] | None:
    """What a test assigns that asks whether values are numbers, and perhaps what numbers; None for other tests."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        found = type_tests(r, node.values[0])
        for part in node.values[1:]:
            more = type_tests(r, part)
            if more is None and any(isinstance(each, ast.NamedExpr | ast.Call) for each in ast.walk(part)):
                return None
            found = None if found is None else [*found, *(more or ())]
        return found
    asked = asked_about(r.f, node)
    if asked is None:
        return None
    assigned: list[ast.NamedExpr] = []
    for argument in asked:
        if isinstance(argument, ast.NamedExpr):
            assigned.append(argument)
        elif not isinstance(argument, ast.Name | ast.Constant):
            return None
    return assigned


def is_same(r: Numeric, body: ast.expr, call: ast.expr) -> bool:
    """Whether an operation is what a call of the runtime's arithmetic computes of numbers."""
    if not isinstance(call, ast.Call):
        return False
    path = called_path(r, call)
    name = path.removeprefix(ARITHMETIC)
    if isinstance(body, ast.Call):
        return path in ROOTS and called_path(r, body) in ROOTS and all_same(call.args, body.args)
    if not path.startswith(ARITHMETIC):
        return False
    is_not = isinstance(body, ast.UnaryOp) and isinstance(body.op, ast.Not)
    if is_not:
        body = body.operand  # type: ignore[attr-defined]
    if isinstance(body, ast.Compare) and len(body.ops) == 1:
        kind = ("not_" if is_not else "") + COMPARISONS.get(type(body.ops[0]), "")
        return kind in COMPARED.get(name, ()) and all_same(call.args, [body.left, *body.comparators])
    if isinstance(body, ast.UnaryOp) and isinstance(body.op, ast.USub):
        return name == "negate" and all_same(call.args, [body.operand])
    operands: list[ast.expr] = []
    op = type(OPERATIONS.get(name))
    while isinstance(body, ast.BinOp) and type(body.op) is op and len(operands) < len(call.args) - 1:
        operands.insert(0, body.right)
        body = body.left
    return all_same(call.args, [body, *operands])


def all_same(these: list[ast.expr], those: list[ast.expr]) -> bool:
    """Whether expressions that have no effects are the same."""
    return len(these) == len(those) and all(
        same(this, that)
        or (ast.dump(this) == ast.dump(that) and not any(isinstance(each, EFFECTS) for each in ast.walk(this)))
        for this, that in zip(these, those, strict=True)
    )


def is_field(r: Numeric, node: ast.IfExp) -> bool:
    """`p.x if type(p) is Particle else particle_x(p)`"""
    test, body = node.test, node.body
    if not (isinstance(body, ast.Attribute) and isinstance(body.value, ast.Name) and isinstance(test, ast.Compare)):
        return False
    if ast.unparse(test.left) != f"type({body.value.id})" or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Is):
        return False
    of = test.comparators[0]
    return isinstance(of, ast.Name) and body.attr in r.f.module.classes.get(of.id, ())
