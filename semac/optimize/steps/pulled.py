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

from semac.anf.build import is_fixed
from semac.anf.nodes import (
    Assign,
    Block,
    BuiltinRef,
    Call,
    CallBuiltin,
    CallRuntime,
    Closure,
    Expr,
    For,
    If,
    Jump,
    Let,
    Lit,
    Loop,
    Match,
    Op,
    Read,
    Ref,
    Result,
)
from semac.anf.step_nodes import Facts, Give, YieldFrom
from semac.anf.walk import blocks, code_of, instructions, refs
from semac.fingerprint import is_traced
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.loops.functions import lambda_applied, temporary
from semac.optimize.loops.higher_order import for_each
from semac.optimize.steps.rewrite import bound_in, local_steppers, own_blocks
from semac.optimize.steps.silent import Silence, bound_by, is_one_value, is_still_type, mark_silent
from semac.optimize.steps.splice import splice
from semac.optimize.steps.tasks import spawned, steppable
from semac.optimize.steps.twins import Twins, called
from semac.optimize.versions.copies import Copier
from semac.types.lattice import ANY, BOOL, FN, KEYWORD, NIL, VECTOR, Type, atom

CALL_NATIVE = "sema_runtime.tasks.callbacks:call_native"
UNFINISHED = "sema_runtime.tasks.pulled:unfinished"
ROLES = {"channel/recv": "receive", "channel/send": "send", "channel/close": "close"}
Roles = dict[Var, set[str]]  # what is done with a channel


def pull_tasks(unit: Unit) -> None:
    """Gives generators of what they send to the tasks of a unit that can have them."""
    if unit.is_text or unit.is_input or is_traced():
        return
    pullers = Pullers(unit)
    spawns = steppable(unit, pullers)
    if spawns:
        uses = Counter(ref.var for form in unit.blocks for ref in refs(form))
        for block, instr in spawns:
            pull(pullers, block, instr, instr.var is None or not uses[instr.var])
        mark_silent(
            [instr.op.function for form in unit.blocks for instr in instructions(form) if type(instr.op) is Closure]
        )


def pull(pullers: Pullers, block: Block, instr: Let, is_dropped: bool) -> None:
    """Hands a generator to the instruction that starts a task. is_dropped: whether nobody has the task's promise."""
    original = spawned(instr.op)
    assert original is not None
    function, made = copied(original, pullers.unit)
    write_loops(function)
    use = pullers.use_of(function)
    outs = [] if use is None else [var for var, roles in use.roles.items() if "receive" not in roles]
    if use is None or len(outs) != 1:
        return
    ins = [var for var in use.roles if var is not outs[0]]
    reads = sorted(use.reads, key=lambda var: (var.name, var.is_global))  # one text gives one code
    data = [var for var in reads if not is_still_type(var) and not is_known_function(var)]
    if not all(map(is_one_value, data)):
        return
    sources = {var: source_of(var, function) for var in ins}
    Puller(pullers, sources, True).rewrite(function)
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


def kept(op: Op, instrs: list[Let]) -> Ref:
    """The value of an operation, at the end of instructions."""
    var = temporary("", None)
    var.op, var.type = op, op.type
    instrs.append(Let(var, op))
    return Ref(var, op.type)


def value_of(var: Var, before: list[Let]) -> Ref:
    """A variable as an operand."""
    return kept(Read(var, type=ANY), before) if var.is_global else Ref(var, var.type or ANY)


def source_of(channel: Var, function: Function) -> Var:
    """The parameter of a generator for what it goes through instead of a channel."""
    var = Var(channel.name, function)
    var.hint, var.defined, var.type = channel.hint, 1, ANY
    return var


# The copy


def copied(original: Function, unit: Unit) -> tuple[Function, list[Function]]:
    """A copy of a function inside of another one, which has the same variables of others; and the functions in it."""
    inside = functions_in(original)
    copier = Copier()
    for function in {unit.main, *unit.functions} - inside - {original}:
        copier.made[id(function)] = function
    for var in named(original) - own_variables(original):
        copier.made[id(var)] = var
    made: Function = copier.copy(original)
    for before, after in copier.vars:
        after.op = copier.made.get(id(before.op))
        after.type = before.type
    for function in inside | {original}:
        copy = copier.made[id(function)]
        copy.type, copy.original = function.type, function.original
    return made, copier.functions


def functions_in(function: Function) -> set[Function]:
    """The functions that are made in a function, those of its loops included."""
    operations = [instr.op for instr in instructions(code_of(function))]
    made = {op.function for op in operations if type(op) is Closure}
    return made | {op.source.function for op in operations if type(op) is Loop}


