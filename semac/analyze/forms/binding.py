"""let, let*, letrec, let-values, let*-values, parameterize."""

from __future__ import annotations

from typing import Any

from sema_runtime.values.atoms import Symbol
from sema_runtime.values.errors import SemaTypeError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.typenames import type_name
from semac.analyze.context import Context, Handler
from semac.analyze.forms.functions import make_function
from semac.analyze.forms.patterns import bind_pattern, pattern
from semac.analyze.scope import Scope
from semac.ir.intrinsics import VALUES_TUPLE
from semac.ir.nodes import Call, Const, Define, Lambda, Let, NamedLet, Quote, Ref, Runtime, Seq, Set, With


def binding_pairs(context: Context, form: Any, what: str) -> list[tuple[Any, Any]]:
    """(target, value form) of a list of two-element bindings."""
    if type(form) is not List and (type(form) is not tuple or what not in ("let", "named let")):
        raise context.error(f"{what}: expected a list")
    pairs = []
    for binding in form:
        if type(binding) is not List:
            raise context.error(f"{what}: expected a list")
        if len(binding.items) != 2:
            shape = "clause must be (formals producer)" if what.endswith("-values") else "binding must have 2 elements"
            raise context.error(f"{what}: each {shape}")
        pairs.append((binding.items[0], binding.items[1]))
    return pairs


def let(context: Context, form: List, scope: Scope) -> Any:
    parts = context.expect(form, 2)
    if type(parts[0]) is Symbol:
        return named_let(context, form, scope)
    pairs = binding_pairs(context, parts[0], "let")
    known = len(context.unit.globals)
    values = [context.node(value, scope) for _, value in pairs]
    scope.function.returning = None
    if len(context.unit.globals) > known:
        note_siblings(context, pairs, known)
    inner = scope.child()
    targets = [let_target(context, target, inner, "let") for target, _ in pairs]
    note_patterns(context, targets, scope)
    early = values_first(targets, values, inner)
    body = nest(context, targets, values, lambda: context.body(parts[1:], inner))
    return Let(early, body, span=context.span) if early else body


def values_first(targets: list[Any], values: list[Any], scope: Scope) -> list[tuple[Any, Any]]:
    """Variables for the values of a `let`, where a pattern would be matched before a later value is computed; the
    values become references to them."""
    inert = (Const, Quote, Lambda, Ref)
    last = max((index for index, value in enumerate(values) if type(value) not in inert), default=0)
    if all(target[0] == "var" for target in targets[:last]):
        return []
    early = []
    for index in range(last + 1):
        var = scope.declare("value")
        del scope.vars[var.name]
        early.append((var, values[index]))
        values[index] = Ref(var, span=values[index].span)
    return early


def note_siblings(context: Context, pairs: list[tuple[Any, Any]], known: int) -> None:
    """Warns of values that use a name of the same let, unless it turns out to be a global. known: globals before."""
    from semac.analyze.suspects import sibling_binding

    new = list(context.unit.globals)[known:]
    for target, _ in pairs:
        if type(target) is Symbol and target.name in new:
            context.doubts.append(sibling_binding(context.span, target.name))


def let_target(context: Context, target: Any, scope: Scope, what: str) -> Any:
    if type(target) is Symbol:
        return ("var", scope.declare(target.name))
    if type(target) is tuple or type(target) is Map:
        return pattern(context, target, scope)
    raise context.error(f"{what}: binding name must be a symbol, vector, or map pattern")


def note_patterns(context: Context, targets: list[Any], scope: Scope) -> None:
    """Notes where errors of patterns stand: behind the values, before the body."""
    if any(target[0] != "var" for target in targets):
        context.unit.places.note(context.span, scope.function)


