"""Destructuring patterns and match.

A pattern is a small tuple: ("any",) ("var", Var) ("literal", value) ("sequence", patterns, rest pattern or None)
("map", [(key, pattern, required)]) ("malformed", message, hint): as in the reference, a pattern that is malformed is
an error of the run, raised when a value gets as far as the malformed part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sema_runtime.values.atoms import Symbol, keyword
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.typenames import type_name
from semac.analyze.context import Context, Handler
from semac.analyze.scope import Scope
from semac.ir.nodes import Bind, Const, Let, Match

Pattern = tuple[Any, ...]
KEYS = keyword("keys")


def pattern(context: Context, form: Any, scope: Scope) -> Pattern:
    """A destructuring pattern; its symbols are declared in scope."""
    if type(form) is Symbol:
        return ("any",) if form.name == "_" else ("var", scope.declare(form.name))
    if type(form) is tuple:
        return sequence_pattern(context, list(form), scope, pattern)
    if type(form) is Map:
        return map_pattern(context, form, scope, pattern, required=False)
    hint = "use [a b c] for sequential destructuring or {:keys [a b]} for map destructuring"
    expected = "destructure: invalid pattern, expected symbol, vector, or map"
    return ("malformed", f"{expected}, got {type_name(form)}", hint)


def match_pattern(context: Context, form: Any, scope: Scope) -> Pattern:
    """A pattern of `match`: like `pattern`, with literals, quoted data and required keys."""
    if type(form) is Symbol:
        return ("any",) if form.name == "_" else ("var", scope.declare(form.name))
    if type(form) is tuple:
        return sequence_pattern(context, list(form), scope, match_pattern)
    if type(form) is Map:
        return map_pattern(context, form, scope, match_pattern, required=True)
    if type(form) is List:
        items = form.items
        if len(items) == 2 and type(items[0]) is Symbol and items[0].name == "quote":
            return ("literal", items[1])
    return ("literal", form)


def sequence_pattern(context: Context, items: list[Any], scope: Scope, sub: Callable[..., Pattern]) -> Pattern:
    rest = None
    for index, item in enumerate(items):
        if type(item) is Symbol and item.name == "&":
            what = form_name(sub)
            if index == len(items) - 1:
                return ("sequence", [], ("malformed", f"{what}: `&` must be followed by a rest pattern", None))
            if index != len(items) - 2 and sub is pattern:
                return ("sequence", [], ("malformed", f"{what}: only one pattern allowed after `&`", None))
            for extra in items[index + 2 :]:  # ignored, as in the reference: their names are nil
                sub(context, extra, scope)
            before = [sub(context, part, scope) for part in items[:index]]
            rest = sub(context, items[index + 1], scope)
            return ("sequence", before, rest)
    return ("sequence", [sub(context, part, scope) for part in items], rest)


def form_name(sub: Callable[..., Pattern]) -> str:
    """What errors call the form that patterns of a kind stand in."""
    return "destructure" if sub is pattern else "match"


def map_pattern(context: Context, form: Map, scope: Scope, sub: Callable[..., Pattern], required: bool) -> Pattern:
    entries: list[tuple[Any, Pattern, bool]] = []
    for key, value in form.pairs():
        if key is KEYS:
            if type(value) not in (tuple, List):
                message = f"{form_name(sub)}: :keys must be followed by a vector or list of symbols"
                entries.append((key, ("malformed", message, None), False))
                continue
            for name in value:
                if type(name) is not Symbol:
                    message = f"{form_name(sub)}: :keys entries must be symbols"
                    entries.append((key, ("malformed", message, None), False))
                    break
                entries.append((keyword(name.name), ("var", scope.declare(name.name)), False))
        else:
            entries.append((key, sub(context, value, scope), required))
    return ("map", entries)


def bind_pattern(context: Context, shape: Pattern, value: Any, body: Callable[[], Any]) -> Any:
    """Binds value to a pattern around the body, which is analyzed when called (its names are declared by then)."""
    if shape[0] == "var":
        return Let([(shape[1], value)], body(), span=context.span)
    return Bind(shape, value, body(), span=context.span)


def match(context: Context, form: List, scope: Scope) -> Any:
    subject, *clauses = context.expect(form, 2)
    what = form.items[0].name
    value = context.node(subject, scope)
    branches: list[tuple[Pattern, Any, Any]] = []
    bare = None
    context.unit.places.note(context.span, scope.function)  # of the error where no clause matches
    before, places = scope.function.place, []
    returning: list[Any] = []
    for clause in clauses:
        scope.function.returning = None
        if type(clause) is not List and type(clause) is not tuple:
            hint = 'e.g. (match x (1 "one") (_ "other"))'
            raise context.error("match: each clause must be a list or vector", hint=hint)
        parts = list(clause)
        if not parts:
            raise context.error("match: clause must not be empty")
        inner = scope.child()
        shape = match_pattern(context, parts[0], inner)
        if type(parts[0]) in (List, tuple, Map):
            from semac.analyze.suspects import bare_pattern, mistaken_pattern

            bare = bare or bare_pattern(parts[0])
            context.warn(mistaken_pattern(getattr(clause, "span", None) or context.span, parts))
        guard = None
        body = parts[1:]
        if len(body) >= 2 and type(body[0]) is Symbol and body[0].name == "when":
            guard = context.node(body[1], inner)
            body = body[2:]
        branches.append((shape, guard, context.body(body, inner.child(), clause) if body else Const(None)))
        places.append(scope.function.place)
        returning.append(scope.function.returning)
        scope.function.place = before
    # the reference compiles the clauses from the last to the first
    scope.function.returning = returning[0] if returning else None
    scope.function.place = next((place for place in places if place is not before), before)
    node = Match(value, branches, what == "match*", span=context.span)
    if bare is not None:
        from semac.analyze.suspects import pattern_advice

        context.unit.match_advice[node] = pattern_advice(bare)
    return node


FORMS: dict[str, Handler] = {
    "match": match,
    "match*": match,
}
