"""`while` loops that count (`do`, `dotimes` and `for-range` are such) become `for ... in range`.

Assumes what `counting` assumes, of a variable that one `set!` changes, at the end of each round. Sound because nothing
reads the counter between this `set!` and the test; where something may read it after the loop, it gets its last value.
"""

from __future__ import annotations

from collections import Counter

from semac.anf.build import is_fixed
from semac.anf.nodes import (
    Assign,
    Block,
    CallBuiltin,
    Expr,
    For,
    If,
    Jump,
    Let,
    Lit,
    Logic,
    Move,
    Read,
    Ref,
    Result,
    VarPattern,
    While,
)
from semac.anf.walk import all_blocks, bound, code_of, instructions, map_exit, map_operands, refs, sets
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.loops.functions import temporary
from semac.optimize.loops.ranges import INT_TYPE, Count, Limits, compared, is_hoistable, limits_of, step_of_sum
from semac.optimize.loops.shape import is_settled, unwrapped
from semac.optimize.operators import replace
from semac.optimize.tails import functions
from semac.types.lattice import NIL, atom

NIL_TYPE = atom(NIL)
Reads = Counter[Var]


def reads_in(block: Block, into_functions: bool = True) -> Reads:
    """How often each variable that changes is read in a block."""
    found = instructions(block, into_functions)
    return Counter(instr.op.var for instr in found if type(instr.op) is Read and instr.var is not None)


def set_for_others(unit: Unit) -> set[Var]:
    """The variables that a function sets which are those of a function around it."""
    found: set[Var] = set()
    for function in functions(unit):
        own = list(instructions(code_of(function), into_functions=False))
        changed = {instr.op.var for instr in own if type(instr.op) is Assign}
        if changed:
            bound_here = {instr.var for instr in own}.union(*(bound(instr.op) for instr in own))
            found |= changed - bound_here - {*function.params, function.rest}
    return found


def rewrite_while(block: Block, index: int, op: While, reads: Reads, others: set[Var]) -> None:
    """Has a loop count, where it does. reads: how often the unit reads its variables. others: those that functions set
    which don't have them: a `for` would give them one of their own."""
    test = test_of(op)
    if test is None or test[0].counter in others:
        return
    count, prefix, more, step = test
    counter = count.counter
    inside = reads_in(op.test, False)[counter] + reads_in(op.body, False)[counter]
    is_read_later = reads[counter] > inside
    place = None if is_read_later else definition(block, index, counter)
    before: list[Let] = []
    if place is None:
        start = read(counter, before)
    else:
        start = value_of_definition(block.instrs[place], before)
    limits = limits_of(count, start, count.bound, count.step)
    if limits is None or (is_read_later and limits.end is None):
        return
    if place is not None:
        block.instrs[place : place + 1] = before
        index += len(before) - 1
        before = []
        fix(op.body, counter)
    before += [*prefix, *limits.before]
    loop = loop_of(op, counter, limits, more, step, is_read_later)
    loop.place = count.span
    replace(block.instrs[index], loop)
    block.instrs[index:index] = before


def loop_of(op: While, counter: Var, limits: Limits, more: Block | None, step: Let, is_read_later: bool) -> For:
    """The loop over a range. step: the instruction that changes the counter."""
    after = Block([], Result(Lit(None, NIL_TYPE)))
    if is_read_later:
        assert limits.end is not None
        end = temporary("end", counter.owner)
        limits.end.span = op.span
        end.op, end.type = limits.end, INT_TYPE
        assign = Assign(counter, Ref(end, INT_TYPE), span=op.span, type=NIL_TYPE)
        after.instrs += [Let(end, limits.end), Let(None, assign)]
    body = op.body
    loop = For(VarPattern(counter), limits.how, limits.sources, limits.who, [], [], body, after, span=op.span)
    loop.type = NIL_TYPE
    remove_step(body, step)
    body.exit = Jump(loop, [], op.span)
    if more is not None:
        exit_ = more.exit
        assert type(exit_) is Result
        leave = Block([], Result(Lit(None, NIL_TYPE)))
        result = temporary("result", counter.owner)
        result.op, result.type = If(exit_.value, body, leave, span=op.span, type=NIL_TYPE), NIL_TYPE
        loop.body = Block([*more.instrs, Let(result, result.op)], Result(Ref(result, NIL_TYPE)))
    return loop


def remove_step(body: Block, step: Let) -> None:
    """Takes the change of the counter out of a round, and the sum where nothing else uses it."""
    body.instrs.remove(step)
    value = step.op.value  # type: ignore[attr-defined]
    if type(value) is Ref and not any(ref.var is value.var for ref in refs(body)):
        body.instrs = [instr for instr in body.instrs if instr.var is not value.var]