def nest(context: Context, targets: list[Any], values: list[Any], body: Any) -> Any:
    """Bindings in order around a body; neighbouring plain variables share one Let."""
    node = body()
    index = len(targets) - 1
    while index >= 0:
        if targets[index][0] != "var":
            node = bind_pattern(context, targets[index], values[index], always(node))
            index -= 1
            continue
        group = []
        while index >= 0 and targets[index][0] == "var":
            group.append((targets[index][1], values[index]))
            index -= 1
        node = Let(group[::-1], node, span=context.span)
    for target, value in zip(targets, values, strict=True):
        if target[0] == "var":
            note_function(target[1], value)
    return node


def always(node: Any) -> Any:
    """A body that is analyzed already, where `bind_pattern` wants to be given one on demand."""
    return lambda: node


def note_function(var: Any, value: Any) -> None:
    """Remembers that a variable is bound to one function."""
    var.defined += 1
    if type(value) is Lambda and var.defined == 1:
        var.function = value.function
        value.function.var = value.function.var or var


def let_star(context: Context, form: List, scope: Scope) -> Any:
    parts = context.expect(form, 2)
    pairs = binding_pairs(context, parts[0], "let*")
    targets, values = [], []
    inner = scope.child()
    for target, value in pairs:
        values.append(context.node(value, inner))
        scope.function.returning = None
        inner = inner.child()
        targets.append(let_target(context, target, inner, "let*"))
        note_patterns(context, targets[-1:], scope)
    return nest(context, targets, values, lambda: context.body(parts[1:], inner))


def letrec(context: Context, form: List, scope: Scope) -> Any:
    parts = context.expect(form, 2)
    scope.function.returning = None
    pairs = binding_pairs(context, parts[0], "letrec")
    inner = scope.child()
    inner_defines: list[Any] = []
    inner.inner_defines = inner_defines
    targets = [letrec_target(context, target, inner) for target, _ in pairs]
    fresh = list(inner.vars.values())
    context.announce(parts[1:], inner)  # the functions bound here see what the body defines
    items: list[Any] = []
    for (target, matched), (_, value) in zip(targets, pairs, strict=True):
        node = context.node(value, inner)
        scope.function.returning = None
        if target[0] == "var":
            note_function(target[1], node)
            items.append(Set(target[1], node, "local", span=context.span))
        else:
            sets = assignments(context, [(inner.vars[name], "local") for name in matched.vars], matched)
            items.append(bind_pattern(context, target, node, always(Seq(sets, span=context.span))))
            note_patterns(context, [target], scope)
    body = context.sequence(parts[1:], inner)
    whole = Seq([*items, *(body.items if type(body) is Seq else [body])], span=context.span)
    return Define([*fresh, *inner_defines], whole, span=context.span)


def letrec_target(context: Context, target: Any, scope: Scope) -> tuple[Any, Scope]:
    """The target of a letrec, and the scope of what its pattern binds; variables of these names are set from those."""
    matched = scope.child()
    shape = let_target(context, target, scope if type(target) is Symbol else matched, "letrec")
    for name in matched.vars:
        scope.declare(name)
    return shape, matched


def assignments(context: Context, targets: list[tuple[Any, str]], matched: Scope) -> list[Any]:
    """Sets the variables that a definition makes from those that its pattern binds, one by one."""
    for var, _ in targets:
        var.defined += 2
    pairs = zip(targets, matched.vars.values(), strict=True)
    return [Set(var, Ref(source), where, span=context.span) for (var, where), source in pairs]


