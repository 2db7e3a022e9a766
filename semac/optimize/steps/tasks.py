"""Tasks that wait for channels become generators, which yield where they wait.

`(async ...)` whose own code sends, receives, awaits or sleeps is made a function that takes its stepper and yields
where it has to wait (`runtime/sema_runtime/tasks/steppers.py`). A turn of it then costs no switch of greenlets.

It is sound because the scheduler sees the same: a stepper enters the same lines and the same queue at the same moments
as the task would, a cancelled one gets the same error where it waits, and what else it calls may wait as before, in a
greenlet. Only what surely calls nothing that waits (`waits.py`) takes its turns on the stack of whoever drives the
queue. Text for people and code under a debugger keep the functions as they are written.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from semac.anf.nodes import Block, Call, CallBuiltin, CallRuntime, Closure, Expr, Let, Op, Ref
from semac.anf.walk import all_blocks, code_of, instructions, named
from semac.fingerprint import is_traced
from semac.ir.nodes import Function
from semac.ir.unit import Unit
from semac.optimize.steps.rewrite import RUNTIME, Stepped, is_step, own_operations
from semac.optimize.steps.twins import Twins, called
from semac.optimize.steps.waits import Waits

SPAWN = "sema_runtime.lib.tasks.concurrency:async_spawn"
OPEN, CLOSED = RUNTIME + "spawn_open", RUNTIME + "spawn_closed"


def step_tasks(unit: Unit) -> None:
    """Makes generators of the tasks of a unit that wait in their own code."""
    if unit.is_text or is_traced():
        return
    twins = Twins(unit)
    is_any = False
    while spawns := [instr for _, instr in steppable(unit, twins)]:  # those of twins that were made before, too
        is_any = True
        for instr in spawns:
            function = spawned(instr.op)
            assert function is not None
            Stepped(function, twins).rewrite()
            start(instr, OPEN)
    if is_any:
        close(unit)


def start(instr: Let, path: str) -> None:
    """Has a task started by a function of the runtime."""
    args: list[Expr] = instr.op.args  # type: ignore[attr-defined]
    instr.op = CallRuntime(path, args, span=instr.op.span, type=instr.op.type)
    if instr.var is not None:
        instr.var.op = instr.op


def close(unit: Unit) -> None:
    """Finds the tasks that surely call nothing that waits."""
    known = Waits(unit)
    for form in unit.blocks:
        for instr in list(instructions(form)):
            if type(instr.op) is CallRuntime and instr.op.path == OPEN:
                task: Any = instr.op.args[0]
                if known.is_safe(code_of(task.var.op.function)):
                    start(instr, CLOSED)


def steppable(unit: Unit, twins: Twins) -> list[tuple[Block, Let]]:
    """The instructions that start tasks which wait in their own code, with the blocks they stand in."""
    every = [block for form in unit.blocks for block in all_blocks(form)]
    spawns = [(block, instr) for block in every for instr in block.instrs if spawned(instr.op) is not None]
    if not spawns:
        return []
    uses = Counter(named(unit.blocks))
    return [(block, instr) for block, instr in spawns if uses[instr.op.args[0].var] == 1 and waits(instr, twins)]  # type: ignore[attr-defined]


def waits(instr: Let, twins: Twins) -> bool:
    """Whether the code of a task waits in a way that a stepper can say by itself."""
    function = spawned(instr.op)
    assert function is not None
    return any(is_step(op) or (type(op) is Call and called(op) in twins.stepping) for op in own_operations(function))


def spawned(op: Op) -> Function | None:
    """The function without parameters of which an operation makes a task."""
    is_spawn = (type(op) is CallRuntime and op.path == SPAWN) or (type(op) is CallBuiltin and op.name == "async/spawn")
    value = op.args[0] if is_spawn and op.args else None  # type: ignore[attr-defined]
    if type(value) is not Ref or type(value.var.op) is not Closure:
        return None
    function = value.var.op.function
    return function if not function.params and function.rest is None and not function.self_tail else None
