"""Expressions of floats and short ints in plain C: a table of functions over (region, node)."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from semac.native.arithmetic import ARITHMETIC
from semac.native.expressions import SLOTS, assigns
from semac.native.regions.guarded import OPERATIONS, ROOTS, called_path
from semac.native.regions.state import Number, Numeric, Other

SIGNS: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
OVER: dict[type, str] = {
    ast.Add: "ADD_OVER({}, {}, &{})", ast.Sub: "SUB_OVER({}, {}, &{})", ast.Mult: "MUL_OVER({}, VALUE({}), &{})",
}  # fmt: skip
EXACT = 1 << 53


def number(r: Numeric, node: ast.expr) -> Number:
    """Raises Other."""
    handler = NUMBERS.get(type(node))
    if handler is None:
        raise Other
    return handler(r, node)


def double(number: Number) -> str:
    rep, c = number
    if rep == "f":
        return c
    return f"(double)VALUE({c})"


def operation(r: Numeric, op: ast.operator, left: Number, right: Number) -> Number:
    if type(op) not in SIGNS:
        raise Other
    if left[0] == right[0] == "i":
        if type(op) not in OVER:
            raise Other
        name = r.f.fresh("x")
        r.emit(f"sint {name};")
        r.leave_if(OVER[type(op)].format(left[1], right[1], name))
        return "i", name
    a, b = double(left), double(right)
    if isinstance(op, ast.Div):
        r.is_float = True
        r.leave_if(f"{b} == 0.0")
    r.score += 1
    return r.held(("f", f"{a} {SIGNS[type(op)]} {b}"))


def binary(r: Numeric, node: ast.BinOp) -> Number:
    left = number(r, node.left)
    if isinstance(node.left, ast.Name) and assigns(node.right, node.left.id):
        left = r.held(left)
    return operation(r, node.op, left, number(r, node.right))


def constant(r: Numeric, node: ast.Constant) -> Number:
    return literal(r, node.value)


def literal(r: Numeric, value: object) -> Number:
    if type(value) is float:
        r.is_float = True
        return "f", r.f.module.float_text(value)
    if type(value) is int and abs(value) < EXACT:
        return "i", f"SHORT({value})"
    raise Other


def name_(r: Numeric, node: ast.Name) -> Number:
    variable = r.f.variable(node.id)
    if variable is not None:
        return r.read(variable)
    module = r.f.module
    if node.id not in module.globals:
        raise Other
    r.f.needs.add(node.id)
    return literal(r, module.literals.get(node.id))


def named(r: Numeric, node: ast.NamedExpr) -> Number:
    r.put(node.target.id, number(r, node.value))
    return name_(r, ast.Name(node.target.id, ast.Load()))


def unary(r: Numeric, node: ast.UnaryOp) -> Number:
    if not isinstance(node.op, ast.USub):
        raise Other
    rep, c = number(r, node.operand)
    if rep == "f":
        return r.held(("f", f"-{c}"))
    return operation(r, ast.Sub(), ("i", "SHORT(0)"), (rep, c))


def attribute(r: Numeric, node: ast.Attribute) -> Number:
    """A field of a record."""
    places = r.f.module.slots_of(r.f, node.attr)
    if len(places) != 1 or node.attr in SLOTS or not isinstance(node.value, ast.Name):
        raise Other
    key = node.value.id, f".{node.attr}"
    if key in r.parts:
        return r.parts[key]
    ((type_, index),) = places
    c = r.object_of(node.value.id)
    if f"{c} {type_}" not in r.tested:
        r.tested.add(f"{c} {type_}")
        r.leave_if(f"!IS_A({c}, {type_})")
    return part(r, key, f"SLOT({c}, {index})")


def part(r: Numeric, key: tuple[str, str], c: str) -> Number:
    """A float that an object refers to."""
    name = r.f.fresh("part")
    r.emit(f"PyObject *{name} = {c};")
    r.leave_if(f"{name} == NULL || !PyFloat_CheckExact({name})")
    r.guesses += 1
    number = r.parts[key] = r.held(("f", f"PyFloat_AS_DOUBLE({name})"))
    r.objects[number[1]] = name
    return number


def subscript(r: Numeric, node: ast.Subscript) -> Number:
    """An item of a list or tuple, of variables."""
    if not isinstance(node.value, ast.Name) or not isinstance(node.slice, ast.Name | ast.Constant):
        raise Other
    c = r.object_of(node.value.id)
    rep, index = number(r, node.slice)
    if rep != "i":
        raise Other
    key = node.value.id, node.slice.id if isinstance(node.slice, ast.Name) else index
    if key in r.parts:
        return r.parts[key]
    if f"{c} items" not in r.tested:
        r.tested.add(f"{c} items")
        r.leave_if(f"!(PyList_CheckExact({c}) || PyTuple_CheckExact({c}))")
    r.leave_if(f"(size_t)VALUE({index}) >= (size_t)PySequence_Fast_GET_SIZE({c})")
    return part(r, key, f"PySequence_Fast_GET_ITEM({c}, VALUE({index}))")


def call(r: Numeric, node: ast.Call) -> Number:
    path = called_path(r, node)
    if path in ROOTS and len(node.args) == 1:
        asked = number(r, node.args[0])
        if asked[0] != "f":
            raise Other
        c = asked[1]
        r.leave_if(f"!({c} >= 0.0)")
        r.is_float = True
        return r.held(("f", f"sqrt({c})"))
    op = OPERATIONS.get(path.removeprefix(ARITHMETIC))
    if op is None or not path.startswith(ARITHMETIC) or len(node.args) < 2:
        raise Other
    if isinstance(op, ast.Div) and len(node.args) > 2:
        raise Other
    total = number(r, node.args[0])
    for before, arg in zip(node.args, node.args[1:], strict=False):
        if isinstance(before, ast.Name) and assigns(arg, before.id):
            raise Other
        total = operation(r, op, total, number(r, arg))
    return total


NUMBERS: dict[type, Callable[[Numeric, Any], Number]] = {
    ast.BinOp: binary,
    ast.Constant: constant,
    ast.Name: name_,
    ast.NamedExpr: named,
    ast.UnaryOp: unary,
    ast.Attribute: attribute,
    ast.Subscript: subscript,
    ast.Call: call,
}
