"""A function made a generator: it takes its stepper, and yields where it waits."""

from __future__ import annotations

from collections import Counter

from semac.anf import nodes as anf
from semac.anf.build import is_fixed
from semac.anf.nodes import Block, Call, CallBuiltin, CallRuntime, Closure, Comprehension, Expr, Let, Op, Ref
from semac.anf.nodes import Python as PythonOp
from semac.anf.step_nodes import Receive, Send, YieldFrom
from semac.anf.walk import all_blocks, blocks, bound, code_of, named
from semac.ir.nodes import Function, Var
from semac.types.lattice import ANY
from semac.types.signatures import signature_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from semac.optimize.steps.twins import Twins

AWAIT = "sema_runtime.lib.tasks.concurrency:await_"
RUNTIME = "sema_runtime.tasks.steps:"
LOOPS = frozenset((anf.Loop, anf.While, anf.For))
MOST = 2  # sends, and receives, of a function that are written out in full
PARTS = ("", "buffer", "senders", "receivers")  # of a channel; "": the channel itself
WAITING = ("channel/recv", "channel/send")
# Builtins → the generator of the runtime that does the same for a stepper.
YIELDING = {
    "channel/close": "close", "channel/new": "new", "channel/try-recv": "try_receive", "channel/closed?": "is_closed",
    "channel/count": "count", "channel/empty?": "is_empty", "channel/full?": "is_full", "async/await": "await_",
    "async/sleep": "sleep",
}  # fmt: skip


def own_blocks(block: Block) -> list[Block]:
    """The blocks in which the code of a function may yield: those of functions that only it calls included."""
    inner = [code_of(function) for function in local_steppers(block).values()]
    return [found for code in (block, *inner) for found in yielding_blocks(code)]


def local_steppers(block: Block) -> dict[Var, Function]:
    """Functions made in a block that wait and that only the block and they themselves call, by their variables: such
    as a loop from inside of which another one goes on."""
    made = [
        instr
        for inner in yielding_blocks(block)
        for instr in inner.instrs
        if type(instr.op) is Closure and instr.var is not None and instr.var.known_function is instr.op.function
    ]
    if not made:
        return {}
    uses = Counter(named([block]))
    outside = [each.op for inner in yielding_blocks(block) for each in inner.instrs]
    found: dict[Var, Function] = {}
    for instr in made:
        var: Var = instr.var  # type: ignore[assignment]
        inside = [each.op for inner in yielding_blocks(code_of(var.function)) for each in inner.instrs]  # type: ignore[arg-type]
        calls = [op for op in (*inside, *outside) if type(op) is Call and type(op.head) is Ref and op.head.var is var]
        is_local = len(calls) == uses[var] and not any(op.trampolined for op in calls)
        if calls and is_local and any(map(is_step, inside)) and var.function.rest is None:  # type: ignore[union-attr]
            found[var] = instr.op.function  # type: ignore[attr-defined]
    return found


def yielding_blocks(block: Block) -> list[Block]:
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


def own_operations(function: Function) -> list[Op]:
    return [instr.op for block in own_blocks(code_of(function)) for instr in block.instrs]


def is_step(op: Op) -> bool:
    """Whether an operation waits in a way that a stepper can say by itself."""
    name = builtin_called(op)
    return name in WAITING or name in YIELDING or (type(op) is CallRuntime and op.path == AWAIT)


def builtin_called(op: Op) -> str:
    """The builtin that an operation calls with as many arguments as it takes; "" where it does something else. A call
    with too few or too many is left to the builtin, which says so."""
    is_call = type(op) is CallBuiltin and signature_for(op.name, len(op.args)) is not None
    return op.name if is_call else ""  # type: ignore[attr-defined]


class Stepped:
    """Rewrites one function. known: for each channel, the variables that stand for its parts."""

    def __init__(self, function: Function, twins: Twins) -> None:
        self.function = function
        self.twins = twins
        self.me = Var("_task", function)  # no name of the program begins so in messages
        self.me.defined = 1
        self.own = bound_in(code_of(function))
        self.locals = local_steppers(code_of(function))
        self.counts = Counter(op.name for op in own_operations(function) if type(op) is CallBuiltin)
        self.head: list[Let] = []
        self.known: dict[tuple[Var, str], Var] = {}

    def rewrite(self) -> None:
        code = code_of(self.function)
        for op in own_operations(self.function):
            if type(op) is Call:
                self.twins.called_by(op)  # copied while all tasks in it are whole
        self.block(code, False)
        self.function.params.insert(0, self.me)
        self.function.is_generator = True
        code.instrs[:0] = self.head

    def block(self, block: Block, is_often: bool) -> None:
        for instr in block.instrs:
            op = instr.op
            made = self.step(op, is_often)
            if made is not None:
                made.span, made.type = op.span, op.type
                instr.op = made
                if instr.var is not None:
                    instr.var.op = made
            elif type(op) is Closure and op.function in self.locals.values():
                self.block(code_of(op.function), True)
                op.function.is_generator = True
            elif type(op) is not Comprehension:
                for inner in blocks(op):
                    self.block(inner, is_often or type(op) in LOOPS)

    def step(self, op: Op, is_often: bool) -> Op | None:
        """What takes the place of an operation that may wait."""
        if type(op) is Call:
            if type(op.head) is Ref and op.head.var in self.locals:
                return YieldFrom("", [op.head, *op.args])
            twin = self.twins.called_by(op)
            return None if twin is None else YieldFrom("", [Ref(twin), Ref(self.me), *op.args])
        if not is_step(op):
            return None
        args: list[Expr] = [Ref(self.me), *op.args]  # type: ignore[attr-defined]
        name = builtin_called(op)
        if name in WAITING:
            kind = Receive if name == "channel/recv" else Send
            return kind([*args, *self.parts(args[1], is_often)], is_short=self.counts[name] > MOST)
        return YieldFrom(RUNTIME + (YIELDING[name] if name else "await_"), args)

    def parts(self, channel: Expr, is_often: bool) -> list[Expr]:
        """The variables for a channel that is known when the function begins; none for any other."""
        if not is_often or type(channel) is not Ref or channel.var.is_global or not is_fixed(channel.var):
            return []
        if channel.var in self.own:
            return []
        return [Ref(self.part(channel.var, name)) for name in PARTS]

    def part(self, channel: Var, name: str) -> Var:
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
    """The variables that a block, those inside and the functions made there bind."""
    found: set[Var] = set()
    for inner in all_blocks(block):
        for instr in inner.instrs:
            found.update(bound(instr.op))
            if type(instr.op) is Closure:
                found.update(instr.op.function.params)
            if instr.var is not None:
                found.add(instr.var)
    return found
