"""What tasks and functions do with channels, as far as it decides whether they can be pulled (`pulled.py`).

A pulled task may start others and receive from them: either itself, or by a *maker*, a function of the top level that
starts a task and returns its channel. The generator of the task makes theirs then. A function that calls itself is
taken for what it seems to be until all that it calls is known; where that is wrong, what was found meanwhile counts
no more.
"""

from __future__ import annotations

from collections import Counter

from semac.anf.build import is_fixed
from semac.anf.nodes import Block, Call, CallBuiltin, Expr, For, If, Jump, Let, Loop, Match, Op, Read, Ref, Result
from semac.anf.walk import code_of, instructions, refs, value_blocks
from semac.ir.nodes import Function, Var
from semac.optimize.steps.copied import copied_function, named, own_variables, write_loops
from semac.optimize.steps.rewrite import bound_in, builtin_called, local_steppers, own_blocks
from semac.optimize.steps.silent import Silence, is_one_value
from semac.optimize.steps.tasks import spawned
from semac.optimize.steps.twins import Twins, called

ROLES = {"channel/recv": "receive", "channel/send": "send", "channel/close": "close"}
Roles = dict[Var, set[str]]  # what is done with a channel


class Use:
    """roles: what a function does with channels, its parameters or variables of others. reads: other variables of
    others that it reads. steps: its operations on channels, those of tasks that it starts included. own: the channels
    of tasks that it starts, with what starts them. handed: its parameters that such tasks receive from. is_maker:
    whether its value is the channel of a task that it starts."""

    def __init__(self) -> None:
        self.roles: Roles = {}
        self.reads: set[Var] = set()
        self.steps: set[Op] = set()
        self.own: dict[Var, Start] = {}
        self.handed: set[Var] = set()
        self.is_maker = False
        self.params: list[Var] = []  # of the function, before its loop is made


class Start:
    """What starts a task. block, instr: where; maker: the function of the top level that does, or None; function: the
    code of the task, or None; ins: the channels that the task receives from."""

    def __init__(
        self, block: Block, instr: Let, maker: Function | None, function: Function | None, ins: list[Var]
    ) -> None:
        self.block = block
        self.instr = instr
        self.maker = maker
        self.function = function
        self.ins = ins


class Uses:
    """What the functions of a unit do. copies: of those of the top level, as `pulled.py` will change them."""

    def __init__(self, twins: Twins) -> None:
        self.twins = twins
        self.silence = Silence()
        self.copies: dict[Function, Function] = {}
        self.made: dict[Function, list[Function]] = {}  # the functions that were copied with one
        self.known: dict[Function, Use | None] = {}
        for function in twins.stepping:  # while all tasks in it are whole
            copy, self.made[function] = copied_function(function, twins.variable(function))
            write_loops(copy)
            self.copies[function] = copy

    def of_twin(self, function: Function) -> Use | None:
        """What a function of the top level does with the channels among its arguments."""
        if function in self.known:
            return self.known[function]
        copy = self.copies[function]
        seeming = self.known[function] = seeming_use(copy)
        earlier = set(self.known)
        use = self.of(copy, function)
        if use is not None and set(use.roles) <= set(copy.params):
            is_as_it_seemed = (
                use.roles == seeming.roles and use.is_maker == seeming.is_maker and use.handed == seeming.handed
            )
            if is_as_it_seemed or not self.depends(function, earlier):
                self.known[function] = use
                return use
        for other in set(self.known) - earlier:
            del self.known[other]
        self.known[function] = None
        return None

    def depends(self, function: Function, earlier: set[Function]) -> bool:
        """Whether something that was studied meanwhile, the function included, calls it."""
        studied = {function, *(set(self.known) - earlier)}
        return any(called(op) is function for each in studied for op in calls_in(self.copies[each]))

    def of(self, function: Function, original: Function | None = None) -> Use | None:
        """What a function does; None where it can't be pulled. original: the one of which it is a copy, as calls name
        it."""
        return Study(self, function, original).use()


def calls_in(function: Function) -> list[Call]:
    return [instr.op for instr in instructions(code_of(function)) if type(instr.op) is Call]


def seeming_use(function: Function) -> Use:
    """What a function does at first sight."""
    use = Use()
    use.params = list(function.params)
    code = code_of(function)
    for block in own_blocks(code):
        for instr in block.instrs:
            op = instr.op
            name = builtin_called(op)
            if name in ROLES and type(op.args[0]) is Ref:  # type: ignore[attr-defined]
                channel = variable_of(op.args[0])  # type: ignore[attr-defined]
                if channel in function.params:
                    use.roles.setdefault(channel, set()).add(ROLES[name])
    use.is_maker = result_of(code) is not None and any(
        builtin_called(instr.op) == "channel/new" and instr.var is result_of(code) for instr in code.instrs
    )
    return use


