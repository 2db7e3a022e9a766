"""Counting loops: a named let whose variable goes up by one to a fixed bound becomes `for i in range(...)`."""

from __future__ import annotations

import ast
from typing import Any

from semac.emit.destination import Dest
from semac.emit.emitter import Emitter
from semac.emit.pyast import assign, call, compare, const, drop_trailing_continue, name
from semac.ir import nodes as ir
from semac.ir.facts import is_pure, is_total
from semac.ir.jumps import always_recurs, recurs
from semac.ir.types import INT, only


class Count:
    """The parts of a counting loop."""

    __slots__ = ("bound", "leave", "lets", "more_tests", "stay", "var")

    def __init__(self, var: ir.Var, bound: Any, lets: list[Any], more_tests: list[Any], leave: Any, stay: Any) -> None:
        self.var = var
        self.bound = bound
        self.lets = lets
        self.more_tests = more_tests
        self.leave = leave
        self.stay = stay


def counting(loop: ir.NamedLet) -> Count | None:
    """The parts of a loop of the shape (if (= i bound) leave stay), where every round adds 1 to i.

    Pure `let`s may stand before the test, and the test may be an `or` that begins with the comparison.
    """
    body, lets = loop.function.body, []
    while type(body) is ir.Let and all(is_total(value) for _, value in body.bindings):  # one round less evaluates them
        lets.append(body)
        body = body.body
    if type(body) is not ir.If:
        return None
    tests = body.test.items if type(body.test) is ir.Or else [body.test]
    counter = bound_of(tests[0], loop)
    if counter is None or recurs(body.then, loop):
        return None
    var, bound = counter
    if (lets or len(tests) > 1) and (
        not is_pure(body.then) or mentions(body.then, [v for let in lets for v, _ in let.bindings])
    ):
        return None
    if type(body.then) is not ir.Ref and len(tests) > 1 and type(body.then) is not ir.Const:
        return None
    if not steps_by_one(loop, var) or not leaves_by_jump(body.otherwise, loop):
        return None
    start = loop.inits[loop.function.params.index(var)]
    if not recurs(body.otherwise, loop) or (is_fixed(start, bound) and start.value > bound.value):
        return None
    return Count(var, bound, lets, tests[1:], body.then, body.otherwise)


def is_fixed(start: Any, bound: Any) -> bool:
    """Whether both ends of a counting loop are written in the program."""
    return type(start) is ir.Const and type(bound) is ir.Const


def bound_of(test: Any, loop: ir.NamedLet) -> tuple[ir.Var, Any] | None:
    """(i, n) of a test (= i n) where i is the loop's and n doesn't change in it."""
    if type(test) is not ir.CallBuiltin or test.name != "=" or len(test.args) != 2:
        return None
    params = loop.function.params
    for first, second in (test.args, test.args[::-1]):
        if type(first) is not ir.Ref or first.var not in params or not only(first.var.type, INT) or first.var.assigned:
            continue
        if type(second) is ir.Const and type(second.value) is int:
            return first.var, second
        if (
            type(second) is ir.Ref
            and second.var not in params
            and not second.var.assigned
            and only(second.var.type, INT)
        ):
            if not second.var.is_global and second.var.loop is None and not inside(second.var, loop):
                return first.var, second
    return None


def inside(var: ir.Var, loop: ir.NamedLet) -> bool:
    """Whether a variable is bound within the loop's own body."""
    return var.owner is loop.function


def steps_by_one(loop: ir.NamedLet, var: ir.Var) -> bool:
    index = loop.function.params.index(var)
    for node in ir.walk(loop.function.body):
        if type(node) is ir.Call and node.recur is loop and not is_plus_one(node.args[index], var):
            return False
        if type(node) is ir.Set and node.var is var:
            return False
    return True


def is_plus_one(node: Any, var: ir.Var) -> bool:
    if type(node) is not ir.CallBuiltin or node.name != "+" or len(node.args) != 2:
        return False
    a, b = node.args
    for left, right in ((a, b), (b, a)):
        if type(left) is ir.Ref and left.var is var and type(right) is ir.Const and right.value == 1:
            return type(right.value) is int
    return False


def leaves_by_jump(node: Any, loop: ir.NamedLet) -> bool:
    """Whether no inner loop jumps back to this one (a `break` there would have to skip the rest of the round)."""
    return not any(type(inner) is ir.NamedLet and inner.is_loop and recurs(inner, loop) for inner in ir.walk(node))


def mentions(node: Any, variables: list[ir.Var]) -> bool:
    return any(type(part) is ir.Ref and part.var in variables for part in ir.walk(node))


def emit_counting(e: Emitter, loop: ir.NamedLet, count: Count, dest: Dest) -> None:
    """`for i in range(start, bound):` with the rest of the loop's variables assigned in the body.

    A loop that starts above its bound never meets it: `for i in range(n) if n >= 0 else count():`.
    """
    loc = e.loc(loop)
    counter = e.names.local(count.var)
    start: ast.expr = const(0, loc)
    for var, init in zip(loop.function.params, loop.inits, strict=True):
        if var is count.var:
            start = e.expr(init)
            if not isinstance(start, ast.Constant):
                start = e.save(start, "start", loc)
            continue
        e.stmt(init, Dest("assign", e.names.local(var)))
    e.owned.update(loop.function.params)
    bound = e.expr(count.bound)
    limits = [bound] if isinstance(start, ast.Constant) and start.value == 0 else [start, bound]
    over: ast.expr = call(name("range", loc), limits, loc)
    if not is_fixed(loop.inits[loop.function.params.index(count.var)], count.bound):
        forever = call(e.runtime("itertools:count", loc), limits[:-1], loc)
        over = ast.IfExp(compare(bound, ast.GtE(), start, loc), over, forever, **loc)
    early = dest if dest.kind == "return" else Dest(dest.kind, dest.target, after=True)
    falls_through = bool(count.more_tests) or not always_recurs(count.stay, loop)

    def body() -> None:
        for let in count.lets:
            e.let_bindings(let)
        if count.more_tests:
            test = e.test(count.more_tests[0] if len(count.more_tests) == 1 else ir.Or(count.more_tests))
            _, block = e.in_block(lambda: e.stmt(count.leave, early))
            e.append(ast.If(test, block, [], **loc))
        e.stmt(count.stay, early)

    e.counted[loop] = count.var
    e.loops.append(loop)
    _, block = e.in_block(body)
    e.loops.pop()
    drop_trailing_continue(block)

    def after() -> None:
        if mentions(count.leave, [count.var]):
            e.append(assign(counter, bound, loc))
        e.stmt(count.leave, dest)

    target = ast.Name(counter, ast.Store(), **loc)
    if falls_through and dest.kind != "return":
        _, rest = e.in_block(after)
        e.append(ast.For(target, over, block or [ast.Pass(**loc)], rest, **loc))
        return
    e.append(ast.For(target, over, block or [ast.Pass(**loc)], [], **loc))
    after()
