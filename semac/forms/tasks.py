"""async and await."""

from __future__ import annotations

from typing import Any

from sema_runtime.values.lists import List
from semac.analyze import Analyzer, special
from semac.ir import Call, Ref, Runtime
from semac.scope import Scope


@special("async")
def async_(a: Analyzer, form: List, scope: Scope) -> Any:
    body = a.expect(form, 1)
    thunk = a.thunk(body, scope, "task")
    head = a.reference("async/spawn", scope)
    if type(head) is Ref:
        return Call(head, [thunk], False, None, span=a.span)
    return Runtime("sema_runtime.lib.concurrency:async_spawn", [thunk], span=a.span)


@special("await")
def await_(a: Analyzer, form: List, scope: Scope) -> Any:
    (promise,) = a.expect(form, 1, 1)
    return Runtime("sema_runtime.lib.concurrency:await_", [a.node(promise, scope)], span=a.span)