def result_of(code: Block) -> Var | None:
    value = code.exit.value if type(code.exit) is Result else None
    return value.var if type(value) is Ref else None


class Study:
    """Looks through one function."""

    def __init__(self, uses: Uses, function: Function, original: Function | None) -> None:
        self.uses = uses
        self.function = function
        self.original = original
        self.code = code_of(function)
        self.bound = bound_in(self.code)
        self.counts: Counter[Var] = Counter()  # of the operands that are known to be channels
        self.found = Use()
        self.found.params = list(function.params)
        self.closing: set[Op] = set()

    def use(self) -> Use | None:
        if not self.starts() or not self.operations():
            return None
        found = self.found
        roles = found.roles
        if any("receive" in what and len(what) > 1 for what in roles.values()):
            return None
        if sum("receive" not in what for what in roles.values()) > 1:
            return None
        channels = {*roles, *found.own, *found.handed}
        if any(count != self.counts[var] for var, count in uses_of(self.code, channels).items()):
            return None
        if not self.closing <= {instr.op for _, instr in tails(self.code) if instr is not None}:
            return None
        if found.is_maker and (roles or self.function.self_tail):
            return None
        others = self.uses.silence.reads(self.code, set(self.function.params), found.steps)
        if others is None:
            return None
        found.reads = (others | found.reads) - set(roles) - found.handed
        return found

    # Tasks that it starts

    def starts(self) -> bool:
        """Finds the tasks that the function starts. Whether all of them can be pulled with it."""
        result = result_of(self.code)
        for block in own_blocks(self.code):
            here: dict[Var, Let] = {}  # channels that are made in the block
            for instr in block.instrs:
                op = instr.op
                task = spawned(op)
                if builtin_called(op) == "channel/new" and instr.var is not None:
                    here[instr.var] = instr
                elif task is not None:
                    if not self.start(block, instr, task, here):
                        return False
                elif type(op) is Call and (maker := called(op)) in self.uses.twins.stepping:
                    use = self.uses.of_twin(maker)
                    if use is not None and use.is_maker and not self.start_by(block, instr, op, use):
                        return False
            if not set(here) <= set(self.found.own):
                return False
        if result in self.found.own:
            self.counts[result] += 1
            self.found.is_maker = True
        return True

    def start(self, block: Block, instr: Let, task: Function, here: dict[Var, Let]) -> bool:
        """Enters a task that is started. Whether it can be pulled."""
        use = self.uses.of(task)
        closure: Var = instr.op.args[0].var  # type: ignore[attr-defined]
        if uses_of(self.code, {closure})[closure] != 1:
            return False
        if use is None or (instr.var is not None and any(ref.var is instr.var for ref in refs(self.code))):
            return False
        outs = [var for var, what in use.roles.items() if "receive" not in what]
        if len(outs) != 1 or outs[0] not in here or outs[0] in self.found.own or not is_fixed(outs[0]):
            return False
        outside = named(task) - own_variables(task)
        if any(var.assigned or var.early or var.late for var in outside if not var.is_global):
            return False
        ins = [var for var in use.roles if var is not outs[0]]
        if not all(self.hand(var, block) for var in ins):
            return False
        for var, count in uses_of(code_of(task), {outs[0], *ins}).items():
            self.counts[var] += count
        self.found.own[outs[0]] = Start(block, instr, None, task, ins)
        self.found.steps |= {*use.steps, instr.op, here[outs[0]].op}
        self.found.reads |= {var for var in use.reads if var not in self.bound and var not in self.function.params}
        return True

    def start_by(self, block: Block, instr: Let, op: Call, use: Use) -> bool:
        """Enters a task that a maker starts."""
        maker = called(op)
        assert maker is not None
        if instr.var is None or not is_fixed(instr.var) or len(op.args) != len(use.params):
            return False
        ins = []
        for arg, param in zip(op.args, use.params, strict=True):
            if param in use.handed:
                var = variable_of(arg) if type(arg) is Ref else None
                if var is None or var in ins or not self.hand(var, block):
                    return False
                self.counts[var] += 1
                ins.append(var)
        self.found.own[instr.var] = Start(block, instr, maker, None, ins)
        self.found.steps.add(op)
        self.found.reads |= use.reads
        return True

    def hand(self, channel: Var, block: Block) -> bool:
        """Has a task receive from a channel, and nobody else: one of a task that was started before in the same block,
        or a parameter of a maker."""
        if self.is_handed(channel):
            return False
        start = self.found.own.get(channel)
        if start is not None:
            return start.block is block
        if channel not in self.function.params or block is not self.code or self.function.self_tail:
            return False
        self.found.handed.add(channel)
        return is_fixed(channel)

    def is_handed(self, channel: Var) -> bool:
        return any(channel in other.ins for other in self.found.own.values())

    # Operations

    def operations(self) -> bool:
        """Finds what the function does with channels. Whether it can be pulled, so far."""
        found = self.found
        repeats: list[Call] = []
        local = local_steppers(self.code)
        for block in own_blocks(self.code):
            for instr in block.instrs:
                op = instr.op
                if op in found.steps:
                    continue
                if type(op) is Call and self.original is not None and called(op) is self.original:
                    repeats.append(op)
                    continue
                if is_call_of(op, local):
                    found.steps.add(op)
                    continue
                if not self.operation(op):
                    return False
            self.jump(block)
        for op in repeats:
            found.steps.add(op)
            if any("close" in what for what in found.roles.values()):
                self.closing.add(op)
            self.counts.update(passed_on(op, self.function))
        return True

    def operation(self, op: Op) -> bool:
        done = self.done_by(op)
        if done is None:
            return False
        for arg, what in done:
            channel = self.channel_of(arg)
            if channel is None:
                return False
            if channel in self.found.own:
                if what != {"receive"} or self.is_handed(channel):
                    return False
            elif channel in self.found.handed:
                return False
            else:
                self.found.roles.setdefault(channel, set()).update(what)
            self.counts[channel] += 1
            if "close" in what:
                self.closing.add(op)
        if done:
            self.found.steps.add(op)
            self.found.reads |= self.reads_in(op)
        return True

    def channel_of(self, value: Expr) -> Var | None:
        """The variable that holds a channel, whenever it is read; None where that isn't certain."""
        if type(value) is not Ref:
            return None
        var = variable_of(value)
        if var is not value.var:
            return var if var.is_global and is_one_value(var) else None
        is_known = var in self.found.own or var not in self.bound
        return var if not var.is_global and is_known and is_fixed(var) else None

    def jump(self, block: Block) -> None:
        target = block.exit.target if type(block.exit) is Jump else None
        if target is self.function:
            for arg, param in zip(block.exit.args, self.function.params, strict=True):  # type: ignore[union-attr]
                self.counts[param] += type(arg) is Ref and arg.var is param

    def done_by(self, op: Op) -> list[tuple[Expr, set[str]]] | None:
        return channels_used(self.uses, op)

    def reads_in(self, op: Op) -> set[Var]:
        use = self.uses.known.get(called(op)) if type(op) is Call else None  # type: ignore[arg-type]
        return set() if use is None else use.reads


