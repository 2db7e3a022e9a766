"""asyncio's forms, and a loop over what Python iterates.

(py/async-with (response (.get session url)) body...)   async with session.get(url) as response: ...
(py/async-for (line (.-content response)) body...)      async for line in response.content: ...
(py/for (row cursor) body...)                           for row in cursor: ...
"""

from __future__ import annotations

from typing import Any

from sema_runtime.values.lists import List
from semac.analyze.context import Context, Handler
from semac.analyze.forms.functions import make_function
from semac.analyze.forms.python import denied_in_sandbox
from semac.analyze.scope import Scope
from semac.ir.nodes import CallBuiltin, Lambda, PyCall, Runtime, With

WAITING = "sema_runtime.lib.python.waiting:"


def binding_of(context: Context, form: List, who: str) -> tuple[Any, Any, Any]:
    """(what is bound, the form of its value, the body)."""
    binding, *body = context.expect(form, 2)
    if type(binding) is not List or len(binding.items) != 2:
        raise context.error(f"{who}: expected (name value)")
    return binding.items[0], binding.items[1], body


def in_loop(context: Context, node: Any) -> Any:
    """A call of Python that sees the loop in which its value will be awaited; any other node as it is."""
    if type(node) is not PyCall:
        return node
    return With(Runtime(WAITING + "InLoop", [], span=context.span), None, node, span=context.span)


def async_with(context: Context, form: List, scope: Scope) -> Any:
    target, value, body = binding_of(context, form, "py/async-with")
    manager = in_loop(context, context.node(value, scope))
    inner = scope.child()
    var = inner.declare(context.name_of(target, "py/async-with"))
    waiting = Runtime(WAITING + "Waiting", [manager], span=context.span)
    return With(waiting, var, context.body(body, inner), span=context.span)


def for_(context: Context, form: List, scope: Scope) -> Any:
    who = form.items[0].name
    target, value, body = binding_of(context, form, who)
    items = in_loop(context, context.node(value, scope))
    if who == "py/async-for":
        items = called(context, "py/async-iter", [items])
    function = make_function(context, "<lambda>", [target], body, scope, patterns=True, what=who)
    function.anonymous = True
    return called(context, "py/for-each", [Lambda(function, span=context.span), items])


def called(context: Context, name: str, args: list[Any]) -> Any:
    """A call of a builtin, whatever the program defines."""
    call = CallBuiltin(name, args, False, span=context.span)
    context.unit.fixed.add(call)
    return call


HANDLERS: dict[str, Handler] = {"py/async-with": async_with, "py/async-for": for_, "py/for": for_}
FORMS = {name: denied_in_sandbox(name, handler) for name, handler in HANDLERS.items()}
