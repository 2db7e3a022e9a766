"""Expressions: a table of functions over (code, node) that write what computes a value, and give that."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from semac.native.arithmetic import arithmetic
from semac.native.function import FunctionCode, is_name
from semac.native.values import NotNative, Value

Handler = Callable[[FunctionCode, Any], Value]
NIL = Value("Py_None", "o", kind="none")
LARGEST = 1 << 61
SLOTS = {"car": "LIST_CAR", "empty": "LIST_EMPTY", "flat": "LIST_FLAT", "next": "LIST_NEXT"}


def expr(f: FunctionCode, node: ast.expr) -> Value:
    """Writes what computes an expression; gives its value. Raises NotNative."""
    handler = EXPRESSIONS.get(type(node))
    if handler is None:
        raise NotNative(f"{type(node).__name__} of Python")
    return handler(f, node)


def obj(f: FunctionCode, node: ast.expr) -> Value:
    """The value of an expression as an object."""
    return f.as_object(expr(f, node), node)


def operands(
    f: FunctionCode, nodes: Sequence[ast.expr], as_objects: bool = True, are_numbers: bool = False
) -> list[Value]:
    """The values of expressions from left to right. One that a later expression assigns to is kept as it was.

    are_numbers: whether what follows is arithmetic.
    """
    values: list[Value] = []
    for index, node in enumerate(nodes):
        field = slot_number(f, node) if are_numbers else None
        value = field or (obj(f, node) if as_objects else expr(f, node))
        if isinstance(node, ast.Name) and not value.is_owned:
            if any(assigns(later, node.id) for later in nodes[index + 1 :]):
                value = f.kept(value)
        values.append(value)
    return values


def assigns(node: ast.expr, name: str) -> bool:
    """Whether an expression may assign to a variable."""
    return any(isinstance(part, ast.NamedExpr) and part.target.id == name for part in ast.walk(node))


# Constants and names


def constant(f: FunctionCode, node: ast.Constant) -> Value:
    return constant_value(f, node.value)


def constant_value(f: FunctionCode, value: Any) -> Value:
    if value is None:
        return Value("Py_None", "o", kind="none")
    if type(value) is bool:
        return Value(str(int(value)), "b")
    if type(value) is int:
        if -LARGEST < value < LARGEST:
            return Value(f"SHORT({value})", "i")
        return Value(f"WORD({f.module.constant(value)})", "i")
    if type(value) is float:
        return Value(f.module.float_text(value), "f")
    if type(value) in (str, bytes, complex):
        return Value(f.module.constant(value), "o", kind=type(value).__name__)
    raise NotNative(f"a constant of type {type(value).__name__}")


def name(f: FunctionCode, node: ast.Name) -> Value:
    variable = f.variable(node.id)
    if variable is not None:
        return f.read(variable, node)
    return f.module.global_value(f, node)


def named(f: FunctionCode, node: ast.NamedExpr, is_number: bool = False) -> Value:
    """`(name := value)`. Inside of a comprehension the name is one of the function around it. is_number: whether what
    follows is arithmetic."""
    value = (slot_number(f, node.value) if is_number else None) or expr(f, node.value)
    if is_number and value.rep == "o":
        value = f.as_dynamic(value)
    variable = f.variable(node.target.id)
    if variable is None:
        raise NotNative("a global that is assigned in an expression")
    f.store(variable, value, node.target)
    return f.read(variable, node.target)


# Attributes and items


def slot_number(f: FunctionCode, node: ast.expr) -> Value | None:
    """An attribute of a record, where a number is wanted: without an object for that; None for another expression."""
    if not isinstance(node, ast.Attribute) or node.attr in SLOTS:
        return None
    places = f.module.slots_of(f, node.attr)
    if len(places) != 1:
        return None
    value = obj(f, node.value)
    ((type_, index),) = places
    f.at(node)
    call = f"sema_slot_dyn({value.c}, {type_}, {index}, {f.module.constant_name(node.attr)})"
    result = f.checked("d", call, node)
    f.drop_below(value)
    return result


def attribute(f: FunctionCode, node: ast.Attribute) -> Value:
    value = obj(f, node.value)
    attr = node.attr
    text = f.module.constant_name(attr)
    if attr in SLOTS:
        c = f"sema_slot({value.c}, T_List, {SLOTS[attr]}, {text})"
    elif attr == "items":
        c = f"sema_items({value.c}, {text})"
    elif attr == "d":
        c = f"sema_map_d({value.c}, {text})"
    else:
        places = f.module.slots_of(f, attr)
        c = f"PyObject_GetAttr({value.c}, {text})"
        for type_, index in places[:1]:
            c = f"sema_slot({value.c}, {type_}, {index}, {text})"
    f.at(node)
    result = f.checked("o", c, node)
    f.drop_below(value)
    return result


def subscript(f: FunctionCode, node: ast.Subscript) -> Value:
    if isinstance(node.slice, ast.Slice):
        return sliced(f, node)
    character = character_of(f, node)
    if character is not None:
        return character
    container, index = operands(f, [node.value, node.slice], as_objects=False)
    container = f.as_object(container, node)
    f.at(node)
    if index.rep == "i":
        result = f.checked("o", f"sema_item_sint({container.c}, {index.c})", node)
    else:
        index = f.as_object(index, node)
        result = f.checked("o", f"sema_item({container.c}, {index.c})", node)
    f.drop_below(index)
    f.drop_below(container)
    return result


def character_of(f: FunctionCode, node: ast.Subscript) -> Value | None:
    """`CHARS[text[i]]`, the one object that stands for a character."""
    inner = node.slice
    if not (isinstance(node.value, ast.Name) and f.module.runtime_path(f, node.value.id) == CHARS):
        return None
    if not isinstance(inner, ast.Subscript) or isinstance(inner.slice, ast.Slice):
        return None
    text, index = operands(f, [inner.value, inner.slice], as_objects=False)
    if index.rep not in ("i", "d", "o"):
        return None
    text, index = f.as_object(text, node), f.as_dynamic(index)
    f.at(inner)
    result = f.checked("o", f"sema_char({text.c}, {index.c})", inner)
    f.drop_below(index)
    f.drop_below(text)
    return result


CHARS = "sema_runtime.values.atoms.CHARS"


def sliced(f: FunctionCode, node: ast.Subscript) -> Value:
    part = node.slice
    assert isinstance(part, ast.Slice)
    if part.lower is None and part.upper is None and part.step is not None and ast.unparse(part.step) == "-1":
        value = obj(f, node.value)
        f.at(node)
        kind = value.kind if value.kind in ("list", "tuple", "str") else ""
        result = f.checked("o", f"sema_backwards({value.c})", node, kind)
        f.drop_below(value)
        return result
    ends = [end if end is not None else ast.Constant(None) for end in (part.lower, part.upper, part.step)]
    value, *bounds = operands(f, [node.value, *ends])
    made = f.checked("o", f"PySlice_New({', '.join(bound.c for bound in bounds)})", node)
    f.at(node)
    kind = value.kind if value.kind in ("list", "tuple", "str") else ""
    result = f.checked("o", f"sema_slice({value.c}, {made.c})", node, kind)
    for each in (made, *bounds, value):
        f.drop_below(each)
    return result


# Containers


def tuple_(f: FunctionCode, node: ast.Tuple) -> Value:
    return filled(f, node, "PyTuple_New", "PyTuple_SET_ITEM", "tuple")


def list_(f: FunctionCode, node: ast.List) -> Value:
    return filled(f, node, "PyList_New", "PyList_SET_ITEM", "list")


def filled(f: FunctionCode, node: ast.Tuple | ast.List, new: str, put: str, kind: str) -> Value:
    if any(isinstance(item, ast.Starred) for item in node.elts):
        return starred(f, node, kind)
    if kind == "tuple" and not node.elts:
        return Value("C_empty_tuple", "o", kind="tuple")
    items = operands(f, node.elts)
    made = f.checked("o", f"{new}({len(items)})", node, kind)
    for index, item in enumerate(items):
        f.emit(f"{put}({made.c}, {index}, {f.take(item)});")
    return made


def starred(f: FunctionCode, node: ast.Tuple | ast.List, kind: str) -> Value:
    """`[a, *b]`: items are added one after the other."""
    made = f.checked("o", "PyList_New(0)", node, "list")
    for item in node.elts:
        if isinstance(item, ast.Starred):
            value = obj(f, item.value)
            f.at(item)
            f.fail_if(f"sema_extend({made.c}, {value.c}) < 0", node)
        else:
            value = obj(f, item)
            f.fail_if(f"PyList_Append({made.c}, {value.c}) < 0", node)
        f.drop_below(value)
    if kind == "list":
        return made
    result = f.checked("o", f"PyList_AsTuple({made.c})", node, "tuple")
    f.drop_below(made)
    return result


def dict_(f: FunctionCode, node: ast.Dict) -> Value:
    made = f.checked("o", "PyDict_New()", node, "dict")
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            other = obj(f, value)
            f.at(node)
            f.fail_if(f"PyDict_Update({made.c}, {other.c}) < 0", node)
            f.drop_below(other)
            continue
        one, other = operands(f, [key, value])
        f.at(node)
        f.fail_if(f"PyDict_SetItem({made.c}, {one.c}, {other.c}) < 0", node)
        f.drop_below(other)
        f.drop_below(one)
    return made


def set_(f: FunctionCode, node: ast.Set) -> Value:
    made = f.checked("o", "PySet_New(NULL)", node, "set")
    for item in node.elts:
        value = obj(f, item)
        f.at(node)
        f.fail_if(f"PySet_Add({made.c}, {value.c}) < 0", node)
        f.drop_below(value)
    return made


def joined(f: FunctionCode, node: ast.JoinedStr) -> Value:
    parts: list[Value] = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(constant_value(f, part.value))
            continue
        assert isinstance(part, ast.FormattedValue)
        parts.append(formatted(f, part))
    if len(parts) == 1:
        return parts[0]
    array = f.fresh("parts")
    f.emit(f"PyObject *{array}[] = {{{', '.join(value.c for value in parts)}}};")
    result = f.checked("o", f"sema_join({array}, {len(parts)})", node, "str")
    for value in reversed(parts):
        f.drop_below(value)
    return result


def formatted(f: FunctionCode, part: ast.FormattedValue) -> Value:
    value = obj(f, part.value)
    if part.conversion == -1 and part.format_spec is None:
        if value.kind == "str":
            return f.kept(value)
        f.at(part)
        text = f.checked("o", f"sema_format({value.c})", part, "str")
        f.drop_below(value)
        return text
    if part.conversion != -1:
        convert = {ord("r"): "PyObject_Repr", ord("s"): "PyObject_Str", ord("a"): "PyObject_ASCII"}[part.conversion]
        f.at(part)
        text = f.checked("o", f"{convert}({value.c})", part, "str")
        f.drop_below(value)
        value = text
    spec = obj(f, part.format_spec) if part.format_spec is not None else Value("NULL", "o")
    f.at(part)
    text = f.checked("o", f"PyObject_Format({value.c}, {spec.c})", part, "str")
    f.drop_below(spec)
    f.drop_below(value)
    return text


# Choices


LISTS = "sema_runtime.lib.collections.lists."
INLINED: dict[str, Callable[..., str]] = {
    LISTS + "car": lambda xs: f"{xs}.car",
    LISTS + "first": lambda xs: f"{xs}.car",
    LISTS + "cdr": lambda xs: f"{xs}.next",
    LISTS + "rest": lambda xs: f"{xs}.next",
    "sema_runtime.lib.language.predicates.is_null": lambda xs: f"{xs}.empty",
    "sema_runtime.values.lookup.keyword_get": lambda m, key: f"{m}.d.get({key})",
}


def inlined_call(f: FunctionCode, node: ast.IfExp) -> ast.Call | None:
    """The call of which a choice is the inlined form; writes what its tests assign, which have no other effects."""
    call = node.orelse
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.keywords or not call.args:
        return None
    shape = INLINED.get(f.module.runtime_path(f, call.func.id) or "")
    assigned = guard(node.test)
    if shape is None or not isinstance(call.args[0], ast.Name) or assigned is None:
        return None
    if ast.unparse(node.body) != shape(*map(ast.unparse, call.args)):
        return None
    for part in assigned:
        named(f, part)
    return call


def guard(node: ast.expr) -> list[ast.NamedExpr] | None:
    """What a test assigns that only asks for types, and whether something is nil; None for other tests."""
    if isinstance(node, ast.BoolOp):
        parts = [guard(value) for value in node.values]
        if isinstance(node.op, ast.Or) or None in parts:
            return None
        return [each for part in parts if part is not None for each in part]
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    left, right = node.left, node.comparators[0]
    if isinstance(node.ops[0], ast.Is) and isinstance(left, ast.Call) and is_name(left.func, "type"):
        asked = left.args[0] if isinstance(right, ast.Name) else None
    elif isinstance(left, ast.Attribute) and left.attr == "next" and isinstance(node.ops[0], ast.IsNot):
        asked = left.value if isinstance(right, ast.Constant) and right.value is None else None
    else:
        return None
    return [asked] if isinstance(asked, ast.NamedExpr) else [] if isinstance(asked, ast.Name) else None


def meet(a: frozenset[str] | None, b: frozenset[str] | None) -> frozenset[str] | None:
    """The variables that have a value where two ways come together."""
    if a is None or b is None:
        return b if a is None else a
    return a & b


def as_truth(f: FunctionCode, c: str) -> Value:
    return Value(c, "b") if c in ("0", "1") else f.temp("b", c)


def negated_c(c: str) -> str:
    return {"0": "1", "1": "0"}.get(c, f"!({c})")


def truth(f: FunctionCode, value: Value, node: ast.expr) -> str:
    """The truth of a value, as Python has it."""
    if value.rep == "b":
        return value.c
    if value.rep == "i":
        return f"({value.c} != 0)"
    if value.rep == "f":
        return f"({value.c} != 0.0)"
    if value.kind == "none":
        return "0"
    if value.kind in ("list", "tuple", "dict", "str"):
        return f"(sema_len({value.c}) > 0)"
    if value.rep == "d":
        return f.checked("b", f"sdyn_is_true({value.c})", node).c
    f.at(node)
    return f.checked("b", f"sema_is_true({value.c})", node).c


def binary(f: FunctionCode, node: ast.BinOp) -> Value:
    left, right = operands(f, [node.left, node.right], as_objects=False, are_numbers=True)
    return arithmetic(f, node.op, left, right, node)


EXPRESSIONS: dict[type, Handler] = {
    ast.Constant: constant,
    ast.Name: name,
    ast.NamedExpr: named,
    ast.Attribute: attribute,
    ast.Subscript: subscript,
    ast.Tuple: tuple_,
    ast.List: list_,
    ast.Dict: dict_,
    ast.Set: set_,
    ast.JoinedStr: joined,
    ast.BinOp: binary,
}
