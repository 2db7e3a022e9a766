"""Functions that only receive and compute get a copy that takes values from pulled tasks themselves.

The main program's `channel/recv` keeps what it has done, so that the runtime can do it again in the scheduler
(`tasks/pulled.py`). A function of the top level that has no effects but to receive is kept as one step: its copy asks
the generators of the tasks. The runtime calls the copy where the function could be called again with the same outcome:
nothing but the main program and pulled tasks run, and what the function reads never changes. Where the copy can't go
on, an error in it included, everything is done again and the function itself is called.

Only calls from elsewhere are such steps; functions with a loop or that call themselves are worth them.
"""

from __future__ import annotations

from semac.anf.nodes import Assign, Block, Call, CallRuntime, Closure, Let, Ref
from semac.anf.step_nodes import Consume, Facts, Pull
from semac.anf.walk import LOOPS, all_blocks, code_of, instructions
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.steps.copied import copied_function, kept, value_of, write_loops
from semac.optimize.steps.pulled import is_known_function
from semac.optimize.steps.rewrite import builtin_called
from semac.optimize.steps.silent import Silence, is_one_value, is_still_type
from semac.optimize.steps.tasks import CLOSED, OPEN
from semac.optimize.steps.twins import called, definitions
from semac.optimize.versions.heat import Definition, reachable
from semac.types.lattice import VECTOR, atom, function_of


class Consumer:
    """A function that receives. copy: the one that takes values of pulled tasks. data: what it reads of others."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.function = definition.function
        self.var = Var(f"_consume_{definition.var.name}", None, is_global=True)
        self.var.defined = 1
        self.var.type = definition.var.type
        self.copy, self.functions = copied_function(self.function, self.var)
        self.var.function = self.copy
        self.type = function_of(self.copy)
        self.data: list[Var] = []

    def define(self, unit: Unit) -> None:
        """Puts the definition of the copy after that of the function."""
        unit.functions += self.functions
        unit.globals[self.var.name] = self.var
        block, closure = self.definition.block, self.definition.closure
        made = Closure(self.copy, span=closure.span, type=closure.type)
        before: list[Let] = []
        value = kept(made, before)
        place = next(at for at, instr in enumerate(block.instrs) if instr.op is closure) + 2
        block.instrs[place:place] = [*before, Let(None, Assign(self.var, value, "global", span=closure.span))]


def consume_at_once(unit: Unit) -> None:
    """Has the main program call copies of functions that only receive and compute."""
    if not any(is_pulled(instr) for form in unit.blocks for instr in instructions(form)):
        return
    consumers = {each.function: each for each in candidates(unit)}
    for each in consumers.values():
        rewrite(each.copy, consumers)
    silence = Silence()
    silent = {function: each for function, each in consumers.items() if is_silent(each, silence)}
    looping = loops_of(silent)
    starts = [
        (block, instr, silent[function])
        for form in unit.blocks
        for block, instr, function in calls_of(form, looping, set(silent))
    ]
    for each in reached({each for _, _, each in starts}, consumers):
        each.define(unit)
    for block, instr, each in starts:
        start(block, instr, each)


def is_pulled(instr: Let) -> bool:
    """Whether an instruction starts a task that can be pulled."""
    op = instr.op
    return type(op) is CallRuntime and op.path in (OPEN, CLOSED) and len(op.args) > 1


def candidates(unit: Unit) -> list[Consumer]:
    """The functions of the top level that receive, or call one that does."""
    every = [each for each in definitions(unit) if each.can_be_copied and each.function.rest is None]
    every = [each for each in every if not each.function.is_generator]
    receiving = {each.function for each in every if any(map(receives, operations(each.function)))}
    while True:
        more = {
            each.function
            for each in every
            if each.function not in receiving and not receiving.isdisjoint(callees(each.function))
        }
        if not more:
            return [Consumer(each) for each in every if each.function in receiving]
        receiving |= more


def operations(function: Function) -> list[Let]:
    return list(instructions(code_of(function)))


def receives(instr: Let) -> bool:
    return builtin_called(instr.op) == "channel/recv"


def callees(function: Function) -> set[Function]:
    """The functions of the top level that a function calls by name, those made in it included."""
    found = (called(instr.op) for instr in operations(function) if type(instr.op) is Call)
    return {each for each in found if each is not None}


def rewrite(function: Function, consumers: dict[Function, Consumer]) -> None:
    """Has a copy take values by itself, and call the copies of others."""
    write_loops(function)
    for instr in operations(function):
        op = instr.op
        if receives(instr):
            made = Pull([op.args[0]], span=op.span, type=op.type)  # type: ignore[attr-defined]
            instr.op = made
            if instr.var is not None:
                instr.var.op = made
        elif type(op) is Call and (callee := called(op)) in consumers:
            assert callee is not None
            op.head = Ref(consumers[callee].var, consumers[callee].type)


def is_silent(consumer: Consumer, silence: Silence) -> bool:
    """Whether a copy does nothing but take values and compute, with what never changes."""
    reads = silence.reads(code_of(consumer.copy), set(consumer.copy.params), set())
    if reads is None or any(not var.is_global for var in reads):
        return False
    data = [var for var in reads if not is_still_type(var) and not is_known_function(var)]
    consumer.data = sorted(data, key=lambda var: var.name)  # one text gives one code
    return all(map(is_one_value, data))


def loops_of(consumers: dict[Function, Consumer]) -> set[Function]:
    """Those of the consumers that loop, call themselves, or call one that does."""
    calls = {function: callees(function) & set(consumers) for function in consumers}
    looping = {function for function in consumers if loops(function) or function in reachable(calls[function], calls)}
    return {function for function in consumers if not looping.isdisjoint(reachable({function}, calls))}


def loops(function: Function) -> bool:
    return function.self_tail or any(type(instr.op) in LOOPS for instr in operations(function))


def reached(starts: set[Consumer], consumers: dict[Function, Consumer]) -> list[Consumer]:
    """Those whose copies are called, in the order of their definitions."""
    calls = {function: callees(function) & set(consumers) for function in consumers}
    functions = reachable({each.function for each in starts}, calls)
    return [each for function, each in consumers.items() if function in functions]


def calls_of(form: Block, looping: set[Function], inside: set[Function]) -> list[tuple[Block, Let, Function]]:
    """The calls of functions that loop, those in consumers and in generators left out."""
    found: list[tuple[Block, Let, Function]] = []
    stack = [(form, False)]
    while stack:
        code, is_left_out = stack.pop()
        for block in all_blocks(code, into_functions=False):
            for instr in block.instrs:
                op = instr.op
                if type(op) is Closure and op.function.code is not None:
                    stack.append((op.function.code, op.function in inside or op.function.is_generator))
                elif not is_left_out and type(op) is Call and (callee := called(op)) in looping:
                    assert callee is not None
                    if len(op.args) == len(callee.params):
                        found.append((block, instr, callee))
    return found


def start(block: Block, instr: Let, consumer: Consumer) -> None:
    """Makes a step of a call."""
    op = instr.op
    before: list[Let] = []
    copy = Ref(consumer.var, consumer.type)
    data = kept(Facts([value_of(var, before) for var in consumer.data], type=atom(VECTOR)), before)
    made = Consume(op.head, copy, data, op.args, span=op.span, type=op.type)  # type: ignore[attr-defined]
    instr.op = made
    if instr.var is not None:
        instr.var.op = made
    place = block.instrs.index(instr)
    block.instrs[place:place] = before
