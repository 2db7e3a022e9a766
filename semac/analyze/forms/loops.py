"""while and do. All rounds share their variables, as in the reference; named let (binding.py) makes fresh ones."""

from __future__ import annotations

from typing import Any

from sema_runtime.values.lists import List
from semac.analyze.context import Context, Handler
from semac.analyze.scope import Scope
from semac.ir.nodes import Call, CallBuiltin, Const, Let, Node, Ref, Seq, Set, Var, While


def while_(context: Context, form: List, scope: Scope) -> Any:
    test, *body = context.expect(form, 2)
    condition = context.node(test, scope)
    if type(context.reference("not", scope)) is Ref:  # the reference loops until `(not test)`, whatever `not` means
        negated = Call(context.reference("not", scope), [condition], False, None, span=context.span)
        condition = CallBuiltin("not", [negated], False)
    return While(condition, context.body(body, scope.child()), span=context.span)


def do(context: Context, form: List, scope: Scope) -> Any:
    parts = context.expect(form, 2)
    if type(parts[0]) is not List or type(parts[1]) is not List:
        raise context.error("do: expected a list")
    inner = scope.child()
    bindings: list[tuple[Any, Any]] = []
    steps: list[tuple[Any, Any]] = []
    values = []
    for spec in parts[0].items:
        if type(spec) is not List:
            raise context.error("do: expected a list")
        if len(spec.items) not in (2, 3):
            raise context.error("do: binding must be (var init) or (var init step)")
        values.append(context.node(spec.items[1], scope))
    scope.function.returning = None
    for spec, value in zip(parts[0].items, values, strict=True):
        var = inner.declare(context.name_of(spec.items[0], "do"))
        bindings.append((var, value))
        if len(spec.items) == 3:
            steps.append((var, spec.items[2]))
    if not parts[1].items:
        raise context.error("do: test clause must not be empty")
    test = context.node(parts[1].items[0], inner)
    scope.function.returning = None
    body = [context.body(parts[2:], inner.child())] if len(parts) > 2 else []
    rounds = [*body, *parallel_sets(context, steps, inner)] or [Const(None)]
    scope.function.returning = None
    loop = While(CallBuiltin("not", [test], False), Seq(rounds), span=context.span)
    ending = parts[1].items[1:]  # no sequence of the reference: its own defines are not announced
    result = context.in_order(context.located(ending, inner.child(), parts[1])) if ending else Const(None)
    return Let(bindings, Seq([loop, result], span=context.span), span=context.span)


def parallel_sets(context: Context, steps: list[tuple[Any, Any]], scope: Scope) -> list[Any]:
    """Assignments that all read the old values."""
    nodes = [(var, context.node(form, scope)) for var, form in steps]
    for var, _ in nodes:
        var.assigned += 1
    if not nodes:
        return []
    if len(nodes) == 1:
        return [Set(nodes[0][0], nodes[0][1], None, span=context.span)]
    temporaries = [(Var("", scope.function), node) for var, node in nodes]
    for (temporary, _), (var, _) in zip(temporaries, nodes, strict=True):
        temporary.hint = f"next-{var.name}"
        temporary.defined = 1
    pairs = zip(nodes, temporaries, strict=True)
    sets: list[Node] = [Set(var, Ref(temporary), None) for (var, _), (temporary, _) in pairs]
    return [Let(temporaries, Seq(sets), span=context.span)]


FORMS: dict[str, Handler] = {
    "while": while_,
    "do": do,
}
