"""async and await."""

from __future__ import annotations

from typing import Any

from sema_runtime.catalogue_index import INDEX
from sema_runtime.values.lists import List
from semac.analyze import Analyzer, special
from semac.ir import Call, Lambda, Ref, Runtime, children
from semac.scope import Scope

SPAWN = "sema_runtime.lib.concurrency:async_spawn"
TASK_MODULES = ("lib.concurrency", "lib.channels")


@special("async")
def async_(a: Analyzer, form: List, scope: Scope) -> Any:
    body = a.expect(form, 1)
    a.starts_tasks = True
    thunk = a.thunk(body, scope, "task")
    head = a.reference("async/spawn", scope)
    if type(head) is Ref:
        return Call(head, [thunk], False, None, span=a.span)
    return Runtime(SPAWN, [thunk], span=a.span)


@special("await")
def await_(a: Analyzer, form: List, scope: Scope) -> Any:
    (promise,) = a.expect(form, 1, 1)
    return Runtime("sema_runtime.lib.concurrency:await_", [a.node(promise, scope)], span=a.span)


def with_turn(call: Any) -> Any:
    """The call of a builtin; one whose callback started tasks gives them a turn at its end, as in the reference."""
    if INDEX[call.name][0] in TASK_MODULES or not any(type(one) is Lambda and starts_task(one) for one in call.args):
        return call
    before = Runtime("sema_runtime.lib.concurrency:tasks_started", [], span=call.span)
    return Runtime("sema_runtime.lib.concurrency:after_turn", [before, call], span=call.span)


def starts_task(function: Any) -> bool:
    """Whether the body of a function, without the functions inside it, has an `async`."""
    stack = [function.function.body]
    while stack:
        here = stack.pop()
        if type(here) is Runtime and here.path == SPAWN:
            return True
        if type(here) is not Lambda:
            stack.extend(children(here))
    return False
