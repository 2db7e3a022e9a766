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

from semac.anf import nodes as anf
from semac.anf.build import is_fixed
from semac.anf.nodes import Block, CallBuiltin, CallRuntime, Closure, Comprehension, Expr, Let, Op, Ref
from semac.anf.nodes import Python as PythonOp
from semac.anf.step_nodes import Receive, Send, YieldFrom
from semac.anf.walk import all_blocks, blocks, bound, code_of, refs
from semac.fingerprint import is_traced
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.steps.waits import Waits
from semac.types.lattice import ANY

SPAWN = "sema_runtime.lib.tasks.concurrency:async_spawn"
AWAIT = "sema_runtime.lib.tasks.concurrency:await_"
RUNTIME = "sema_runtime.tasks.steps:"
LOOPS = frozenset((anf.Loop, anf.While, anf.For))
# Builtins → the generator of the runtime that does the same for a stepper.
YIELDING = {
    "channel/close": "close", "channel/new": "new", "channel/try-recv": "try_receive", "channel/closed?": "is_closed",
    "channel/count": "count", "channel/empty?": "is_empty", "channel/full?": "is_full", "async/await": "await_",
    "async/sleep": "sleep",
}  # fmt: skip


def step_tasks(unit: Unit) -> None:
    """Makes generators of the tasks of a unit that wait in their own code."""
    if unit.is_text or is_traced():
        return
    every = [block for form in unit.blocks for block in all_blocks(form)]
    spawns = [instr for block in every for instr in block.instrs if spawned(instr.op) is not None]
    if not spawns:
        return
    uses = Counter(ref.var for form in unit.blocks for ref in refs(form))
    waits = Waits(unit)
    for instr in spawns:
        function = spawned(instr.op)
        assert function is not None
        value = instr.op.args[0]  # type: ignore[attr-defined]
        if uses[value.var] == 1 and steps_of(code_of(function)):
            Stepped(unit, function).rewrite()
            is_closed = waits.is_safe(code_of(function))
            path = RUNTIME + ("spawn_closed" if is_closed else "spawn_open")
            instr.op = CallRuntime(path, instr.op.args, span=instr.op.span, type=instr.op.type)  # type: ignore[attr-defined]
            if instr.var is not None:
                instr.var.op = instr.op


def spawned(op: Op) -> Function | None:
    """The function without parameters of which an operation makes a task."""
    is_spawn = (type(op) is CallRuntime and op.path == SPAWN) or (type(op) is CallBuiltin and op.name == "async/spawn")
    value = op.args[0] if is_spawn and len(op.args) == 1 else None  # type: ignore[attr-defined]
    if type(value) is not Ref or type(value.var.op) is not Closure:
        return None
    function = value.var.op.function
    return function if not function.params and function.rest is None and not function.self_tail else None


def own_blocks(block: Block) -> list[Block]:
    """A block and those inside in which Python allows a `yield`: not those of comprehensions and of other functions."""
    found: list[Block] = []
    stack = [block]
    while stack:
        current = stack.pop()
        found.append(current)
        for instr in current.instrs:
            if type(instr.op) is not Comprehension:
                stack += blocks(instr.op)
    return found


def is_step(op: Op) -> bool:
    """Whether an operation waits in a way that a stepper can say by itself."""
    if type(op) is CallBuiltin:
        return op.name in ("channel/recv", "channel/send") or op.name in YIELDING
    return type(op) is CallRuntime and op.path == AWAIT


def steps_of(block: Block) -> list[Op]:
    return [instr.op for inner in own_blocks(block) for instr in inner.instrs if is_step(instr.op)]


class Stepped:
    """Rewrites one function. known: for each channel, the variables that stand for it, by what they hold."""

    def __init__(self, unit: Unit, function: Function) -> None:
        self.unit = unit
        self.function = function
        self.me = Var("_task", function)  # no name of the program begins so in messages
        self.me.defined = 1
        self.own = bound_in(code_of(function))
        self.head: list[Let] = []
        self.known: dict[tuple[Var, str], Var] = {}

    def rewrite(self) -> None:
        code = code_of(self.function)
        self.block(code, False)
        self.function.params.insert(0, self.me)
        code.instrs[:0] = self.head

    def block(self, block: Block, is_often: bool) -> None:
        for instr in block.instrs:
            op = instr.op
            if is_step(op):
                instr.op = self.step(op, is_often)
                if instr.var is not None:
                    instr.var.op = instr.op
            elif type(op) is not Comprehension:
                for inner in blocks(op):
                    self.block(inner, is_often or type(op) in LOOPS)

    def step(self, op: Op, is_often: bool) -> Op:
        args: list[Expr] = [Ref(self.me), *op.args]  # type: ignore[attr-defined]
        name = op.name if type(op) is CallBuiltin else ""
        made: Op
        if name == "channel/recv":
            made = Receive([*args, *self.parts(args[1], ("buffer", "senders"), is_often)])
        elif name == "channel/send":
            made = Send([*args, *self.parts(args[1], ("", "buffer", "receivers"), is_often)])
        else:
            made = YieldFrom(RUNTIME + (YIELDING[name] if name else "await_"), args)
        made.span, made.type = op.span, op.type
        return made

    def parts(self, channel: Expr, names: tuple[str, ...], is_often: bool) -> list[Expr]:
        """The variables for parts of a channel that is known when the task begins; none for any other."""
        if not is_often or type(channel) is not Ref or channel.var.is_global or not is_fixed(channel.var):
            return []
        if channel.var in self.own:
            return []
        return [Ref(self.part(channel.var, name)) for name in names]

    def part(self, channel: Var, name: str) -> Var:
        """The variable for the channel itself, where name is "", or for a part of it."""
        var = self.known.get((channel, name))
        if var is None:
            var = Var("", self.function)
            var.hint = f"_{name or 'channel'}"
            op: Op
            if name:
                op = PythonOp(name, [Ref(self.part(channel, ""))])
            else:
                op = CallRuntime(RUNTIME + "channel_or_none", [Ref(channel)])
            op.span, op.type = self.function.span, ANY
            var.op, var.type = op, ANY
            self.head.append(Let(var, op))
            self.known[channel, name] = var
        return var


def bound_in(block: Block) -> set[Var]:
    """The variables that a block and those inside bind."""
    found: set[Var] = set()
    for inner in all_blocks(block):
        for instr in inner.instrs:
            found.update(bound(instr.op))
            if instr.var is not None:
                found.add(instr.var)
    return found
