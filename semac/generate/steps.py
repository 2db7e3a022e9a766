"""Where a function that is a generator sends, receives and yields (`semac/anf/step_nodes.py`).

A channel that is known at the start of the function is looked at here: only where it has no value, or no room, a
function of the runtime is called.
"""

from __future__ import annotations

import ast
from typing import Any

from semac.anf.step_nodes import Receive, Send, YieldFrom
from semac.generate.context import Context
from semac.generate.destination import Dest
from semac.generate.pyast import Loc, assign, attribute, builtin, call, compare, const, name

STEPS = "sema_runtime.tasks.steps:"


def receive(c: Context, op: Receive, dest: Dest) -> None:
    """`take(buffer, senders) if senders else buffer.popleft()` where there is a value; else the stepper may wait."""
    me, channel, *known = c.exprs(op.args)
    loc = c.loc(op)
    yielded: ast.expr = ast.Yield(None, **loc)
    if not known:
        waits = call(c.runtime(STEPS + "receives", loc), [me, channel], loc)
        c.finish(ast.IfExp(waits, yielded, attribute(me, "value", loc), **loc), dest, loc)
        return
    buffer, senders = known
    waits = call(c.runtime(STEPS + "waits_for_value", loc), [me, channel], loc)
    otherwise = ast.IfExp(waits, yielded, const(None, loc), **loc)
    taken = call(c.runtime(STEPS + "take", loc), [buffer, senders], loc)
    first = call(attribute(buffer, "popleft", loc), [], loc)
    present = ast.IfExp(senders, taken, first, **loc)
    c.finish(ast.IfExp(buffer, present, otherwise, **loc), dest, loc)


def send(c: Context, op: Send, dest: Dest) -> None:
    """The first receiver gets the value, or the buffer; else the stepper waits."""
    me, channel, value, *known = c.exprs(op.args)
    loc = c.loc(op)
    yielded: ast.stmt = ast.Expr(ast.Yield(None, **loc), **loc)
    if not known:
        waits = call(c.runtime(STEPS + "sends", loc), [me, channel, value], loc)
        c.append(ast.If(waits, [yielded], [], **loc))
    else:
        if not isinstance(value, ast.Name | ast.Constant):
            value = c.save(value, "value", loc)
        same, buffer, receivers = known
        handed = handed_over(c, receivers, value, loc)
        room = compare(call(builtin("len", loc), [buffer], loc), ast.Lt(), attribute(same, "room", loc), loc)
        put: ast.stmt = ast.Expr(call(attribute(buffer, "append", loc), [value], loc), **loc)
        waits = call(c.runtime(STEPS + "wait_for_room", loc), [me, channel, value], loc)
        wait: list[ast.stmt] = [ast.Expr(waits, **loc), yielded]
        c.append(ast.If(receivers, handed, [ast.If(room, [put], wait, **loc)], **loc))
    c.finish(const(None, loc), dest, loc, False)


def handed_over(c: Context, receivers: ast.expr, value: ast.expr, loc: Loc) -> list[ast.stmt]:
    """`fiber = receivers.popleft(); fiber.value = value; fiber.queue.append(fiber)`"""
    fiber = name(c.names.temporary("_fiber"), loc)
    place: Any = ast.Attribute(fiber, "value", ast.Store(), **loc)
    queued = call(attribute(attribute(fiber, "queue", loc), "append", loc), [fiber], loc)
    return [
        assign(fiber.id, call(attribute(receivers, "popleft", loc), [], loc), loc),
        ast.Assign([place], value, **loc),
        ast.Expr(queued, **loc),
    ]


def yield_from(c: Context, op: YieldFrom, dest: Dest) -> None:
    args = c.exprs(op.args)
    loc = c.loc(op)
    c.finish(ast.YieldFrom(call(c.runtime(op.path, loc), args, loc), **loc), dest, loc)
