"""try and throw. (`guard` is a prelude macro over try.)"""

from __future__ import annotations

from typing import Any

from sema_runtime.values.atoms import Symbol
from sema_runtime.values.lists import List
from semac.analyze.context import Context, Handler
from semac.analyze.scope import Scope
from semac.ir.nodes import Throw, Try


def try_(context: Context, form: List, scope: Scope) -> Any:
    parts = context.expect(form, 1)
    clause = parts[-1]
    if type(clause) is not List:
        raise context.error("try: expected a list")
    items = clause.items
    if not items:
        raise context.error("try: catch form is empty")
    if type(items[0]) is not Symbol or items[0].name != "catch":
        raise context.error("try: last argument must be (catch var handler...)")
    if len(items) < 3:
        raise context.error("try: catch needs (catch var handler...)")
    name = context.name_of(items[1], "try catch")
    if len(items) > 3 and type(items[2]) is Symbol:
        from semac.analyze.suspects import catch_class

        context.warn(catch_class(context.span, items))
    body = context.sequence(parts[:-1], scope)
    scope.function.returning = None
    inner = scope.child()
    var = inner.declare(name)
    var.defined = 1
    handler = context.body(items[2:], inner)
    return Try(body, var, handler, span=context.span)


def throw(context: Context, form: List, scope: Scope) -> Any:
    (value,) = context.expect(form, 1, 1)
    return Throw(context.node(value, scope), span=context.span)


FORMS: dict[str, Handler] = {
    "try": try_,
    "throw": throw,
}
