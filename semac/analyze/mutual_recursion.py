"""Mutual tail calls: where two or three known functions tail-call each other, one is inlined into the other's loop.

`ping` that ends in `(pong ...)` and `pong` that ends in `(ping ...)` become a `ping` that loops over both bodies, and a
`pong` that ends in an ordinary call of it. Larger or open cycles stay with `tail_call`. What stands in place of a call
keeps its places, and the site of the call: traces show the function that it is of (`ir/sites.py`).
"""

from __future__ import annotations

from typing import Any

from semac.ir import nodes as ir
from semac.ir.nodes import Function, Var
from semac.ir.sites import Sites
from semac.ir.unit import Unit
from semac.syntax.spans import SiteSpan

MAX_NODES = 60
MAX_INLINED = 4


def inline_cycles(unit: Unit) -> None:
    """Breaks tail-call cycles between the known functions of a unit."""
    for function in unit.functions:
        if function.var is not None and function.var.known_function is function and eligible(function):
            break_cycle(function, unit.sites)


def eligible(function: Function) -> bool:
    return (
        function.rest is None and not function.has_closures and function.var is not None and function.var.loop is None
    )


def break_cycle(function: Function, sites: Sites) -> None:
    for _ in range(MAX_INLINED):
        site = next((call for call in open_tail_calls(function.body) if worth_inlining(call, function)), None)
        if site is None:
            return
        function.body = replaced(function.body, site, inlined(site, function, sites))


def open_tail_calls(body: Any) -> list[Any]:
    """Tail calls of known functions that are no jumps, outside of lambdas and inner loops."""
    calls = []
    stack = [body]
    while stack:
        part = stack.pop()
        kind = type(part)
        if kind is ir.Call and part.tail and part.recur is None and type(part.head) is ir.Ref:
            if part.head.var.known_function is not None:
                calls.append(part)
        elif kind is not ir.Lambda and kind is not ir.NamedLet:
            stack.extend(ir.children(part))
    return calls


def worth_inlining(call: Any, function: Function) -> bool:
    """Whether the callee is small, simple, and all its tail calls lead back to function directly."""
    target = call.head.var.known_function
    if target is function or not eligible(target) or target.self_tail or len(call.args) != len(target.params):
        return False
    if target.parent is not function.parent or any(var.assigned for var in target.params):
        return False
    for size, node in enumerate(ir.walk(target.body), 1):
        if size > MAX_NODES or type(node) in (
            ir.Lambda,
            ir.NamedLet,
            ir.Match,
            ir.Try,
            ir.Define,
            ir.Bind,
            ir.With,
            ir.While,
        ):
            return False
    calls = open_tail_calls(target.body)
    return bool(calls) and all(inner.head.var.known_function is function for inner in calls)


def inlined(call: Any, function: Function, sites: Sites) -> Any:
    """The callee's body with fresh variables for its parameters, its calls of function made jumps."""
    target = call.head.var.known_function
    outer = call.span.site if type(call.span) is SiteSpan else 0
    site = sites.of(target.var, call.span, outer) if call.span is not None else 0
    mapping: dict[Var, Var] = {}
    bindings = []
    for param, arg in zip(target.params, call.args, strict=True):
        bindings.append((fresh(param, function, mapping), arg))
    body = clone(target.body, mapping, function)
    if site:
        place_at(body, site, sites)
    for jump in open_tail_calls(body):
        if jump.head.var.known_function is function and len(jump.args) == len(function.params):
            jump.recur = function
            function.self_tail = True
    return ir.Let(bindings, body, span=call.span)


def place_at(body: Any, site: int, sites: Sites) -> None:
    """Says of all of a body at which call it stands."""
    for node in ir.walk(body):
        if node.span is not None:
            inner = node.span.site if type(node.span) is SiteSpan else 0
            node.span = SiteSpan(node.span, sites.inside(inner, site) if inner else site)


def fresh(var: Var, owner: Function, mapping: dict[Var, Var]) -> Var:
    copy = Var(var.name, owner)
    copy.defined, copy.assigned, copy.early = 1, var.assigned, var.early
    mapping[var] = copy
    owner.locals.append(copy)
    return copy


def clone(node: Any, mapping: dict[Var, Var], owner: Function) -> Any:
    """A copy of a node in which local variables are replaced."""
    kind = type(node)
    if kind is ir.Ref:
        return ir.Ref(mapping.get(node.var, node.var), span=node.span)
    if kind is ir.Let:
        bindings = []
        for var, value in node.bindings:
            copied = clone(value, mapping, owner)
            bindings.append((fresh(var, owner, mapping), copied))
        return ir.Let(bindings, clone(node.body, mapping, owner), span=node.span)
    values: dict[str, Any] = {}
    for field in kind.fields:
        value = getattr(node, field)
        if isinstance(value, ir.Node):
            value = clone(value, mapping, owner)
        elif type(value) is list:
            value = [clone(item, mapping, owner) for item in value]
        elif type(value) is dict:
            value = {key: clone(item, mapping, owner) for key, item in value.items()}
        elif type(value) is Var:
            value = mapping.get(value, value)
        values[field] = value
    return kind(**values, span=node.span)


def replaced(node: Any, old: Any, new: Any) -> Any:
    """The tree with one node replaced (in place below the root)."""
    if node is old:
        return new
    stack = [node]
    while stack:
        part = stack.pop()
        for field in type(part).fields:
            value = getattr(part, field)
            if value is old:
                setattr(part, field, new)
                return node
            if type(value) is list:
                for index, item in enumerate(value):
                    if item is old:
                        value[index] = new
                        return node
                    if type(item) is tuple and any(piece is old for piece in item):  # a clause of match
                        value[index] = tuple(new if piece is old else piece for piece in item)
                        return node
        stack.extend(ir.children(part))
    raise AssertionError("the call to replace is not in the body")
