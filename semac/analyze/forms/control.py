"""if, cond, case, when, unless, and, or, begin."""

from __future__ import annotations

from typing import Any

from sema_runtime.values.atoms import Symbol
from sema_runtime.values.lists import List
from semac.analyze.context import Context, Handler
from semac.analyze.scope import Scope
from semac.ir.nodes import And, Call, CallBuiltin, Const, Define, If, Let, Or, Ref, Var


def if_(a: Context, form: List, scope: Scope) -> Any:
    parts = a.expect(form, 2, 3)
    test = a.node(parts[0], scope)
    live = constant_truth(test)
    before = scope.function.place
    then = a.part(2, scope if live is not False else scope.child())
    if live is False:
        scope.function.place = before
    before = scope.function.place
    otherwise = a.part(3, scope if live is not True else scope.child()) if len(parts) == 3 else Const(None)
    if live is True:
        scope.function.place = before
    return folded_if(test, then, otherwise, a.span)


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


def cond(a: Context, form: List, scope: Scope) -> Any:
    clauses = a.expect(form, 0)
    made: list[tuple[Any, Any]] = []
    result: Any = Const(None)
    for clause in clauses:
        if type(clause) is not List:
            raise a.error("cond: expected a list")
        if not clause.items:
            raise a.error("cond: clause must not be empty", hint="each clause is (test body...) or (else body...)")
        test = clause.items[0]
        if type(test) is Symbol and test.name == "else":
            result = a.sequence(clause.items[1:], scope, clause) if len(clause.items) > 1 else Const(True)
            break
        node = a.node(test, scope)
        inner = scope.child() if constant_truth(node) is False else scope
        made.append((node, a.sequence(clause.items[1:], inner, clause) if len(clause.items) > 1 else Const(True)))
    for test_node, body in reversed(made):
        result = folded_if(test_node, body, result, a.span)
    return result


def case(a: Context, form: List, scope: Scope) -> Any:
    subject, *clauses = a.expect(form, 2)
    inner = scope.child()
    var = inner.declare("subject")
    del inner.vars[var.name]  # the program can't name it
    value = a.node(subject, scope)
    result: Any = Const(None)
    made: list[tuple[Any, Any]] = []
    bodies = [form for clause in clauses if type(clause) is List for form in clause.items[1:]]
    fresh = a.declare_inner(bodies, inner)  # one scope for the bodies of all clauses
    for clause in clauses:
        if type(clause) is not List:
            raise a.error("case: expected a list")
        if not clause.items:
            raise a.error("case: clause must not be empty")
        keys, body = clause.items[0], clause.items[1:]
        node = a.sequence(body, inner, clause) if body else Const(None)
        if type(keys) is Symbol and keys.name == "else":
            result = node
            break
        if type(keys) is not List:
            raise a.error("case: expected a list")
        tests = [equals(a, var, a.quote(key), scope) for key in keys.items]
        made.append((tests[0] if len(tests) == 1 else Or(tests) if tests else Const(False), node))
    for test, node in reversed(made):
        result = folded_if(test, node, result, a.span)
    if fresh:
        result = Define(fresh, result, span=a.span)
    return Let([(var, value)], result, span=a.span)


def equals(a: Context, var: Var, key: Any, scope: Scope) -> Any:
    """`(= subject key)` with whatever `=` means here, as the reference expands it."""
    head = a.reference("=", scope)
    if type(head) is Ref:
        return Call(head, [Ref(var), key], False, None, span=a.span)
    return CallBuiltin("=", [Ref(var), key], False, span=a.span)


def when(a: Context, form: List, scope: Scope) -> Any:
    test, *body = a.expect(form, 2)
    node = a.node(test, scope)
    inner = scope.child() if constant_truth(node) is False else scope
    return folded_if(node, a.sequence(body, inner), Const(None), a.span)


def unless(a: Context, form: List, scope: Scope) -> Any:
    test, *body = a.expect(form, 2)
    node = a.node(test, scope)
    inner = scope.child() if constant_truth(node) is True else scope
    return folded_if(node, Const(None), a.sequence(body, inner), a.span)


def and_(a: Context, form: List, scope: Scope) -> Any:
    return connective(a, form, scope, And, True)


def or_(a: Context, form: List, scope: Scope) -> Any:
    return connective(a, form, scope, Or, False)


def connective(a: Context, form: List, scope: Scope, kind: type[And] | type[Or], neutral: bool) -> Any:
    """`and` or `or`; neutral: its value without parts. What stands behind a constant that decides is not compiled."""
    parts = a.expect(form, 0)
    if not parts:
        return Const(neutral)
    nodes = []
    for part in parts:
        nodes.append(a.node(part, scope))
        if constant_truth(nodes[-1]) is (not neutral):
            break
    return kind(nodes, span=a.span) if len(nodes) > 1 else nodes[0]


def begin(a: Context, form: List, scope: Scope) -> Any:
    parts = a.expect(form, 0)
    return a.sequence(parts, scope) if parts else Const(None)


def quote(a: Context, form: List, scope: Scope) -> Any:
    (value,) = a.expect(form, 1, 1)
    return a.quote(value)


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
