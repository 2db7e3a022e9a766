"""async and await."""

from __future__ import annotations

from typing import Any

from sema_runtime.values.lists import List
from semac.analyze.context import Context, Handler
from semac.analyze.forms.python_async import in_loop
from semac.analyze.scope import Scope
from semac.ir.nodes import Call, Ref, Runtime

SPAWN = "sema_runtime.lib.tasks.concurrency:async_spawn"


def async_(context: Context, form: List, scope: Scope) -> Any:
    body = context.expect(form, 1)
    thunk = context.thunk(body, scope, "task")
    head = context.reference("async/spawn", scope)
    if type(head) is Ref:
        return Call(head, [thunk], False, None, span=context.span)
    return Runtime(SPAWN, [thunk], span=context.span)


def await_(context: Context, form: List, scope: Scope) -> Any:
    (promise,) = context.expect(form, 1, 1)
    awaited = in_loop(context, context.node(promise, scope))
    return Runtime("sema_runtime.lib.tasks.concurrency:await_", [awaited], span=context.span)


FORMS: dict[str, Handler] = {
    "async": async_,
    "await": await_,
}
