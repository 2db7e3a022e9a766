"""if, cond, case, when, unless, and, or, begin."""

from __future__ import annotations

from typing import Any

from sema_runtime.values.atoms import Symbol
from sema_runtime.values.lists import List
from semac.analyze.context import Context, Handler
from semac.analyze.scope import Scope
from semac.ir.nodes import And, Call, CallBuiltin, Const, If, Let, Or, Ref, Var


def if_(context: Context, form: List, scope: Scope) -> Any:
    parts = context.expect(form, 2, 3)
    function = scope.function
    returning = function.returning
    test = context.node(parts[0], scope)
    live = constant_truth(test)
    function.returning = returning if live is not None else None
    before = function.place
    then = context.part(2, scope if live is not False else scope.child())
    if live is False:
        function.place = before
    before, returning = function.place, function.returning if live is not False else returning
    function.returning = returning if live is False else None
    otherwise = context.part(3, scope if live is not True else scope.child()) if len(parts) == 3 else Const(None)
    if live is True:
        function.place, function.returning = before, returning
    return folded_if(test, then, otherwise, context.span)


def constant_truth(test: Any) -> bool | None:
    """The truth of a constant test, None for others. What a constant test rules out defines nothing in the scope."""
    if type(test) is Const:
        return test.value is not None and test.value is not False
    return None


def folded_if(test: Any, then: Any, otherwise: Any, span: Any) -> Any:
    """An If, or the branch that a constant test leaves."""
    if type(test) is Const:
        return otherwise if test.value is None or test.value is False else then
    return If(test, then, otherwise, span=span)


def cond(context: Context, form: List, scope: Scope) -> Any:
    clauses = context.expect(form, 0)
    branches: list[tuple[Any, Any]] = []
    result: Any = Const(None)
    for clause in clauses:
        if type(clause) is not List:
            raise context.error("cond: expected a list")
        if not clause.items:
            raise context.error(
                "cond: clause must not be empty", hint="each clause is (test body...) or (else body...)"
            )
        test = clause.items[0]
        if branches:
            scope.function.returning = None
        if type(test) is Symbol and test.name == "else":
            result = context.sequence(clause.items[1:], scope, clause) if len(clause.items) > 1 else Const(True)
            break
        node = context.node(test, scope)
        scope.function.returning = None
        inner = scope.child() if constant_truth(node) is False else scope
        branches.append(
            (node, context.sequence(clause.items[1:], inner, clause) if len(clause.items) > 1 else Const(True))
        )
    else:
        scope.function.returning = None  # nil is loaded
    for test_node, body in reversed(branches):
        result = folded_if(test_node, body, result, context.span)
    return result


def case(context: Context, form: List, scope: Scope) -> Any:
    subject, *clauses = context.expect(form, 2)
    inner = scope.child()
    var = inner.declare("subject")
    del inner.vars[var.name]  # the program can't name it
    value = context.node(subject, scope)
    result: Any = Const(None)
    branches: list[tuple[Any, Any]] = []
    for clause in clauses:
        if type(clause) is not List:
            raise context.error("case: expected a list")
        if not clause.items:
            raise context.error("case: clause must not be empty")
        keys, body = clause.items[0], clause.items[1:]
        scope.function.returning = None
        node = context.sequence(body, inner, clause) if body else Const(None)
        if type(keys) is Symbol and keys.name == "else":
            result = node
            break
        if type(keys) is not List:
            raise context.error("case: expected a list")
        tests = [equals(context, var, context.quote(key), scope) for key in keys.items]
        branches.append((tests[0] if len(tests) == 1 else Or(tests) if tests else Const(False), node))
    else:
        scope.function.returning = None  # nil is loaded
    for test, node in reversed(branches):
        result = folded_if(test, node, result, context.span)
    return Let([(var, value)], result, span=context.span)


def equals(context: Context, var: Var, key: Any, scope: Scope) -> Any:
    """`(= subject key)` with whatever `=` means here, as the reference expands it."""
    head = context.reference("=", scope)
    if type(head) is Ref:
        return Call(head, [Ref(var), key], False, None, span=context.span)
    return CallBuiltin("=", [Ref(var), key], False, span=context.span)


def when(context: Context, form: List, scope: Scope) -> Any:
    test, *body = context.expect(form, 2)
    node = context.node(test, scope)
    scope.function.returning = None
    inner = scope.child() if constant_truth(node) is False else scope
    then = context.sequence(body, inner)
    if constant_truth(node) is not True:
        scope.function.returning = None  # nil is loaded
    return folded_if(node, then, Const(None), context.span)


def unless(context: Context, form: List, scope: Scope) -> Any:
    test, *body = context.expect(form, 2)
    node = context.node(test, scope)
    scope.function.returning = None
    inner = scope.child() if constant_truth(node) is True else scope
    return folded_if(node, Const(None), context.sequence(body, inner), context.span)


def and_(context: Context, form: List, scope: Scope) -> Any:
    return connective(context, form, scope, And, True)


def or_(context: Context, form: List, scope: Scope) -> Any:
    return connective(context, form, scope, Or, False)


def connective(context: Context, form: List, scope: Scope, kind: type[And] | type[Or], neutral: bool) -> Any:
    """`and` or `or`; neutral: its value without parts. What stands behind a constant that decides is not compiled."""
    parts = context.expect(form, 0)
    if not parts:
        return Const(neutral)
    nodes: list[Any] = []
    for part in parts:
        if nodes:
            scope.function.returning = None
        nodes.append(context.node(part, scope))
        if constant_truth(nodes[-1]) is (not neutral):
            break
    return kind(nodes, span=context.span) if len(nodes) > 1 else nodes[0]


def begin(context: Context, form: List, scope: Scope) -> Any:
    parts = context.expect(form, 0)
    return context.sequence(parts, scope) if parts else Const(None)


def quote(context: Context, form: List, scope: Scope) -> Any:
    (value,) = context.expect(form, 1, 1)
    return context.quote(value)


FORMS: dict[str, Handler] = {
    "if": if_,
    "cond": cond,
    "case": case,
    "when": when,
    "unless": unless,
    "and": and_,
    "or": or_,
    "begin": begin,
    "progn": begin,
    "quote": quote,
}
