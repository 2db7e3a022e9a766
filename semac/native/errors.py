"""`raise`, `try` and `with`."""

from __future__ import annotations

import ast

from semac.native.control import block
from semac.native.expressions import meet, obj
from semac.native.function import Around, Flow, FunctionCode, Variable
from semac.native.targets import to_target
from semac.native.values import COUNTED, NotNative, Value


def raise_(f: FunctionCode, node: ast.Raise) -> None:
    if node.exc is None:
        handler = next((each for each in reversed(f.around) if each.kind == "handler"), None)
        if handler is None:
            raise NotNative("raise outside of a handler")
        f.emit("sema_raise_again(); F.site = -1;")
    else:
        value = obj(f, node.exc)
        cause = obj(f, node.cause) if node.cause is not None else Value("NULL", "o")
        f.at(node)
        f.emit(f"sema_raise({value.c}, {cause.c});")
        f.drop_below(cause)
        f.drop_below(value)
    f.emit(f.leave())
    f.assigned = None


def try_(f: FunctionCode, node: ast.Try) -> None:
    if node.finalbody:
        finally_(f, node)
    else:
        excepting(f, node)


def excepting(f: FunctionCode, node: ast.Try) -> None:
    """`try: ... except Exception as error: ... else: ...`"""
    kinds = [kind_of(f, handler) for handler in node.handlers]
    before = f.assigned
    around = Around("try", f.fresh("caught"), len(f.live))
    f.around.append(around)
    f.emit("{")
    block(f, node.body)
    f.emit("}")
    f.around.pop()
    if f.assigned is not None and node.orelse:
        block(f, node.orelse)
    after = f.assigned
    if "error" not in around.used:
        return
    f.emit(f"goto after_{around.label};")
    f.emit(f"{around.label}: ;")
    for handler, kind in zip(node.handlers, kinds, strict=True):
        f.emit(f"if ({'1' if kind is None else f'PyErr_ExceptionMatches({kind.c})'}) {{")
        f.assigned = before if before is not None else frozenset()
        handle(f, handler, around.label)
        after = meet(after, f.assigned)
        f.emit(f"goto after_{around.label}; }}")
    f.emit(f.leave())
    f.emit(f"after_{around.label}: ;")
    f.assigned = after


def kind_of(f: FunctionCode, handler: ast.ExceptHandler) -> Value | None:
    """The class of errors that a handler takes; None for all."""
    if handler.type is None:
        return None
    if isinstance(handler.type, ast.Tuple):
        raise NotNative("several classes of errors")
    kind = obj(f, handler.type)
    if kind.is_owned:
        raise NotNative("a class of errors that is computed")
    return kind


def handle(f: FunctionCode, handler: ast.ExceptHandler, label: str) -> None:
    """Writes what a handler does."""
    f.emit("TRACE();")
    saved, error = f.declare(f.fresh("saved"), "PyObject *"), f.fresh("error")
    f.emit(f"PyObject *{error} = sema_caught(&{saved});")
    value = Value(error, "o", True)
    f.live.append(value)
    variable = None
    f.around.append(Around("handler", label, len(f.live), saved))
    if handler.name is None:
        f.drop_below(value)
    else:
        variable = f.variable(handler.name)
        if variable is None:
            raise NotNative("an error that is a global")
        f.store(variable, value, handler)
    block(f, handler.body)
    f.around.pop()
    if f.assigned is not None:
        f.emit(f"sema_handled({saved});")
        if variable is not None:
            forget(f, variable)


def forget(f: FunctionCode, variable: Variable) -> None:
    """`del variable`"""
    if variable.where in ("cell", "free"):
        f.emit(f"sema_set_cell({variable.c}, NULL);")
    elif (variable.rep or "o") in COUNTED:
        empty = {"o": "NULL", "i": "INT_ERROR", "d": "DYN_INT(INT_ERROR)"}[variable.rep or "o"]
        drop = {"o": "Py_XDECREF", "i": "sint_drop", "d": "sdyn_drop"}[variable.rep or "o"]
        f.emit(f"{drop}({variable.c}); {variable.c} = {empty};")
    if f.assigned is not None:
        f.assigned -= {variable.c}


def finally_(f: FunctionCode, node: ast.Try) -> None:
    """`try: ... finally: ...`, the last part written for each way out."""
    before = f.assigned
    guard = Around("try", f.fresh("caught"), len(f.live))
    f.around += [guard, Around("finally", guard.label, len(f.live), body=node.finalbody)]
    f.emit("{")
    if node.handlers:
        excepting(f, node)
    else:
        block(f, node.body)
    f.emit("}")
    del f.around[-2:]
    if f.assigned is not None:
        block(f, node.finalbody)
    after = f.assigned
    after_error(f, guard, before, lambda: block(f, node.finalbody))
    f.assigned = after


def after_error(f: FunctionCode, guard: Around, before: Flow, write: object) -> None:
    """Writes what is done with an error that leaves statements, which goes on then."""
    if "error" not in guard.used:
        return
    f.emit(f"goto after_{guard.label};")
    f.emit(f"{guard.label}: ;")
    f.emit("TRACE();")
    saved, error = f.declare(f.fresh("saved"), "PyObject *"), f.fresh("error")
    f.emit(f"{{ PyObject *{error} = sema_caught(&{saved});")
    held = Value(error, "o", True)
    f.live.append(held)
    f.around.append(Around("handler", guard.label, len(f.live), saved))
    f.assigned = before if before is not None else frozenset()
    write()  # type: ignore[operator]
    f.around.pop()
    if f.assigned is not None:
        f.forget(held)
        f.emit(f"sema_handled({saved}); sema_go_on({error}); F.site = -1;")
        f.emit(f.leave())
    else:
        f.forget(held)
    f.emit("}")
    f.emit(f"after_{guard.label}: ;")


def with_(f: FunctionCode, node: ast.With) -> None:
    """`with context as target: ...`"""
    if len(node.items) != 1:
        raise NotNative("with several contexts")
    (item,) = node.items
    context = obj(f, item.context_expr)
    f.at(item.context_expr)
    leave = f.checked("o", f"sema_special({context.c}, {f.module.constant_name('__exit__')})", item.context_expr)
    enter = f.module.constant_name("__enter__")
    entered = f.checked("o", f"PyObject_CallMethodNoArgs({context.c}, {enter})", item.context_expr)
    if item.optional_vars is not None:
        to_target(f, item.optional_vars, entered)
    else:
        f.drop_below(entered)
    before = f.assigned
    guard = Around("try", f.fresh("caught"), len(f.live))
    f.around += [guard, Around("with", guard.label, len(f.live), leave.c, node=item.context_expr)]
    f.emit("{")
    block(f, node.body)
    f.emit("}")
    del f.around[-2:]
    after = f.assigned
    if f.assigned is not None:
        f.at(item.context_expr)
        f.fail_if(f"sema_exit({leave.c}) < 0", item.context_expr)
    swallowed = f.fresh("swallowed")

    def leave_with_error() -> None:
        f.at(item.context_expr)
        f.emit(f"int {swallowed} = sema_exit_error({leave.c});")
        f.fail_if(f"{swallowed} < 0", item.context_expr)
        saved = f.around[-1].saved
        f.emit(f"if ({swallowed}) {{ sema_handled({saved}); Py_DECREF({f.live[-1].c}); goto after_{guard.label}; }}")

    after_error(f, guard, before, leave_with_error)
    f.drop_below(leave)
    f.drop_below(context)
    f.assigned = meet(after, before) if "error" in guard.used else after