def named_let(context: Context, form: List, scope: Scope) -> Any:
    items = form.items
    if len(items) < 4:
        from sema_runtime.values.errors import ArityError

        raise ArityError("named let", "3+", len(items) - 1)
    name = items[1].name
    pairs = binding_pairs(context, items[2], "named let")
    if any(type(target) is Symbol and target.name == "." for target, _ in pairs):
        raise context.error("named let: `.` cannot be a variable")
    scope.function.returning = None
    outer = scope.child()
    var = outer.declare(name)
    is_seen = any(mentions(value, items[1]) for _, value in pairs)  # the reference makes a letrec of it
    inits = [context.node(value, outer if is_seen else scope) for _, value in pairs]
    function = make_function(context, name, [target for target, _ in pairs], items[3:], outer, what="named let")
    if is_seen:
        value = Lambda(function, span=context.span)
        note_function(var, value)
        call = Call(Ref(var), inits, False, None, span=context.span)
        context.unit.places.note_call(context.span, scope.function)
        return Define([var], Seq([Set(var, value, "local", span=context.span), call], span=context.span))
    var.function = function
    var.defined = 1
    function.var = var
    node = NamedLet(var, function, inits, False, False, None, span=context.span)
    var.loop = node
    context.unit.places.note_call(context.span, scope.function)
    return node


def mentions(form: Any, name: Symbol) -> bool:
    """Whether a form has a symbol in it, outside of quotes."""
    if type(form) is List:
        head = form.items[0] if form.items else None
        is_quoted = type(head) is Symbol and head.name == "quote"
        return not is_quoted and any(mentions(part, name) for part in form)
    if type(form) is Map:
        return any(mentions(part, name) for pair in form.pairs() for part in pair)
    return form is name or (type(form) is tuple and any(mentions(part, name) for part in form))


def let_values(context: Context, form: List, scope: Scope) -> Any:
    parts = context.expect(form, 2)
    what = form.items[0].name
    scope.function.returning = None
    pairs = binding_pairs(context, parts[0], what)
    inner = scope.child()
    steps: list[tuple[Any, Any]] = []
    for target, value in pairs:
        node = context.node(value, scope if what == "let-values" else inner)
        if what == "let*-values":
            inner = inner.child()
        steps.append((formals(context, target, inner, what), node))
    body = context.body(parts[1:], inner.child())
    for shape, node in reversed(steps):
        body = bind_pattern(context, shape, values_items(node, shape, context.span), always(body))
    return body


def formals(context: Context, target: Any, scope: Scope, what: str) -> Any:
    """The pattern of `(a b . rest)` or of a symbol that takes all values as a list."""
    if type(target) is Symbol:
        return ("sequence", [], ("var", scope.declare(target.name)))
    if type(target) is not List:
        raise context.error(f"{what}: expected a list")
    from semac.analyze.forms.functions import split_rest

    names, rest = split_rest(context, list(target), what)
    patterns = [("var", scope.declare(context.name_of(name, what))) for name in names]
    return ("sequence", patterns, ("var", scope.declare(rest)) if rest is not None else None)


def values_items(node: Any, shape: Any, span: Any) -> Any:
    """The multiple values of a node as a tuple, checked against the number of variables. span: of the form."""
    low = len(shape[1])
    arguments = [node, Const(low), Const(shape[2] is not None)]
    return Runtime(VALUES_TUPLE, arguments, span=node.span or span)


def parameterize(context: Context, form: List, scope: Scope) -> Any:
    parts = context.expect(form, 1)
    bindings = parts[0]
    if type(bindings) not in (List, tuple):
        hint = "map: expected a list, vector, or mutable-array to iterate over"
        raise SemaTypeError("list, vector, or mutable-array", f"{type_name(bindings)} in map", hint)
    flat: list[Any] = []
    for binding in bindings:
        if type(binding) not in (List, tuple):
            type_error("list or vector", binding, "first: argument 1 must be a list or vector")
        flat += [context.node(part, scope) for part in [*binding, None, None][:2]]
    body = context.body(parts[1:], scope.child()) if len(parts) > 1 else Const(None)
    manager = Runtime("sema_runtime.values.parameters:parameterized", flat, span=context.span)
    return With(manager, None, body, span=context.span)


FORMS: dict[str, Handler] = {
    "let": let,
    "let*": let_star,
    "letrec": letrec,
    "let-values": let_values,
    "let*-values": let_values,
    "parameterize": parameterize,
}
