"""Calls of builtins that call back, in programs with tasks: where a callback may wait, other tasks get their turns."""

from __future__ import annotations

from typing import Any

from sema_runtime.values.atoms import Symbol, symbol
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from semac.analyze.context import Context
from semac.analyze.scope import Scope
from semac.ir.nodes import Builtin, Const, Runtime
from semac.syntax.definitions import defined_names

CALL_NATIVE = "sema_runtime.tasks.callbacks:call_native"
FUNCTION_FORMS = (symbol("fn"), symbol("lambda"))
# Builtins that the reference's machine runs itself when they are called with that many arguments.
INLINE = {"map": 2, "filter": 2, "for-each": 2, "foldl": 3, "fold": 3, "reduce": 2}
# Builtins that call back, and that it has to leave its machine for.
NATIVE = frozenset(
    (
        "any", "any?", "apply", "call-with-values", "context/with", "drop-while", "every", "every?", "flat-map",
        "foldr", "list/drop-while", "list/find", "list/group-by", "list/reject", "list/take-while", "map-indexed",
        "map/filter", "map/map-keys", "map/map-vals", "map/update", "partition", "sort", "sort-by", "string/map",
        "take-while", "tap", "update-in",
    )
)  # fmt: skip

PROMISES = frozenset(("async", "async/spawn", "async/resolved", "async/rejected"))


def native_call(context: Context, call: Any, forms: Any, scope: Scope) -> Any:
    """The call of a builtin in a program with tasks; where its callbacks may call task builtins, one that looks after
    the turns of the other tasks."""
    is_inline = call.name in INLINE and len(call.args) == INLINE[call.name]
    if not is_inline and ((call.name not in NATIVE and call.name not in INLINE) or _has_no_callback(call)):
        return call
    if is_inline:
        is_inline = not may_wait(context, forms[0], scope)  # the others are data
        if is_inline and not may_call_back(context, forms[0], scope):
            return call
    return Runtime(CALL_NATIVE, [Builtin(call.name), Const(is_inline), *call.args], span=call.span)


def _has_no_callback(call: Any) -> bool:
    return call.name == "sort" and len(call.args) == 1


def may_wait(context: Context, form: Any, scope: Scope) -> bool:
    """Whether the reference's machine leaves the calls of a callback to its scheduler: those that may call a task
    builtin, with `try`, with a named let, with calls of local functions."""
    if type(form) is Symbol:
        return form.name in context.task_names and scope.find(form.name) is None
    if type(form) is not List:
        return False
    names = symbols_in(without_returned_function(form))
    if len(form.items) > 1 and form.items[0] in FUNCTION_FORMS:
        names -= symbols_in(form.items[1])  # its parameters hide names of the program
    return not context.task_names.isdisjoint(names) or calls_local(form, scope)


def without_returned_function(form: List) -> List:
    """A `(fn ...)` form without the function that it returns, whose body no call of it runs."""
    items = form.items
    is_function = len(items) > 2 and items[0] in FUNCTION_FORMS
    last = items[-1] if is_function else None
    if type(last) is List and last.items and last.items[0] in FUNCTION_FORMS:
        return List(list(items[:-1]))
    return form


def may_call_back(context: Context, form: Any, scope: Scope) -> bool:
    """Whether calling the value of a form may call a builtin that calls back; an unknown function may."""
    if type(form) is Symbol:
        return scope.find(form.name) is not None or form.name in context.native_names
    return type(form) is List and not context.native_names.isdisjoint(symbols_in(form))


def calls_local(function: List, scope: Scope) -> bool:
    """Whether a `(fn ...)` form calls a function that is bound to a local name, a named let's among them."""
    if len(function.items) < 2 or function.items[0] not in FUNCTION_FORMS:
        return False
    parameters = symbols_in(function.items[1])
    stack: list[Any] = list(function.items[2:])
    while stack:
        form = stack.pop()
        if type(form) is not List or not form.items:
            continue
        head = form.items[0]
        if type(head) is Symbol:
            if head.name in parameters or scope.find(head.name) is not None:
                return True
            if head.name == "let" and len(form.items) > 1 and type(form.items[1]) is Symbol:
                return True
        stack.extend(form.items)
    return False


def task_names(forms: Any) -> tuple[frozenset[str], frozenset[str]]:
    """Names whose calls may wait: task builtins and functions of the program whose definitions mention such names or
    `try`; and those of builtins that call back and of what mentions them. Both empty for a program without tasks."""
    mentioned = [([] if is_promise(form) else defined_names(form)[:1], symbols_in(form)) for form in forms]
    tasks = {name for _, names in mentioned for name in names if is_task_name(name)}
    if not tasks:
        return frozenset(), frozenset()
    return _with_callers({*tasks, "try"}, mentioned), _with_callers(set(NATIVE), mentioned)


def is_promise(form: Any) -> bool:
    """Whether a form defines a promise, which nobody can call: `(define p (async ...))`."""
    if type(form) is not List or len(form.items) != 3 or type(form.items[2]) is not List or not form.items[2].items:
        return False
    maker = form.items[2].items[0]
    return type(form.items[1]) is Symbol and type(maker) is Symbol and maker.name in PROMISES


def _with_callers(names: set[str], mentioned: list[tuple[Any, set[str]]]) -> frozenset[str]:
    """The names, and those whose definitions mention one of them."""
    grown = True
    while grown:
        new = {name for defined, inner in mentioned for name in defined if name not in names and inner & names}
        names |= new
        grown = bool(new)
    return frozenset(names)


def is_task_name(name: str) -> bool:
    return name.startswith(("async", "channel/")) or name in ("await", "parallel", "parallel-settled", "pipeline")


def symbols_in(form: Any) -> set[str]:
    """The names of all symbols in a form."""
    names: set[str] = set()
    stack = [form]
    while stack:
        inner = stack.pop()
        if type(inner) is Symbol:
            names.add(inner.name)
        elif type(inner) is List:
            stack.extend(inner.items)
        elif type(inner) is tuple:
            stack.extend(inner)
        elif type(inner) is Map:
            stack.extend(part for pair in inner.pairs() for part in pair)
    return names
