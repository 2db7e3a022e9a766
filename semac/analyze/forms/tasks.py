"""async and await."""

from __future__ import annotations

from typing import Any

from sema_runtime.values.lists import List
from semac.analyze.context import Context, Handler
from semac.analyze.scope import Scope
from semac.ir.nodes import Call, Ref, Runtime

SPAWN = "sema_runtime.lib.tasks.concurrency:async_spawn"


def async_(a: Context, form: List, scope: Scope) -> Any:
    body = a.expect(form, 1)
    thunk = a.thunk(body, scope, "task")
    head = a.reference("async/spawn", scope)
    if type(head) is Ref:
        return Call(head, [thunk], False, None, span=a.span)
    return Runtime(SPAWN, [thunk], span=a.span)


def await_(a: Context, form: List, scope: Scope) -> Any:
    (promise,) = a.expect(form, 1, 1)
    return Runtime("sema_runtime.lib.tasks.concurrency:await_", [a.node(promise, scope)], span=a.span)


FORMS: dict[str, Handler] = {
    "async": async_,
    "await": await_,
}