def test_of(op: While) -> tuple[Count, list[Let], Block | None, Let] | None:
    """What a loop counts, what its test computes before, a further test, and the instruction of the step."""
    exit_ = op.test.exit
    assert type(exit_) is Result
    by_var = {instr.var: instr for instr in op.test.instrs if instr.var is not None and not instr.var.name}
    test, stays, consumed = unwrapped(exit_.value, True, by_var)
    more = None
    logic = test.op if test is not None else None
    if type(logic) is Logic:
        if logic.is_and is not stays:
            return None
        more = logic.rest if stays else negated(logic.rest)
        test, stays, used = unwrapped(logic.first, stays, by_var)
        consumed |= used
    if test is None or type(test.op) is not CallBuiltin:
        return None
    prefix: list[Let] = []
    counters: dict[Var, Var] = {}  # what the test has read → the variable
    hoisted: set[Var] = set()
    for instr in op.test.instrs:
        if instr in consumed:
            continue
        if type(instr.op) is Read and instr.var is not None and is_left_alone(instr.op.var, op):
            hoisted.add(instr.var)
            prefix.append(instr)
            continue
        if type(instr.op) is Read and instr.var is not None and not is_settled_global(instr.op.var):
            counters[instr.var] = instr.op.var
            continue
        if not (is_settled_read(instr, hoisted) or is_hoistable(instr, list(counters), hoisted)):
            return None
        prefix.append(instr)
    for name, first, second in compared(test.op):
        counter = counters.get(first.var) if type(first) is Ref else None
        if counter is None or not first.type.only(INT_TYPE.tags) or not is_countable(counter, op.body):
            continue
        step = step_of(op.body, counter)
        is_bound = type(second) is Lit or (type(second) is Ref and second.var not in counters)
        if step is None or not is_bound or (type(second) is Ref and not is_fixed(second.var)):
            return None
        if first is not test.op.args[0] and not second.type.only(INT_TYPE.tags):
            return None
        return Count(counter, name, stays, second, step[1], test.op.span), prefix, more, step[0]
    return None


def is_settled_global(var: Var) -> bool:
    """Whether a global, once it can be read, always has the same value."""
    return var.is_global and not var.assigned and var.defined == 1


def is_left_alone(var: Var, loop: While) -> bool:
    """Whether a local variable has one value while a loop runs: nothing in it sets the variable, nor does a closure."""
    return not (var.is_global or var.early or var.captured or sets(loop, var))


def is_settled_read(instr: Let, hoisted: set[Var]) -> bool:
    if type(instr.op) is Read and instr.var is not None and is_settled_global(instr.op.var):
        hoisted.add(instr.var)
        return True
    return False


def is_countable(var: Var, body: Block) -> bool:
    """Whether nothing but the step can change a variable in a loop."""
    if var.assigned != 1 or var.is_global or var.early or var.defined > 1:
        return False
    return not any(type(each.op) is Assign and each.op.var is var and each.op.define for each in instructions(body))


def negated(block: Block) -> Block:
    """The block whose value is true where that of a block is not."""
    exit_ = block.exit
    assert type(exit_) is Result
    var = temporary("test", None)
    var.op = CallBuiltin("not", [exit_.value], fixed=True)
    return Block([*block.instrs, Let(var, var.op)], Result(Ref(var)))


def step_of(body: Block, counter: Var) -> tuple[Let, Expr] | None:
    """The instruction that changes the counter at the end of a round, and what it adds."""
    for instr in reversed(body.instrs):
        op = instr.op
        if type(op) is Read and instr.var is None:
            continue
        if type(op) is not Assign or type(op.value) not in (Ref, Lit) or op.define:
            return None
        if op.var is counter:
            added = op.value.var.op if type(op.value) is Ref else None
            step = step_of_sum(added, lambda value: reads_counter(value, counter))
            return (instr, step) if step is not None and is_settled(step, body, []) else None
    return None


def reads_counter(value: Expr, counter: Var) -> bool:
    return type(value) is Ref and type(value.var.op) is Read and value.var.op.var is counter


# The first value


def definition(block: Block, index: int, counter: Var) -> int | None:
    """Where in a block the counter of a loop gets its first value; all that reads it is in the loop."""
    return next((place for place in range(index - 1, -1, -1) if block.instrs[place].var is counter), None)


def value_of_definition(instr: Let, before: list[Let]) -> Expr:
    """The first value as an atom."""
    op = instr.op
    if type(op) is Move and (type(op.value) is Lit or (type(op.value) is Ref and is_fixed(op.value.var))):
        return op.value
    start = temporary("start", instr.var.owner if instr.var is not None else None)
    start.op, start.type = op, op.type
    before.append(Let(start, op))
    return Ref(start, op.type)


def read(counter: Var, before: list[Let]) -> Expr:
    """The value that the counter has before the loop."""
    start = temporary("start", counter.owner)
    start.op, start.type = Read(counter, type=INT_TYPE), INT_TYPE
    before.append(Let(start, start.op))
    return Ref(start, INT_TYPE)


def fix(body: Block, counter: Var) -> None:
    """The counter has one value in a round: it need not be read at a certain time."""
    counter.assigned = 0
    value = Ref(counter, INT_TYPE)
    copies = set()
    for block in all_blocks(body):
        for instr in block.instrs:
            if type(instr.op) is Read and instr.op.var is counter:
                replace(instr, Move(value, span=instr.op.span, type=INT_TYPE))
                if instr.var is not None and not instr.var.name:
                    copies.add(instr.var)

    def read(operand: Expr) -> Expr:
        return Ref(counter, operand.type) if type(operand) is Ref and operand.var in copies else operand

    for block in all_blocks(body):
        block.instrs = [instr for instr in block.instrs if instr.var not in copies]
        for instr in block.instrs:
            map_operands(instr.op, read)
        map_exit(block.exit, read)