def named(function: Function) -> set[Var]:
    """The variables that the code of a function names."""
    found = {ref.var for ref in refs(code_of(function))}
    return found | {
        instr.op.var for instr in instructions(code_of(function)) if type(instr.op) is Read or type(instr.op) is Assign
    }


def own_variables(function: Function) -> set[Var]:
    return {var for instr in instructions(code_of(function)) for var in bound_by(instr)}


def write_loops(function: Function) -> None:
    """Makes plain calls of those of builtins that look after turns, and loops of `for-each` with a lambda."""
    stack = [code_of(function)]
    while stack:
        block = stack.pop()
        spent: set[Var] = set()
        for instr in block.instrs:
            op = instr.op
            if type(op) is CallRuntime and op.path == CALL_NATIVE and type(op.args[0]) is BuiltinRef:
                plain = CallBuiltin(op.args[0].name, op.args[2:], fixed=True, span=op.span, type=op.type)
                instr.op = looped(plain, spent)
                if instr.var is not None:
                    instr.var.op = instr.op
            stack += blocks(instr.op)
        block.instrs = [instr for instr in block.instrs if instr.var is None or instr.var not in spent]


def looped(call: CallBuiltin, spent: set[Var]) -> Op:
    """A call of `for-each` as a loop. spent: gets the variable of a lambda that is part of it now."""
    if call.name != "for-each" or len(call.args) != 2:
        return call
    value, items = call.args
    if type(value) is not Ref or value.var.name or type(value.var.op) is not Closure:
        return call
    body = lambda_applied(value.var.op.function, 1)
    if body is None:
        return call
    spent.add(value.var)
    loop = for_each(call, body, [items])
    loop.span, loop.type = call.span, call.type
    return loop


# What a function does with channels


class Use:
    """roles: what a function does with channels, its parameters or variables of others. reads: other variables of
    others that it reads."""

    def __init__(self, roles: Roles, reads: set[Var]) -> None:
        self.roles = roles
        self.reads = reads


class Pullers(Twins):
    """The functions of the top level that pulled tasks call, and their copies."""

    prefix = "_pulled_"

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.silence = Silence()
        self.uses: dict[Function, Use | None] = {}

    def use_of_twin(self, function: Function) -> Use | None:
        """What a function of the top level does with the channels among its arguments."""
        if function not in self.uses:
            self.uses[function] = None  # while it is studied: those that call each other have no copies
            use = self.use_of(function)
            if use is not None and set(use.roles) <= set(function.params):
                self.uses[function] = use
        return self.uses[function]

    def use_of(self, function: Function) -> Use | None:
        """What a function does; None where it can't be pulled."""
        code = code_of(function)
        own = bound_in(code)
        roles: Roles = {}
        counts: Counter[Var] = Counter()
        apart: set[Op] = set()
        reads: set[Var] = set()
        closing: set[Op] = set()
        repeats: list[Op] = []  # calls of itself
        local = local_steppers(code)
        for block in own_blocks(code):
            for instr in block.instrs:
                if type(instr.op) is Call and called(instr.op) is function:
                    repeats.append(instr.op)
                    continue
                if is_call_of(instr.op, local):
                    apart.add(instr.op)
                    continue
                done = self.done_by(instr.op)
                if done is None:
                    return None
                for arg, what in done:
                    channel = channel_of(arg, own)
                    if channel is None:
                        return None
                    roles.setdefault(channel, set()).update(what)
                    counts[channel] += 1
                    if "close" in what:
                        closing.add(instr.op)
                if done:
                    apart.add(instr.op)
                    reads |= self.reads_in(instr.op)
            if type(block.exit) is Jump and block.exit.target is function:
                for arg, param in zip(block.exit.args, function.params, strict=True):
                    counts[param] += type(arg) is Ref and arg.var is param
        for op in repeats:
            apart.add(op)
            if any("close" in what for what in roles.values()):
                closing.add(op)
            counts.update(passed_on(op, function))
        if any("receive" in what and len(what) > 1 for what in roles.values()):
            return None
        if sum("receive" not in what for what in roles.values()) > 1:
            return None
        if any(count != counts[var] for var, count in uses_of(code, roles).items()):
            return None
        if not closing <= {instr.op for _, instr in tails(code) if instr is not None}:
            return None
        others = self.silence.reads(code, set(function.params), apart)
        return None if others is None else Use(roles, (others | reads) - set(roles))

    def done_by(self, op: Op) -> list[tuple[Expr, set[str]]] | None:
        """The channels that an operation uses, and how; None where it can't be done by who is pulled."""
        if type(op) is CallBuiltin and op.name in ROLES:
            return [(op.args[0], {ROLES[op.name]})]
        function = called(op) if type(op) is Call else None
        if function is None or function not in self.stepping:
            return []
        use = self.use_of_twin(function)
        args: list[Expr] = op.args  # type: ignore[attr-defined]
        if use is None or len(args) != len(function.params):
            return None
        given = zip(args, function.params, strict=True)
        return [(arg, use.roles[param]) for arg, param in given if param in use.roles]

    def reads_in(self, op: Op) -> set[Var]:
        use = self.uses.get(called(op)) if type(op) is Call else None  # type: ignore[arg-type]
        return set() if use is None else use.reads

    def rewrite(self, function: Function, twin: Function) -> None:
        use = self.uses[function]
        assert use is not None
        params = dict(zip(function.params, twin.params, strict=True))
        sources = {params[var]: params[var] for var, what in use.roles.items() if "receive" in what}
        Puller(self, sources, any("close" in what for what in use.roles.values())).rewrite(twin)
        twin.is_generator = True


