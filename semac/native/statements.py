"""Statements: a table of functions over (code, node)."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from semac.native.arithmetic import arithmetic
from semac.native.closures import closure
from semac.native.expressions import expr, meet, obj, operands, test
from semac.native.function import Around, FunctionCode, Variable, said
from semac.native.iteration import for_
from semac.native.values import COUNTED, DROP, NotNative, Unknown, Value, placed

Handler = Callable[[FunctionCode, Any], None]


def block(f: FunctionCode, body: list[ast.stmt]) -> None:
    """Writes statements, up to the first one that nothing reaches."""
    for node in body:
        if f.assigned is None:
            return
        statement(f, node)


def statement(f: FunctionCode, node: ast.stmt) -> None:
    handler = STATEMENTS.get(type(node))
    if handler is None:
        raise NotNative(f"{type(node).__name__} of Python")
    f.guess(lambda: handler(f, node))


# Assignments


def assign(f: FunctionCode, node: ast.Assign) -> None:
    if len(node.targets) != 1:
        raise NotNative("an assignment to several places")
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
        raise NotNative("a pattern in an assignment")
    names: list[ast.Name] = list(target.elts)  # type: ignore[arg-type]
    if isinstance(node, ast.Tuple) and len(node.elts) == len(names):
        values = [f.kept(value) for value in operands(f, node.elts, as_objects=False)]
        for name, value in zip(names, values, strict=True):
            to_name(f, name, value)
        return
    value = obj(f, node)
    unpack_value(f, names, value, target)
    f.drop_below(value)


def unpack_value(f: FunctionCode, names: list[ast.Name], value: Value, target: ast.expr) -> None:
    array = f.fresh("parts")
    f.emit(f"PyObject *{array}[{len(names)}];")
    f.at(target)
    f.fail_if(f"sema_unpack({value.c}, {len(names)}, {array}) < 0", target)
    parts = [Value(f"{array}[{index}]", "o", True) for index in range(len(names))]
    f.live += parts
    for name, part in zip(names, parts, strict=True):
        to_name(f, name, part)


def to_item(f: FunctionCode, target: ast.Subscript, value_node: ast.expr) -> None:
    if isinstance(target.slice, ast.Slice):
        raise NotNative("an assignment to a slice")
    nodes = [value_node, target.value, target.slice]
    value, container, key = operands(f, nodes, as_objects=False)
    value, container = f.as_object(value, target), f.as_object(container, target)
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
    name = f.module.constant_name(target.attr)
    places = f.module.slots_of(f, target.attr)
    f.at(target)
    if places:
        type_, index = places[0]
        c = f"sema_set_slot({receiver.c}, {type_}, {index}, {name}, {value.c})"
    else:
        c = f"PyObject_SetAttr({receiver.c}, {name}, {value.c})"
    f.fail_if(f"{c} < 0", target)
    f.drop_below(receiver)
    f.drop_below(value)


def augmented(f: FunctionCode, node: ast.AugAssign) -> None:
    """`x += y` of numbers; of lists and dicts it would change them in place."""
    if not isinstance(node.target, ast.Name):
        raise NotNative("an assignment with an operator to a part")
    left_node = placed(ast.Name(node.target.id, ast.Load()), node.target)
    left, right = operands(f, [left_node, node.value], as_objects=False)
    if not {left.rep, right.rep} <= {"i", "f", "d"}:
        a, b = f.as_object(left, node), f.as_object(right, node)
        call = IN_PLACE.get(type(node.op))
        if call is None:
            raise NotNative("an operator")
        f.at(node)
        result = f.checked("d", f"sema_in_place({a.c}, {b.c}, {call})", node)
        f.drop_below(b)
        f.drop_below(a)
    else:
        result = arithmetic(f, node.op, left, right, node)  # type: ignore[arg-type]
    to_name(f, node.target, result)


IN_PLACE: dict[type, str] = {
    ast.Add: "PyNumber_InPlaceAdd", ast.Sub: "PyNumber_InPlaceSubtract", ast.Mult: "PyNumber_InPlaceMultiply",
    ast.FloorDiv: "PyNumber_InPlaceFloorDivide", ast.Mod: "PyNumber_InPlaceRemainder", ast.Div: "PyNumber_InPlaceTrueDivide",
}  # fmt: skip


def expression(f: FunctionCode, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant):
        return
    if isinstance(node.value, ast.BoolOp | ast.IfExp | ast.Compare):
        test(f, node.value)
        return
    f.drop_below(expr(f, node.value))


# Control


def return_(f: FunctionCode, node: ast.Return) -> None:
    value = expr(f, node.value) if node.value is not None else Value("Py_None", "o", kind="none")
    f.returns.add(said(value))
    if not f.module.is_draft or f.result:
        value = f.converted(value, f.result or value.rep, node)
    f.emit(f"r = {f.take(value)};")
    f.emit(leaving(f, 0, len(f.around)) + "goto done;")
    f.assigned = None


def leaving(f: FunctionCode, depth: int, arounds: int) -> str:
    """What is given back on the way out of the innermost statements, so many of those around."""
    text = "".join(DROP[value.rep].format(value.c) + "; " for value in reversed(f.live[depth:]))
    for around in reversed(f.around[len(f.around) - arounds :]):
        if around.kind == "handler":
            text += f"sema_handled({around.saved}); "
    return text


def if_(f: FunctionCode, node: ast.If) -> None:
    condition = tested(f, node.test)
    on_true, on_false = f.branches
    if condition in ("0", "1"):
        f.assigned = on_true if condition == "1" else on_false
        block(f, node.body if condition == "1" else node.orelse)
        return
    f.emit(f"if ({condition}) {{")
    f.assigned = on_true
    block(f, node.body)
    after = f.assigned
    f.assigned = on_false
    if node.orelse:
        f.emit("} else {")
        block(f, node.orelse)
    f.emit("}")
    f.assigned = meet(after, f.assigned)


def tested(f: FunctionCode, node: ast.expr) -> str:
    """A test, of which a first round may not know enough."""
    found = ["(0)"]
    f.branches = f.assigned, f.assigned
    f.guess(lambda: found.append(test(f, node)))
    return found[-1]


def while_(f: FunctionCode, node: ast.While) -> None:
    if node.orelse:
        raise NotNative("a loop with else")
    f.loops = True
    around = Around("loop", f.fresh("loop"), len(f.live))
    f.emit("for (;;) {")
    f.emit("if (TICK(S)) {")
    f.emit(f"F.site = {f.site(node)}; {f.leave()} }}")
    condition = tested(f, node.test)
    on_true, on_false = f.branches
    after: Any = None if condition == "1" else on_false
    if condition != "1":
        f.emit(f"if (!({condition})) goto end_{around.label};")
        around.used.add("end")
    f.assigned = on_true
    f.around.append(around)
    block(f, node.body)
    f.around.pop()
    close_loop(f, around)
    for exit_ in around.exits:
        after = meet(after, exit_)
    f.assigned = after


def close_loop(f: FunctionCode, around: Around) -> None:
    if "next" in around.used:
        f.emit(f"next_{around.label}: ;")
    f.emit("}")
    if "end" in around.used:
        f.emit(f"end_{around.label}: ;")


def break_(f: FunctionCode, node: ast.Break) -> None:
    jump(f, "end")


def continue_(f: FunctionCode, node: ast.Continue) -> None:
    jump(f, "next")


def jump(f: FunctionCode, where: str) -> None:
    index = max(i for i, each in enumerate(f.around) if each.kind == "loop")
    around = f.around[index]
    around.used.add(where)
    if where == "end":
        around.exits.append(f.assigned)
    f.emit(f"{leaving(f, around.depth, len(f.around) - index - 1)}goto {where}_{around.label};")
    f.assigned = None


# Errors


def raise_(f: FunctionCode, node: ast.Raise) -> None:
    if node.exc is None or node.cause is not None:
        raise NotNative("raise")
    value = obj(f, node.exc)
    f.at(node)
    f.emit(f"sema_raise({value.c});")
    f.drop_below(value)
    f.emit(f.leave())
    f.assigned = None


def try_(f: FunctionCode, node: ast.Try) -> None:
    """`try: ... except Exception as error: ...`"""
    if len(node.handlers) != 1 or node.orelse or node.finalbody:
        raise NotNative("try with several parts")
    (handler,) = node.handlers
    kind = obj(f, handler.type) if handler.type is not None else Value("PyExc_BaseException", "o")
    if kind.is_owned:
        raise NotNative("a class of errors that is computed")
    label = f.fresh("caught")
    before = f.assigned
    around = Around("try", label, len(f.live))
    f.around.append(around)
    f.emit("{")
    block(f, node.body)
    f.emit("}")
    f.around.pop()
    after = f.assigned
    if "error" not in around.used:
        return
    f.emit(f"goto after_{label};")
    f.emit(f"{label}: ;")
    f.emit(f"if (!PyErr_ExceptionMatches({kind.c})) {{ {f.leave()} }}")
    f.emit("TRACE();")
    saved, error = f.fresh("saved"), f.fresh("error")
    f.declare(saved, "PyObject *")
    f.emit(f"{{ PyObject *{error} = sema_caught(&{saved});")
    f.assigned = before if handler.name is None else (before or frozenset())
    value = Value(error, "o", True)
    f.live.append(value)
    inside = Around("handler", label, len(f.live), saved)
    f.around.append(inside)
    variable = handled(f, handler, value)
    block(f, handler.body)
    f.around.pop()
    if f.assigned is not None:
        f.emit(f"sema_handled({saved});")
        if variable is not None:
            forget(f, variable)
    f.emit("}")
    f.emit(f"after_{label}: ;")
    f.assigned = meet(after, f.assigned)


def handled(f: FunctionCode, handler: ast.ExceptHandler, value: Value) -> Variable | None:
    """Binds the error to the name of the handler, if it has one."""
    if handler.name is None:
        f.drop_below(value)
        return None
    variable = f.variable(handler.name)
    if variable is None:
        raise NotNative("an error that is a global")
    f.store(variable, value, handler)
    return variable


def forget(f: FunctionCode, variable: Variable) -> None:
    """`del variable`"""
    if variable.where in ("cell", "free"):
        f.emit(f"sema_set_cell({variable.c}, NULL);")
    elif (variable.rep or "o") in COUNTED:
        f.emit(f"Py_CLEAR({variable.c});")
    if f.assigned is not None:
        f.assigned -= {variable.c}


def function(f: FunctionCode, node: ast.FunctionDef) -> None:
    if node.decorator_list:
        raise NotNative("a decorated function inside of another")
    to_name(f, placed(ast.Name(node.name, ast.Store()), node), closure(f, node))


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
    ast.FunctionDef: function,
    ast.Global: nothing,
    ast.Nonlocal: nothing,
    ast.Pass: nothing,
}
