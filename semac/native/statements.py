"""Statements: a table of functions over (code, node)."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from semac.native.arithmetic import arithmetic
from semac.native.closures import closure
from semac.native.control import BLOCK, break_, continue_, if_, return_, while_
from semac.native.errors import forget, raise_, try_, with_
from semac.native.expressions import expr, obj, operands
from semac.native.function import FunctionCode
from semac.native.iteration import for_
from semac.native.regions.statements import region_at
from semac.native.targets import to_attribute, to_item, to_name, to_target, unpack
from semac.native.tests import test
from semac.native.values import NotNative, Value, placed

Handler = Callable[[FunctionCode, Any], None]


def block(f: FunctionCode, body: list[ast.stmt]) -> None:
    """Writes statements, up to the first one that nothing reaches."""
    if f.module.is_draft or f.is_second_way:
        plain_block(f, body)
        return
    at = 0
    while at < len(body) and f.assigned is not None:
        end, region = region_at(f, body, at)
        if region is None:
            plain_block(f, body[at:end])
        else:
            f.out += region.lines()
            f.is_second_way = True
            plain_block(f, body[at:end])
            f.is_second_way = False
            f.emit(f"{region.name}_end: ;")
        at = end


def plain_block(f: FunctionCode, body: list[ast.stmt]) -> None:
    for node in body:
        if f.assigned is None:
            return
        statement(f, node)


def statement(f: FunctionCode, node: ast.stmt) -> None:
    handler = STATEMENTS.get(type(node))
    if handler is None:
        raise NotNative(f"{type(node).__name__} of Python")
    f.guess(lambda: handler(f, node))
    f.note_early(node)


# Assignments


def assign(f: FunctionCode, node: ast.Assign) -> None:
    if len(node.targets) > 1:
        value = expr(f, node.value)
        for target in node.targets[:-1]:
            to_target(f, target, f.temp(value.rep, copied(value), kind=value.kind))
        to_target(f, node.targets[-1], value)
        return
    target = node.targets[0]
    if isinstance(target, ast.Tuple):
        unpack(f, target, node.value)
    elif isinstance(target, ast.Name):
        to_name(f, target, expr(f, node.value))
    elif isinstance(target, ast.Subscript):
        to_item(f, target, node.value)
    elif isinstance(target, ast.Attribute):
        to_attribute(f, target, node.value)
    else:
        raise NotNative("an assignment")


def copied(value: Value) -> str:
    """A reference more to a value."""
    return {"o": "Py_NewRef({})", "i": "sint_keep({})", "d": "sdyn_keep({})"}.get(value.rep, "{}").format(value.c)


def annotated(f: FunctionCode, node: ast.AnnAssign) -> None:
    if node.value is not None:
        assign(f, placed(ast.Assign([node.target], node.value), node))


def augmented(f: FunctionCode, node: ast.AugAssign) -> None:
    """`x += y` of numbers; of lists and dicts it would change them in place."""
    if not isinstance(node.target, ast.Name):
        augmented_part(f, node)
        return
    left_node = placed(ast.Name(node.target.id, ast.Load()), node.target)
    left, right = operands(f, [left_node, node.value], as_objects=False)
    to_name(f, node.target, in_place(f, node, left, right))


def in_place(f: FunctionCode, node: ast.AugAssign, left: Value, right: Value) -> Value:
    if {left.rep, right.rep} <= {"i", "f", "d"}:
        return arithmetic(f, node.op, left, right, node)  # type: ignore[arg-type]
    call = IN_PLACE.get(type(node.op))
    if call is None:
        raise NotNative("an operator")
    a, b = f.as_object(left, node), f.as_object(right, node)
    f.at(node)
    result = f.checked("d", f"sema_in_place({a.c}, {b.c}, {call})", node)
    f.drop_below(b)
    f.drop_below(a)
    return result


def augmented_part(f: FunctionCode, node: ast.AugAssign) -> None:
    """`a.b += x` and `a[b] += x`"""
    target = node.target
    assert isinstance(target, ast.Attribute | ast.Subscript)
    receiver = obj(f, target.value)
    f.at(target)
    if isinstance(target, ast.Attribute):
        name = f.module.constant_name(target.attr)
        old = f.checked("o", f"PyObject_GetAttr({receiver.c}, {name})", target)
        result = f.as_object(in_place(f, node, old, expr(f, node.value)), node)
        f.fail_if(f"PyObject_SetAttr({receiver.c}, {name}, {result.c}) < 0", target)
    else:
        if isinstance(target.slice, ast.Slice):
            raise NotNative("an assignment to a slice")
        key = obj(f, target.slice)
        f.at(target)
        old = f.checked("o", f"sema_item({receiver.c}, {key.c})", target)
        result = f.as_object(in_place(f, node, old, expr(f, node.value)), node)
        f.fail_if(f"sema_set_item({receiver.c}, {key.c}, {result.c}) < 0", target)
        f.drop_below(key)
    f.drop_below(result)
    f.drop_below(receiver)


IN_PLACE: dict[type, str] = {
    ast.Add: "PyNumber_InPlaceAdd", ast.Sub: "PyNumber_InPlaceSubtract", ast.Mult: "PyNumber_InPlaceMultiply",
    ast.BitOr: "PyNumber_InPlaceOr", ast.BitAnd: "PyNumber_InPlaceAnd", ast.LShift: "PyNumber_InPlaceLshift",
    ast.RShift: "PyNumber_InPlaceRshift", ast.FloorDiv: "PyNumber_InPlaceFloorDivide",
    ast.Mod: "PyNumber_InPlaceRemainder", ast.Div: "PyNumber_InPlaceTrueDivide",
}  # fmt: skip


def expression(f: FunctionCode, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant):
        return
    if isinstance(node.value, ast.BoolOp | ast.IfExp | ast.Compare):
        test(f, node.value)
        return
    f.drop_below(expr(f, node.value))


def function(f: FunctionCode, node: ast.FunctionDef) -> None:
    if node.decorator_list:
        raise NotNative("a decorated function inside of another")
    to_name(f, placed(ast.Name(node.name, ast.Store()), node), closure(f, node))


def delete(f: FunctionCode, node: ast.Delete) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name) and (variable := f.variable(target.id)) is not None:
            forget(f, variable)
        elif isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
            container, key = operands(f, [target.value, target.slice])
            f.at(target)
            f.fail_if(f"PyObject_DelItem({container.c}, {key.c}) < 0", target)
            f.drop_below(key)
            f.drop_below(container)
        else:
            raise NotNative("del")


def import_from(f: FunctionCode, node: ast.ImportFrom) -> None:
    """`from module import name` inside of a function."""
    if node.level or node.module is None:
        raise NotNative("an import")
    names = f.module.constant(tuple(alias.name for alias in node.names))
    f.at(node)
    module = f.checked("o", f"sema_import(GLOBALS, {f.module.constant_name(node.module)}, {names})", node)
    for alias in node.names:
        value = f.checked("o", f"sema_imported({module.c}, {f.module.constant_name(alias.name)})", node)
        to_name(f, placed(ast.Name(alias.asname or alias.name, ast.Store()), node), value)
    f.drop_below(module)


def nothing(f: FunctionCode, node: ast.stmt) -> None:
    """Declarations, which the scope has read, and `pass`."""


STATEMENTS: dict[type, Handler] = {
    ast.Assign: assign,
    ast.AugAssign: augmented,
    ast.Expr: expression,
    ast.Return: return_,
    ast.If: if_,
    ast.While: while_,
    ast.For: for_,
    ast.Break: break_,
    ast.Continue: continue_,
    ast.Raise: raise_,
    ast.Try: try_,
    ast.With: with_,
    ast.AnnAssign: annotated,
    ast.Delete: delete,
    ast.ImportFrom: import_from,
    ast.FunctionDef: function,
    ast.Global: nothing,
    ast.Nonlocal: nothing,
    ast.Pass: nothing,
}
BLOCK.append(block)
