"""Tasks that only receive, compute and send get a second generator: of what they send.

`tasks/pulled.py` of the runtime runs it when somebody needs a value, where nobody can tell the difference; where
somebody could, the task runs in the scheduler. A task gets one when its code is silent (`silent.py`) but for sends on
one channel, which it closes at its end, and receives from others. It uses these channels for nothing else. Functions
of the top level that do this for it get a copy of their own, as in `twins.py`.

It is sound because a silent task has no effects but the values that it sends, each channel has one sender and one
receiver, and what the task reads never changes: so the values are the same whenever it runs. The runtime asks for what
isn't known here: who uses the channels, and whether data is immutable. Where a generator can't go on, an error in it
included, the runtime does the same again with the task as the scheduler runs it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from semac.anf.nodes import Block, Call, CallBuiltin, CallRuntime, Closure, Expr, Let, Lit, Op, Ref, Result
from semac.anf.step_nodes import Facts, Give, YieldFrom
from semac.anf.walk import code_of, instructions, named
from semac.fingerprint import is_traced
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.steps.copied import copied, kept, value_of, write_loops
from semac.optimize.steps.rewrite import local_steppers, own_blocks
from semac.optimize.steps.silent import is_one_value, is_still_type, mark_silent
from semac.optimize.steps.splice import hand_out, splice
from semac.optimize.steps.tasks import spawned, steppable
from semac.optimize.steps.twins import Twins, called
from semac.optimize.steps.uses import Start, Use, Uses, channels_used, is_call_of, tails, variable_of
from semac.types.lattice import ANY, BOOL, FN, KEYWORD, NIL, VECTOR, Type, atom

UNFINISHED = "sema_runtime.tasks.pulled:unfinished"


def pull_tasks(unit: Unit) -> None:
    """Gives generators of what they send to the tasks of a unit that can have them."""
    if unit.is_text or unit.is_input or is_traced():
        return
    spawns = steppable(unit, Twins(unit))
    if spawns:
        pullers = Pullers(unit)
        uses = Counter(named(unit.blocks))
        for block, instr in spawns:
            pull(pullers, block, instr, instr.var is None or not uses[instr.var])
        mark_silent(
            [instr.op.function for form in unit.blocks for instr in instructions(form) if type(instr.op) is Closure]
        )


def pull(pullers: Pullers, block: Block, instr: Let, is_dropped: bool) -> None:
    """Hands a generator to the instruction that starts a task. is_dropped: whether nobody has the task's promise."""
    original = spawned(instr.op)
    assert original is not None
    function, made = copied(original)
    write_loops(function)
    use = pullers.uses.of(function)
    outs = [] if use is None else [var for var, roles in use.roles.items() if "receive" not in roles]
    if use is None or len(outs) != 1:
        return
    ins = [var for var in use.roles if var is not outs[0]]
    reads = sorted(use.reads, key=lambda var: (var.name, var.is_global))  # one text gives one code
    data = [var for var in reads if not is_still_type(var) and not is_known_function(var)]
    if not all(map(is_one_value, data)):
        return
    sources = {var: source_of(var, function) for var in ins}
    Puller(pullers, use, sources, made).rewrite(function, True)
    function.params = list(sources.values())
    function.is_generator = True
    splice(function, made)
    pullers.unit.functions += made
    before: list[Let] = []
    closure = kept(Closure(function, span=instr.op.span, type=original_type(instr)), before)
    out = value_of(outs[0], before)
    tuples = [kept(Facts([value_of(var, before) for var in part], type=atom(VECTOR)), before) for part in (ins, data)]
    instr.op.args += [closure, Lit(is_dropped, atom(BOOL)), out, *tuples]  # type: ignore[attr-defined]
    place = block.instrs.index(instr)
    block.instrs[place:place] = before


def original_type(instr: Let) -> Type:
    value: Ref = instr.op.args[0]  # type: ignore[attr-defined]
    return value.type


def is_known_function(var: Var) -> bool:
    """Whether a variable holds functions of the unit, of which it is known what they do."""
    return var.type is not None and var.type.only(FN | KEYWORD) and var.type.fns is not None


def replace(instr: Let, made: Op | None) -> None:
    """Puts an operation in the place of another one, unless it is None."""
    if made is not None:
        made.span, made.type = instr.op.span, instr.op.type
        instr.op = made
        if instr.var is not None:
            instr.var.op = made


def source_of(channel: Var, function: Function) -> Var:
    """The parameter of a generator for what it goes through instead of a channel."""
    var = Var(channel.name, function)
    var.hint, var.defined, var.type = channel.hint, 1, ANY
    return var


