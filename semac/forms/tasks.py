"""async and await; calls of builtins that call back, in programs with tasks."""

from __future__ import annotations

from typing import Any

from sema_runtime.values.atoms import Symbol
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from semac.analyze import Analyzer, special
from semac.defined import defined_names
from semac.ir import Builtin, Call, Const, Ref, Runtime
from semac.scope import Scope

SPAWN = "sema_runtime.lib.concurrency:async_spawn"
CALL_NATIVE = "sema_runtime.tasks.callbacks:call_native"
INLINE = {"map": 2, "filter": 2, "for-each": 2, "foldl": 3, "fold": 3, "reduce": 2}
"""Builtins that the reference's machine runs itself when they are called with that many arguments."""
NATIVE = frozenset(
    (
        "any", "any?", "apply", "call-with-values", "context/with", "drop-while", "every", "every?", "flat-map",
        "foldr", "list/drop-while", "list/find", "list/group-by", "list/reject", "list/take-while", "map-indexed",
        "map/filter", "map/map-keys", "map/map-vals", "map/update", "partition", "sort", "sort-by", "string/map",
        "take-while", "tap", "update-in",
    )
)  # fmt: skip
"""Builtins that call back, and that it has to leave its machine for."""


@special("async")
def async_(a: Analyzer, form: List, scope: Scope) -> Any:
    body = a.expect(form, 1)
    thunk = a.thunk(body, scope, "task")
    head = a.reference("async/spawn", scope)
    if type(head) is Ref:
        return Call(head, [thunk], False, None, span=a.span)
    return Runtime(SPAWN, [thunk], span=a.span)


@special("await")
def await_(a: Analyzer, form: List, scope: Scope) -> Any:
    (promise,) = a.expect(form, 1, 1)
    return Runtime("sema_runtime.lib.concurrency:await_", [a.node(promise, scope)], span=a.span)


def native_call(a: Analyzer, call: Any, forms: Any, scope: Scope) -> Any:
    """The call of a builtin in a program with tasks; where its callbacks may call task builtins, one that looks after
    the turns of the other tasks."""
    is_inline = call.name in INLINE and len(call.args) == INLINE[call.name]
    if not is_inline and call.name not in NATIVE and call.name not in INLINE:
        return call
    if is_inline and not any(may_use_tasks(a, form, scope) for form in forms):
        return call
    return Runtime(CALL_NATIVE, [Builtin(call.name), Const(is_inline), *call.args], span=call.span)


def may_use_tasks(a: Analyzer, form: Any, scope: Scope) -> bool:
    """Whether calling what a form gives may call a task builtin: a function value that is not known here may."""
    if type(form) is Symbol:
        return scope.find(form.name) is not None or form.name in a.task_names
    return type(form) is List and not a.task_names.isdisjoint(symbols_in(form))


def task_names(forms: Any) -> frozenset[str]:
    """Names of builtins that may have other tasks run, and of functions of the program whose definitions mention such
    names; empty for a program without tasks."""
    mentioned = [(defined_names(form)[:1], symbols_in(form)) for form in forms]
    found = {name for _, names in mentioned for name in names if is_task_name(name)}
    if not found:
        return frozenset()
    found |= NATIVE
    grown = True
    while grown:
        new = {name for defined, names in mentioned for name in defined if name not in found and names & found}
        found |= new
        grown = bool(new)
    return frozenset(found)


def is_task_name(name: str) -> bool:
    return name.startswith(("async", "channel/")) or name in ("await", "parallel", "parallel-settled", "pipeline")


def symbols_in(form: Any) -> set[str]:
    """The names of all symbols in a form."""
    found: set[str] = set()
    stack = [form]
    while stack:
        here = stack.pop()
        if type(here) is Symbol:
            found.add(here.name)
        elif type(here) is List:
            stack.extend(here.items)
        elif type(here) is tuple:
            stack.extend(here)
        elif type(here) is Map:
            stack.extend(part for pair in here.pairs() for part in pair)
    return found