def is_call_of(op: Op, functions: dict[Var, Function]) -> bool:
    """Whether an operation calls a function that is the value of one of the variables."""
    return type(op) is Call and type(op.head) is Ref and op.head.var in functions


def passed_on(op: Op, function: Function) -> list[Var]:
    """The parameters that a function hands on, each as itself, where it calls itself."""
    args: list[Expr] = op.args  # type: ignore[attr-defined]
    return [param for arg, param in zip(args, function.params, strict=False) if type(arg) is Ref and arg.var is param]


def variable_of(ref: Ref) -> Var:
    """The variable of which an operand is the value: that of the program, where the operand was read from it."""
    source: Var = ref.var.op.var if type(ref.var.op) is Read and not ref.var.name else ref.var
    return source


def channel_of(value: Expr, own: set[Var]) -> Var | None:
    """The variable that holds a channel, whenever it is read; None where that isn't certain."""
    if type(value) is not Ref:
        return None
    var = variable_of(value)
    if var is not value.var:
        return var if var.is_global and is_one_value(var) else None
    return var if not var.is_global and var not in own and is_fixed(var) else None


def uses_of(code: Block, channels: Roles) -> Counter[Var]:
    """How often channels are operands, also of functions inside."""
    counts: Counter[Var] = Counter()
    for ref in refs(code):
        var = variable_of(ref)
        if var in channels:
            counts[var] += 1
    return counts


def tails(block: Block) -> list[tuple[Block, Let | None]]:
    """The ends of a block: of each the block it stands in, and the last instruction."""
    if type(block.exit) is Jump:
        return []
    last = block.instrs[-1] if block.instrs else None
    op = None if last is None else last.op
    if isinstance(op, If | Loop | For) or (type(op) is Match and not op.lenient):
        bodies = [clause.body for clause in op.clauses] if type(op) is Match else blocks(op)
        return [end for inner in bodies for end in tails(inner)]
    return [(block, last)]


class Puller:
    """Makes the code of a generator. sources: parameters for what it goes through, by the channels for which they
    stand. closes: whether it closes its channel at its end."""

    def __init__(self, pullers: Pullers, sources: dict[Var, Var], closes: bool) -> None:
        self.pullers = pullers
        self.sources = sources
        self.closes = closes
        self.local: dict[Var, Function] = {}

    def rewrite(self, function: Function) -> None:
        code = code_of(function)
        if self.closes:
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
                made = self.made(op)
                if made is not None:
                    made.span, made.type = op.span, op.type
                    instr.op = made
                    if instr.var is not None:
                        instr.var.op = made

    def end(self, block: Block, last: Let | None, span: Any) -> None:
        """Ends the generator where the channel is closed. Elsewhere its receiver would wait for ever."""
        op = None if last is None else last.op
        if last is not None and type(op) is CallBuiltin and op.name == "channel/close":
            block.instrs.pop()
            if type(block.exit) is Result and type(block.exit.value) is Ref and block.exit.value.var is last.var:
                block.exit.value = Lit(None, atom(NIL))
        elif type(op) is not Call or not any("close" in what for _, what in self.pullers.done_by(op) or ()):
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
        use = self.pullers.uses[function]
        assert use is not None
        args: list[Expr] = [
            self.argument(arg, use.roles.get(param, set()))
            for arg, param in zip(op.args, function.params, strict=True)  # type: ignore[attr-defined]
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