class Pullers(Twins):
    """The functions of the top level that pulled tasks call, and their copies."""

    prefix = "_pulled_"

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.stepping = self.those_that_wait(inside=True)
        self.uses = Uses(self)

    def copied(self, function: Function) -> tuple[Function, list[Function]]:
        return self.uses.copies[function], self.uses.made[function]

    def rewrite(self, function: Function, twin: Function) -> None:
        use = self.uses.known[function]
        assert use is not None
        sources = {
            param: param for param in twin.params if "receive" in use.roles.get(param, ()) or param in use.handed
        }
        closes = any("close" in what for what in use.roles.values())
        Puller(self, use, sources, self.unit.functions).rewrite(twin, closes)
        twin.is_generator = not use.is_maker


class Puller:
    """Makes the code of a generator. use: what it does with channels. sources: variables for what it goes through, by
    the channels for which they stand. made: the list of functions to which those belong that are made in it."""

    def __init__(self, pullers: Pullers, use: Use, sources: dict[Var, Var], made: list[Function]) -> None:
        self.pullers = pullers
        self.use = use
        self.sources = dict(sources)
        self.made_functions = made
        self.local: dict[Var, Function] = {}

    def rewrite(self, function: Function, closes: bool) -> None:
        """closes: whether it closes its channel at its end."""
        code = code_of(function)
        for channel, start in self.use.own.items():
            self.start(channel, start)
        if closes:
            for block, last in tails(code):
                self.end(block, last, function.span)
        self.local = local_steppers(code)
        for inner in self.local.values():
            inner.is_generator = True
        for block in own_blocks(code):
            for instr in block.instrs:
                op = instr.op
                if type(op) is Call:
                    op.tail = op.trampolined = False
                replace(instr, self.made(op))

    def start(self, channel: Var, start: Start) -> None:
        """Makes the generator of a task where the task would start."""
        op: Any = start.instr.op
        if start.function is not None:
            use = self.pullers.uses.of(start.function)
            assert use is not None
            params = {var: source_of(var, start.function) for var in start.ins}
            Puller(self.pullers, use, dict(params), self.made_functions).rewrite(start.function, True)
            start.function.params = list(params.values())
            start.function.is_generator = True
            splice(start.function, self.made_functions)
            hand_out(start.function)
            made = Call(op.args[0], [Ref(self.sources[var], ANY) for var in start.ins])
            block = start.block
            block.instrs = [instr for instr in block.instrs if instr.var is not channel]
            start.instr.var = channel
        else:
            twin = self.pullers.called_by(op)
            assert twin is not None and start.maker is not None
            maker_use = self.pullers.uses.known[start.maker]
            assert maker_use is not None
            args = [
                Ref(self.source(arg), ANY) if param in maker_use.handed else arg
                for arg, param in zip(op.args, maker_use.params, strict=True)
            ]
            made = Call(Ref(twin), args)
        replace(start.instr, made)
        channel.type = ANY
        self.sources[channel] = channel

    def end(self, block: Block, last: Let | None, span: Any) -> None:
        """Ends the generator where the channel is closed. Elsewhere its receiver would wait for ever."""
        op = None if last is None else last.op
        if last is not None and type(op) is CallBuiltin and op.name == "channel/close":
            block.instrs.pop()
            if type(block.exit) is Result and type(block.exit.value) is Ref and block.exit.value.var is last.var:
                block.exit.value = Lit(None, atom(NIL))
        elif type(op) is not Call or not any("close" in what for _, what in channels_used(self.pullers.uses, op) or ()):
            block.instrs.append(Let(None, CallRuntime(UNFINISHED, [], span=span, type=atom(NIL))))

    def made(self, op: Op) -> Op | None:
        """What takes the place of an operation on channels."""
        if type(op) is CallBuiltin and op.name == "channel/recv":
            return CallRuntime("builtins:next", [Ref(self.source(op.args[0]), ANY), Lit(None, atom(NIL))])
        if type(op) is CallBuiltin and op.name == "channel/send":
            return Give([op.args[1]])
        if is_call_of(op, self.local):
            return YieldFrom("", [op.head, *op.args])  # type: ignore[attr-defined]
        function = called(op) if type(op) is Call else None
        if function is None or function not in self.pullers.stepping:
            return None
        use = self.pullers.uses.known[function]
        if use is None or use.is_maker:
            return None
        args: list[Expr] = [
            self.argument(arg, use.roles.get(param, set()))
            for arg, param in zip(op.args, use.params, strict=True)  # type: ignore[attr-defined]
        ]
        twin = self.pullers.called_by(op)  # type: ignore[arg-type]
        assert twin is not None
        return YieldFrom("", [Ref(twin), *args])

    def argument(self, arg: Expr, roles: set[str]) -> Expr:
        if "receive" in roles:
            return Ref(self.source(arg), ANY)
        return Lit(None, atom(NIL)) if roles else arg

    def source(self, arg: Expr) -> Var:
        """The parameter that stands for a channel."""
        assert type(arg) is Ref
        return self.sources[variable_of(arg)]
