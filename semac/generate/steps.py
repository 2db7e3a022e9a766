"""Where a function that is a generator sends, receives and yields (`semac/anf/step_nodes.py`).

A channel that is known at the start of the function is looked at here: only where it has no value, or no room, a
function of the runtime is called.
"""

from __future__ import annotations

import ast
from typing import Any

from semac.anf.step_nodes import Consume, Give, Pull, Receive, Send, YieldFrom
from semac.generate.context import Context
from semac.generate.destination import Dest
from semac.generate.pyast import Loc, assign, attribute, builtin, call, compare, const, name

STEPS = "sema_runtime.tasks.steps:"


def receive(c: Context, op: Receive, dest: Dest) -> None:
    """The first value of the buffer; where there is none, the stepper waits in line."""
    me, channel, *known = c.exprs(op.args)
    loc = c.loc(op)
    yielded: ast.expr = ast.Yield(None, **loc)
    if not known:
        waits = call(c.runtime(STEPS + "receives", loc), [me, channel], loc)
        c.finish(ast.IfExp(waits, yielded, attribute(me, "value", loc), **loc), dest, loc)
        return
    same, buffer, senders, receivers = known
    if op.is_short:
        waits = call(c.runtime(STEPS + "receives", loc), [me, channel], loc)
        slowly = ast.IfExp(waits, yielded, attribute(me, "value", loc), **loc)
        is_there = ast.BoolOp(ast.And(), [buffer, ast.UnaryOp(ast.Not(), senders, **loc)], **loc)
        first = call(attribute(buffer, "popleft", loc), [], loc)
        c.finish(ast.IfExp(is_there, first, slowly, **loc), dest, loc)
        return
    taken = call(c.runtime(STEPS + "take", loc), [buffer, senders], loc)
    first = call(attribute(buffer, "popleft", loc), [], loc)
    present: ast.expr = ast.IfExp(senders, taken, first, **loc)
    refused = call(c.runtime(STEPS + "receive_nothing", loc), [me, channel], loc)
    waiting = [*stand_in_line(me, receivers, loc), *finished(c, yielded, dest, loc)]
    otherwise = ast.If(may_wait(me, same, loc), waiting, finished(c, refused, dest, loc), **loc)
    c.append(ast.If(buffer, finished(c, present, dest, loc), [otherwise], **loc))


def send(c: Context, op: Send, dest: Dest) -> None:
    """The first receiver gets the value, or the buffer; where it has no room, the stepper waits in line."""
    me, channel, value, *known = c.exprs(op.args)
    loc = c.loc(op)
    yielded: ast.stmt = ast.Expr(ast.Yield(None, **loc), **loc)
    if not known:
        waits = call(c.runtime(STEPS + "sends", loc), [me, channel, value], loc)
        c.append(ast.If(waits, [yielded], [], **loc))
    else:
        if not isinstance(value, ast.Name | ast.Constant):
            value = c.save(value, "value", loc)
        same, buffer, senders, receivers = known
        room = compare(call(builtin("len", loc), [buffer], loc), ast.Lt(), attribute(same, "room", loc), loc)
        put: ast.stmt = ast.Expr(call(attribute(buffer, "append", loc), [value], loc), **loc)
        if op.is_short:
            free = ast.BoolOp(ast.And(), [room, ast.UnaryOp(ast.Not(), receivers, **loc)], **loc)
            waits = call(c.runtime(STEPS + "sends", loc), [me, channel, value], loc)
            c.append(ast.If(free, [put], [ast.If(waits, [yielded], [], **loc)], **loc))
            c.finish(const(None, loc), dest, loc, False)
            return
        refused: ast.stmt = ast.Expr(call(c.runtime(STEPS + "refuse", loc), [me, channel, value], loc), **loc)
        waiting = [set_attribute(me, "offered", value, loc), *stand_in_line(me, senders, loc), yielded]
        otherwise = ast.If(may_wait(me, same, loc), waiting, [refused], **loc)
        handed = handed_over(c, receivers, value, loc)
        c.append(ast.If(receivers, handed, [ast.If(room, [put], [otherwise], **loc)], **loc))
    c.finish(const(None, loc), dest, loc, False)


def finished(c: Context, value: ast.expr, dest: Dest, loc: Loc) -> list[ast.stmt]:
    return c.in_block(lambda: c.finish(value, dest, loc))[1]


def may_wait(me: ast.expr, channel: ast.expr, loc: Loc) -> ast.expr:
    """`channel.room and not task.doomed`: a closed channel has no room, and a cancelled task ends."""
    alive = ast.UnaryOp(ast.Not(), attribute(me, "doomed", loc), **loc)
    return ast.BoolOp(ast.And(), [attribute(channel, "room", loc), alive], **loc)


def stand_in_line(me: ast.expr, line: ast.expr, loc: Loc) -> list[ast.stmt]:
    """`task.line = line; line.append(task)`"""
    joined: ast.stmt = ast.Expr(call(attribute(line, "append", loc), [me], loc), **loc)
    return [set_attribute(me, "line", line, loc), joined]


def set_attribute(subject: ast.expr, attr: str, value: ast.expr, loc: Loc) -> ast.stmt:
    place: Any = ast.Attribute(subject, attr, ast.Store(), **loc)
    return ast.Assign([place], value, **loc)


def handed_over(c: Context, receivers: ast.expr, value: ast.expr, loc: Loc) -> list[ast.stmt]:
    """`fiber = receivers.popleft(); fiber.value = value; fiber.queue.append(fiber)`"""
    fiber = name(c.names.temporary("_fiber"), loc)
    queued = call(attribute(attribute(fiber, "queue", loc), "append", loc), [fiber], loc)
    return [
        assign(fiber.id, call(attribute(receivers, "popleft", loc), [], loc), loc),
        set_attribute(fiber, "value", value, loc),
        ast.Expr(queued, **loc),
    ]


def give(c: Context, op: Give, dest: Dest) -> None:
    """`yield value`"""
    (value,) = c.exprs(op.args)
    loc = c.loc(op)
    c.append(ast.Expr(ast.Yield(value, **loc), **loc))
    c.finish(const(None, loc), dest, loc, False)


def pull(c: Context, op: Pull) -> ast.expr:
    """`next(channel.source, None)`"""
    (channel,) = c.exprs(op.args)
    loc = c.loc(op)
    return call(builtin("next", loc), [attribute(channel, "source", loc), const(None, loc)], loc)


def consume(c: Context, op: Consume) -> ast.expr:
    """`consume(function, copy, data, ...)`"""
    head, copy, data, *args = c.exprs([op.head, op.copy, op.data, *op.args])
    loc = c.loc(op)
    return call(c.runtime(STEPS + "consume", loc), [head, copy, data, *args], loc)


def yield_from(c: Context, op: YieldFrom, dest: Dest) -> None:
    args = c.exprs(op.args)
    loc = c.loc(op)
    made = call(c.runtime(op.path, loc), args, loc) if op.path else call(args[0], args[1:], loc)
    c.finish(ast.YieldFrom(made, **loc), dest, loc)
