"""What is assigned to: names, attributes, items."""

from __future__ import annotations

import ast

from semac.native.expressions import expr, obj, operands
from semac.native.function import FunctionCode
from semac.native.values import NotNative, Value


def to_target(f: FunctionCode, target: ast.expr, value: Value) -> None:
    """Assigns a value, which is given away, to a name, an attribute, an item or several names."""
    if isinstance(target, ast.Name):
        to_name(f, target, value)
    elif isinstance(target, ast.Attribute):
        put_attribute(f, target, f.as_object(value, target), obj(f, target.value))
    elif isinstance(target, ast.Subscript):
        put_item(f, target, value, obj(f, target.value), expr(f, target.slice))
    elif isinstance(target, ast.Tuple) and all(isinstance(part, ast.Name) for part in target.elts):
        held = f.as_object(value, target)
        unpack_value(f, list(target.elts), held, target)  # type: ignore[arg-type]
        f.drop_below(held)
    else:
        raise NotNative("a pattern in an assignment")


def to_name(f: FunctionCode, target: ast.Name, value: Value) -> None:
    variable = f.variable(target.id)
    if variable is not None:
        f.store(variable, value, target)
        return
    value = f.as_object(value, target)
    f.fail_if(f"PyDict_SetItem(GLOBALS, {f.module.constant_name(target.id)}, {value.c}) < 0", target)
    f.drop_below(value)


def unpack(f: FunctionCode, target: ast.Tuple, node: ast.expr) -> None:
    """`a, b = ...`"""
    if not all(isinstance(part, ast.Name) for part in target.elts):
        unpack_starred(f, target, node)
        return
    names: list[ast.Name] = list(target.elts)  # type: ignore[arg-type]
    if isinstance(node, ast.Tuple) and len(node.elts) == len(names):
        values = [f.kept(value) for value in operands(f, node.elts, as_objects=False)]
        for name, value in zip(names, values, strict=True):
            to_name(f, name, value)
        return
    value = obj(f, node)
    unpack_value(f, names, value, target)
    f.drop_below(value)


def unpack_starred(f: FunctionCode, target: ast.Tuple, node: ast.expr) -> None:
    """`a, b, *more = ...`"""
    *first, last = target.elts
    if not isinstance(last, ast.Starred):
        raise NotNative("a pattern in an assignment")
    names = [*first, last.value]
    if not all(isinstance(part, ast.Name) for part in names):
        raise NotNative("a pattern in an assignment")
    value = obj(f, node)
    unpack_value(f, names, value, target, "sema_unpack_rest")  # type: ignore[arg-type]
    f.drop_below(value)


def unpack_value(
    f: FunctionCode, names: list[ast.Name], value: Value, target: ast.expr, call: str = "sema_unpack"
) -> None:
    """Unpacks a value; with `sema_unpack_rest` the last name gets the list of what the others leave."""
    count = len(names) - (call != "sema_unpack")
    array = f.fresh("parts")
    f.emit(f"PyObject *{array}[{len(names)}];")
    f.at(target)
    f.fail_if(f"{call}({value.c}, {count}, {array}) < 0", target)
    parts = [Value(f"{array}[{index}]", "o", True) for index in range(len(names))]
    f.live += parts
    for name, part in zip(names, parts, strict=True):
        to_name(f, name, part)


def to_item(f: FunctionCode, target: ast.Subscript, value_node: ast.expr) -> None:
    if isinstance(target.slice, ast.Slice):
        raise NotNative("an assignment to a slice")
    value, container, key = operands(f, [value_node, target.value, target.slice], as_objects=False)
    put_item(f, target, value, f.as_object(container, target), key)


def put_item(f: FunctionCode, target: ast.Subscript, value: Value, container: Value, key: Value) -> None:
    value = f.as_object(value, target)
    if key.rep == "d":
        key = f.as_object(key, target)
    f.at(target)
    if key.rep == "i":
        f.fail_if(f"sema_set_item_sint({container.c}, {key.c}, {value.c}) < 0", target)
    else:
        key = f.as_object(key, target)
        f.fail_if(f"sema_set_item({container.c}, {key.c}, {value.c}) < 0", target)
    for each in (key, container, value):
        f.drop_below(each)


def to_attribute(f: FunctionCode, target: ast.Attribute, value_node: ast.expr) -> None:
    value, receiver = operands(f, [value_node, target.value])
    put_attribute(f, target, value, receiver)


def put_attribute(f: FunctionCode, target: ast.Attribute, value: Value, receiver: Value) -> None:
    name = f.module.constant_name(target.attr)
    places = f.module.slots_of(f, target.attr)
    f.at(target)
    c = f"PyObject_SetAttr({receiver.c}, {name}, {value.c})"
    if places:
        type_, index = places[0]
        c = f"sema_set_slot({receiver.c}, {type_}, {index}, {name}, {value.c})"
    f.fail_if(f"{c} < 0", target)
    f.drop_below(receiver)
    f.drop_below(value)
