"""Operators of numbers: on ints and floats that are known, on dynamic values, and behind tests of types.

Emitted code writes `a + b if type(a) is type(b) in INT_OR_FLOAT else add(a, b)`. `add` does the same to two ints and to
two floats, and its answer is the one for all else; so such an expression is one operation on dynamic values.
"""

from __future__ import annotations

import ast
from typing import Any

from semac.native.function import FunctionCode
from semac.native.values import NotNative, Value

ARITHMETIC = "sema_runtime.lib.numbers.arithmetic."
OPERATORS: dict[type, str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod",
}  # fmt: skip
SIGNS = {"add": "+", "sub": "-", "mul": "*"}
NUMBER_CALLS: dict[type, str] = {
    ast.BitAnd: "PyNumber_And", ast.BitOr: "PyNumber_Or", ast.BitXor: "PyNumber_Xor", ast.LShift: "PyNumber_Lshift",
    ast.RShift: "PyNumber_Rshift",
}  # fmt: skip
BITS: dict[type, int] = {ast.BitAnd: 0, ast.BitOr: 1, ast.BitXor: 2}
GUARDED = {"add": ast.Add, "plus": ast.Add, "sub": ast.Sub, "minus": ast.Sub, "mul": ast.Mult, "times": ast.Mult}
COMPARED = {
    "lt": ("lt",), "less": ("lt",), "gt": ("gt",), "greater": ("gt",), "le": ("not_gt", "le"), "ge": ("not_lt", "ge"),
    "less_or_equal": ("le",), "greater_or_equal": ("ge",), "num_eq": ("eq",), "numbers_equal": ("eq",),
}  # fmt: skip
COMPARISONS: dict[type, str] = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip


def arithmetic(f: FunctionCode, op: ast.operator, left: Value, right: Value, node: ast.expr) -> Value:
    """The value of an operator of Python."""
    kind = OPERATORS.get(type(op))
    reps = left.rep + right.rep
    if reps == "ii":
        result = int_operation(f, op, kind, left, right, node)
        if result is not None:
            return result
    if kind in (*SIGNS, "div") and set(reps) <= {"i", "f"} and "f" in reps:
        return float_operation(f, str(kind), left, right, node)
    if kind == "add" and left.kind == right.kind == "str":
        return finished(f, f.checked("o", f"PyUnicode_Concat({left.c}, {right.c})", node, "str"), left, right)
    if kind is not None:
        a, b = f.as_dynamic(left), f.as_dynamic(right)
        f.at(node)
        return finished(f, f.checked("d", f"sdyn_{kind}({a.c}, {b.c})", node), a, b)
    a, b = f.as_object(left, node), f.as_object(right, node)
    f.at(node)
    if isinstance(op, ast.Pow):
        return finished(f, f.checked("o", f"PyNumber_Power({a.c}, {b.c}, Py_None)", node), a, b)
    if type(op) not in NUMBER_CALLS:
        raise NotNative(f"{type(op).__name__} of Python")
    return finished(f, f.checked("o", f"{NUMBER_CALLS[type(op)]}({a.c}, {b.c})", node), a, b)


def finished(f: FunctionCode, result: Value, *operands: Value) -> Value:
    for operand in reversed(operands):
        f.drop_below(operand)
    return result


def int_operation(
    f: FunctionCode, op: ast.operator, kind: str | None, left: Value, right: Value, node: ast.expr
) -> Value | None:
    if type(op) in BITS:
        c = f"sint_bits({left.c}, {right.c}, {BITS[type(op)]})"
    elif isinstance(op, ast.RShift):
        c = f"sint_rshift({left.c}, {right.c})"
    elif kind is not None and kind != "div":
        c = f"sint_{kind}({left.c}, {right.c})"
    else:
        return None
    return finished(f, f.checked("i", c, node), left, right)


def float_operation(f: FunctionCode, kind: str, left: Value, right: Value, node: ast.expr) -> Value:
    a, b = as_float(f, left, node), as_float(f, right, node)
    if kind == "div":
        f.fail_if(f"{b} == 0.0 && sema_divides({a}, {b})", node)
    return finished(f, f.temp("f", f"{a} {SIGNS.get(kind, '/')} {b}"), left, right)


def as_float(f: FunctionCode, value: Value, node: ast.AST) -> str:
    """An int or a float as a double."""
    if value.rep == "f":
        return value.c
    if value.c.startswith("SHORT("):
        return f"{value.c[6:-1]}.0" if abs(int(value.c[6:-1])) < 1 << 53 else f"(double)({value.c[6:-1]}LL)"
    name = f.fresh("t")
    f.emit(f"double {name} = sint_double({value.c});")
    return name


def negated(f: FunctionCode, value: Value, node: ast.expr) -> Value:
    """`-value`"""
    if value.rep == "i":
        return finished(f, f.checked("i", f"sint_neg({value.c})", node), value)
    if value.rep == "f":
        return f.temp("f", f"-{value.c}")
    value = f.as_dynamic(value)
    f.at(node)
    return finished(f, f.checked("d", f"sdyn_neg({value.c})", node), value)


# Behind tests of types


def same(a: ast.expr, b: Any) -> bool:
    """Whether two operands surely are the same name or number."""
    if isinstance(a, ast.Name):
        return isinstance(b, ast.Name) and a.id == b.id
    return (
        isinstance(a, ast.Constant) and isinstance(b, ast.Constant)
        and type(a.value) is type(b.value) and a.value == b.value
    )  # fmt: skip
