"""lambda, fn: parameter lists, rest parameters, destructuring parameters; and calls to `apply`-like shapes."""

from __future__ import annotations

from typing import Any

from sema_runtime.values.atoms import Symbol
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from semac.analyze.context import Context, Handler
from semac.analyze.forms.patterns import bind_pattern, pattern
from semac.analyze.scope import Scope
from semac.ir.nodes import Function, Lambda, Ref


def lambda_(context: Context, form: List, scope: Scope) -> Any:
    items = form.items
    if len(items) < 3:
        from sema_runtime.values.errors import ArityError

        error = ArityError("lambda", "2+", len(items) - 1)
        error.span = context.span  # type: ignore[attr-defined]
        raise error
    params = items[1]
    if type(params) is not List and type(params) is not tuple:
        from sema_runtime.values.errors import SemaTypeError
        from sema_runtime.values.typenames import type_name

        raise SemaTypeError("list or vector", type_name(params))
    function = make_function(context, "<lambda>", list(params), items[2:], scope, patterns=True)
    function.anonymous = True
    return Lambda(function, span=context.span)


def make_function(
    context: Context,
    name: str,
    params: list[Any],
    body: Any,
    scope: Scope,
    patterns: bool = False,
    what: str = "lambda",
) -> Function:
    """The Function of a parameter list and body forms. patterns: whether parameters may destructure."""
    function, inner = context.function(name, scope)
    names, rest = split_rest(context, params, what)
    note_marks(context, name, params, what)
    destructured: list[tuple[Any, Any]] = []
    for index, param in enumerate(names):
        if type(param) is Symbol:
            var = inner.declare(param.name)
        elif patterns and type(param) in (tuple, Map):
            var = inner.declare(f"arg-{index + 1}")
            destructured.append((param, var))
        else:
            raise context.error(f"{what}: expected a symbol")
        function.params.append(var)
    if rest is not None:
        function.rest = inner.declare(rest)
    if len(body) > 1 and type(body[0]) is str:
        function.doc = body[0]
    if destructured:
        context.unit.places.note(context.span, function)
        function.body = nested_patterns(context, destructured, body, inner)
    else:
        function.body = context.body(body, inner)
    return function


def note_marks(context: Context, name: str, params: list[Any], what: str) -> None:
    """Warns of `&` and its like among parameters."""
    if any(type(param) is Symbol and param.name.startswith("&") for param in params):
        from semac.analyze.suspects import marked_parameters

        context.warn(marked_parameters(context.span, name, params, what))


def nested_patterns(context: Context, destructured: list[tuple[Any, Any]], body: Any, scope: Scope) -> Any:
    """The body inside the bindings of all destructuring parameters."""
    if not destructured:
        return context.body(body, scope.child())
    (form, var), rest = destructured[0], destructured[1:]
    return bind_pattern(
        context, pattern(context, form, scope), Ref(var), lambda: nested_patterns(context, rest, body, scope)
    )


def split_rest(context: Context, params: list[Any], what: str) -> tuple[list[Any], str | None]:
    """(parameters, name of the rest parameter or None) of `(a b . rest)`."""
    for index, param in enumerate(params):
        if type(param) is Symbol and param.name == ".":
            if index == len(params) - 2 and type(params[-1]) in (tuple, Map):
                return [*params[:index], params[-1]], None
            if index != len(params) - 2:
                raise context.error(f"{what}: expected exactly one parameter after `.`")
            return params[:index], context.name_of(params[-1], what)
    return params, None


FORMS: dict[str, Handler] = {
    "lambda": lambda_,
    "fn": lambda_,
}