def channels_used(uses: Uses, op: Op) -> list[tuple[Expr, set[str]]] | None:
    """The channels that an operation uses, and how; None where it can't be done by who is pulled."""
    if type(op) is CallBuiltin and op.name in ROLES:
        return [(op.args[0], {ROLES[op.name]})] if builtin_called(op) else None
    function = called(op) if type(op) is Call else None
    if function is None or function not in uses.twins.stepping:
        return []
    use = uses.of_twin(function)
    if use is None or use.is_maker or use.handed:
        return None
    params = use.params
    args: list[Expr] = op.args  # type: ignore[attr-defined]
    if len(args) != len(params):
        return None
    return [(arg, use.roles[param]) for arg, param in zip(args, params, strict=True) if param in use.roles]


def is_call_of(op: Op, functions: dict[Var, Function]) -> bool:
    """Whether an operation calls a function that is the value of one of the variables."""
    return type(op) is Call and type(op.head) is Ref and op.head.var in functions


def passed_on(op: Call, function: Function) -> Counter[Var]:
    """How often a call of itself hands a parameter on at its own place."""
    pairs = zip(op.args, function.params, strict=False)
    return Counter(param for arg, param in pairs if type(arg) is Ref and arg.var is param)


def variable_of(ref: Ref) -> Var:
    """The variable of which an operand is the value: that of the program, where the operand was read from it."""
    source: Var = ref.var.op.var if type(ref.var.op) is Read and not ref.var.name else ref.var
    return source


def uses_of(code: Block, channels: set[Var]) -> Counter[Var]:
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
        return [end for inner in value_blocks(op) for end in tails(inner)]
    return [(block, last)]
