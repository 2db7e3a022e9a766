"""Loops that go down a flat list, at their own pace, hold an index instead of the rest of the list.

`(loop (cdr tokens) ...)` in some branches and `(loop tokens ...)` in others is no loop over items. Where the list that
the loop starts with surely has its items at hand as a sequence, the variable becomes an index into that sequence: `car`
reads an item, `cdr` adds one, `null?` compares with the length (`suffixes.py`). No cells are linked. Of a list that may
be linked the items are collected first, where the loop only ends at its end, or where what is left is gone through
anyway. What is the list or a rest of it by a choice, `(if (null? xs) xs (cdr xs))`, is an index as well, and so are the
variables of a loop inside that goes on with the same list.

Assumes inferred types. Sound because lists don't change, and because every value of the variable is the first list
without some of its first items. What leaves the loop with the rest of the list gets a list that starts at the index,
which costs the same wherever that is (`tail_of`); where a round hands the list to anything else, the loop stays.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import or_
from typing import Any

from semac.anf.build import is_fixed
from semac.anf.nodes import Block, CallBuiltin, Expr, For, If, Jump, Let, Lit, Loop, Move, Op, Python, Ref, Result
from semac.anf.walk import (
    all_blocks,
    blocks,
    exit_operands,
    is_ref,
    map_exit,
    map_operands,
    operands,
    params_of,
    refs,
    value_blocks,
)
from semac.fingerprint import is_traced
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.loops.functions import temporary
from semac.optimize.loops.named import jumps_to, own_loop
from semac.optimize.loops.suffixes import (
    INDEX,
    RESTS,
    checked,
    goes_through_one,
    is_empty_list,
    is_empty_where,
    part_of,
    reads_part,
    tail_of,
    taken,
)
from semac.optimize.operators import replace
from semac.types.lattice import ANY, FLAT, LIST, make

THROUGH = frozenset(("append", "reverse", "length", "list->vector", "apply"))  # go through a whole list
CHOOSING = (If, Loop, For)  # operations whose value is that of one of their blocks


def give_own_loops(unit: Unit) -> None:
    """Functions whose tail calls go down a list get a loop of their own, before types are inferred: so the type of what
    callers give is known apart from that of the rests."""
    if unit.is_text or is_traced():
        return
    for function in unit.functions:
        if not function.self_tail or function.code is None or not jumps_to(function.code, function):
            continue
        jumps = [block.exit for block in all_blocks(function.code, False) if is_jump(block, function)]
        if any(goes_down(jumps, index, param) for index, param in enumerate(function.params)):
            function.code = own_loop(function, function.body.span)


def goes_down(jumps: list[Any], index: int, param: Var) -> bool:
    """Whether all jumps give a variable itself, or the rest of it."""
    rests = [is_rest_of(jump.args[index], param) for jump in jumps]
    same = [type(jump.args[index]) is Ref and jump.args[index].var is param for jump in jumps]
    return any(rests) and all(map(or_, rests, same)) and is_fixed(param)


def is_rest_of(value: Expr, param: Var) -> bool:
    """Whether a value is what is left of a variable's list, by one choice or the other."""
    op = value.var.op if type(value) is Ref else None
    if type(op) is If:
        results = [block.exit.value for block in blocks(op) if type(block.exit) is Result]
        rests = [is_rest_of(result, param) for result in results]
        same = [is_ref(result, param) or is_empty_list(result) for result in results]
        return any(rests) and all(map(or_, rests, same))
    rest = taken(op)
    return rest is not None and (is_ref(rest[0], param) or is_rest_of(rest[0], param))


def index_lists(unit: Unit) -> None:
    """Rewrites the loops of a unit that go down flat lists."""
    if unit.is_text or is_traced():
        return  # people read, and debuggers show, the lists
    for form in unit.blocks:
        for block in list(all_blocks(form)):
            for instr in list(block.instrs):
                if type(instr.op) in (Loop, For):
                    index_params(block, instr, instr.op)


def index_params(block: Block, instr: Let, op: Any) -> None:
    """Has the variables of a loop that can be indices be such."""
    for position, init in enumerate(op.inits):
        if not init.type.only(LIST):
            continue
        cursor = plan(op, op.params[position])
        if cursor is None:
            continue
        flat, start = beginning(init)
        if flat.type.only(FLAT) or (type(op) is Loop and cursor.goes_to_end(op.body, False)):
            before = cursor.rewrite(op, position, flat, start)
            at = block.instrs.index(instr)
            block.instrs[at:at] = before
            if start:
                drop_unused(block, init.var)


def drop_unused(block: Block, var: Var) -> None:
    """Leaves out the rest of a flat list, where nobody else reads it."""
    if not var.name and all(ref.var is not var for ref in refs(block)):
        block.instrs = [instr for instr in block.instrs if instr.var is not var]


def beginning(init: Expr) -> tuple[Expr, int]:
    """The list that a loop goes down, and where it begins: at the start, or after some items of a flat one."""
    op = init.var.op if type(init) is Ref and is_fixed(init.var) and not init.var.is_global else None
    if type(op) is CallBuiltin and op.name in RESTS and len(op.args) == 1 and type(op.args[0]) is Ref:
        source = op.args[0]
        if source.type.only(FLAT) and is_fixed(source.var):
            return Ref(source.var, source.type), RESTS[op.name]
    return init, 0


def plan(op: Any, walker: Var) -> Cursor | None:
    """How a variable of a loop becomes an index; None where it can't."""
    if not walker.type.only(LIST) or not is_fixed(walker):
        return None
    cursor = Cursor(op, walker)
    return cursor if cursor.fits(op, op.params.index(walker)) else None


class Cursor:
    """A variable of a loop, and those that hold the rest of its list."""

    def __init__(self, op: Any, walker: Var) -> None:
        self.target = op.source if type(op) is Loop else op
        self.walker = walker
        after = [] if type(op) is Loop else list(all_blocks(op.after, into_functions=False))
        self.leaving = {*leaving_blocks(op.body, self.target), *after}
        self.blocks = [*all_blocks(op.body, into_functions=False), *after]
        self.roots = [op.body] if type(op) is Loop else [op.body, op.after]
        self.others: set[Var] = set()  # variables of loops inside that hold other lists as well
        self.start(op)

    def start(self, op: Any) -> None:
        """Knows of nothing but the variable itself."""
        self.members: set[Var] = {self.walker}
        self.rests: set[Var] = set()  # those of the members that hold less than the whole list
        self.choices: set[Block] = set()  # the blocks whose results are those of members
        self.positions: dict[Any, set[int]] = {self.target: {op.params.index(self.walker)}}  # of members, by loop

    def holds(self, value: Expr) -> bool:
        return type(value) is Ref and value.var in self.members

    def is_held(self, value: Expr) -> bool:
        """Whether a value is the list from some item on: also the empty list, which is what comes after the last."""
        return self.holds(value) or is_empty_list(value)

    # Whether it can be done

    def fits(self, op: Any, position: int) -> bool:
        while True:
            self.start(op)
            self.find_rests()
            wrong = self.loops_with_others()
            if not wrong:
                break
            self.others |= wrong
        jumps = [block.exit for block in self.blocks if is_jump(block, self.target)]
        if not all(self.is_held(jump.args[position]) for jump in jumps):  # type: ignore[union-attr]
            return False
        if not any(is_one_of(jump.args[position], self.rests) for jump in jumps):  # type: ignore[union-attr]
            return False  # it is the same list in every round, whose items are at hand where it leaves the loop
        inside = sum(sum(map(self.holds, self.uses_in(block))) for block in self.blocks)
        if inside < sum(ref.var in self.members for root in self.roots for ref in refs(root)):
            return False  # a closure uses it
        return all(block in self.leaving or self.only_reads(block) for block in self.blocks)

    def find_rests(self) -> None:
        """Adds the variables that hold the rest of the list, or the same list."""
        count = 0
        while count < len(self.members):
            count = len(self.members)
            for block in self.blocks:
                for instr in block.instrs:
                    if type(instr.op) in (Loop, For):
                        self.enter_loop(instr.op)
                    if instr.var is not None and is_fixed(instr.var) and not instr.var.is_global:
                        self.consider(instr.var, instr.op)

    def enter_loop(self, op: Any) -> None:
        """Adds the variables of a loop inside that begin with the list, until one of them gets another one."""
        for index, (param, init) in enumerate(zip(op.params, op.inits, strict=False)):  # `reduce` has no first value
            if self.holds(init) and param not in self.others and is_fixed(param):
                self.members.add(param)
                self.rests.add(param)
                self.positions.setdefault(op.source if type(op) is Loop else op, set()).add(index)

    def loops_with_others(self) -> set[Var]:
        """The variables of loops inside that were added, but get what is no rest of the list."""
        return {
            params_of(block.exit.target)[index]
            for block in self.blocks
            if type(block.exit) is Jump and block.exit.target is not self.target
            for index in self.positions.get(block.exit.target, ())
            if not self.is_held(block.exit.args[index])
        }

    def consider(self, var: Var, op: Op) -> None:
        """Adds a variable whose operation gives the list or a rest of it."""
        if type(op) is Move:
            if self.holds(op.value):
                self.members.add(var)
                if is_one_of(op.value, self.rests):
                    self.rests.add(var)
        elif type(op) in CHOOSING:
            inner = [block for block in value_blocks(op) if type(block.exit) is Result]
            results = [block.exit.value for block in inner]  # type: ignore[union-attr]
            if any(map(self.holds, results)) and all(map(self.is_held, results)) and not self.ends_round(op):
                self.members.add(var)
                self.choices.update(inner)
                if any(is_one_of(result, self.rests) for result in results):
                    self.rests.add(var)
        elif (rest := taken(op)) is not None and self.holds(rest[0]):
            self.members.add(var)
            self.rests.add(var)

    def ends_round(self, op: Op) -> bool:
        """Whether an operation is the last of a round: its value is that of the loop."""
        return any(is_jump(inner, self.target) for block in blocks(op) for inner in all_blocks(block, False))

    def uses_in(self, block: Block) -> list[Expr]:
        return [*(value for instr in block.instrs for value in operands(instr.op)), *exit_operands(block.exit)]

    def only_reads(self, block: Block) -> bool:
        """Whether a block that runs in a round only takes the list apart, and hands it on to the next one."""
        if not all(map(self.is_use, block.instrs)):
            return False
        exit_ = block.exit
        if type(exit_) is Jump:
            places = self.positions.get(exit_.target, ())
            return not any(self.holds(arg) for index, arg in enumerate(exit_.args) if index not in places)
        return block in self.choices or not any(map(self.holds, exit_operands(exit_)))

    def is_use(self, instr: Let) -> bool:
        """Whether an instruction that runs in a round takes no more than its part of the list."""
        op = instr.op
        if not any(map(self.holds, operands(op))):
            return True
        if type(op) in (Loop, For):
            places = self.positions.get(op.source if type(op) is Loop else op, ())
            if any(self.holds(init) for index, init in enumerate(op.inits) if index not in places):  # type: ignore[attr-defined]
                return False
            return type(op) is Loop or not any(map(self.holds, op.sources)) or goes_through_one(op)  # type: ignore[attr-defined]
        if instr.var in self.members:
            return type(op) is not If  # whose test it would be
        return reads_part(op, self.holds) or goes_through_one(op)

    def goes_to_end(self, block: Block, is_at_end: bool) -> bool:
        """Whether a round that leaves the loop in a block has come to the end of the list, or goes through the rest."""
        if is_jump(block, self.target) or is_at_end:
            return True
        last = block.instrs[-1] if block.instrs else None
        if last is None or not is_value_of(block, last) or type(last.op) is not If:
            return any(type(op := instr.op) is CallBuiltin and self.goes_through(op) for instr in block.instrs)
        test = last.op.test
        return all(
            self.goes_to_end(inner, is_empty_where(test, outcome, self.holds))
            for inner, outcome in ((last.op.then, True), (last.op.otherwise, False))
        )

    def goes_through(self, op: CallBuiltin) -> bool:
        return op.name in THROUGH and any(map(self.holds, op.args))

    # Doing it

    def rewrite(self, op: Any, position: int, source: Expr, start: int) -> list[Let]:
        """Rewrites the loop, which goes down a list from an item on, and returns the instructions in front of it."""
        owner = self.walker.owner
        index = temporary("at", owner)
        index.type = INDEX
        self.sequence = temporary(self.walker.name or "items", owner)
        self.length = temporary("size", owner)
        kind = "flat_items" if source.type.only(FLAT) else "list_items"
        items = Python(kind, [source], span=op.span, type=ANY)
        size = Python("len", [Ref(self.sequence)], span=op.span, type=INDEX)
        self.sequence.op, self.sequence.type = items, ANY
        self.length.op, self.length.type = size, INDEX
        op.inits[position] = Lit(start, INDEX)
        op.params[position] = index
        self.names = {member: index if member is self.walker else member for member in self.members}
        for block in self.blocks:
            self.block(block)
        for member in self.members - {self.walker}:
            member.type = INDEX
        return [Let(self.sequence, items), Let(self.length, size)]

    def index(self, value: Expr) -> Ref:
        return Ref(self.names[value.var] if self.holds(value) else self.length, INDEX)  # type: ignore[union-attr]

    def block(self, block: Block) -> None:
        instrs: list[Let] = []
        span = self.sequence.op.span

        def shown(value: Expr) -> Expr:
            """The list in place of its index."""
            if not self.holds(value):
                return value
            tail = temporary(self.walker.name or "items", self.walker.owner)
            type_ = make(FLAT, item=value.type.item) if is_whole else value.type
            tail.op = tail_of(Ref(self.sequence), self.index(value), type_)
            tail.op.span, tail.type = span, tail.op.type
            instrs.append(Let(tail, tail.op))
            return Ref(tail, tail.type)

        for instr in block.instrs:
            span = instr.op.span or span
            is_whole = goes_through_one(instr.op)
            self.instruction(instr, instrs, shown)
            instrs.append(instr)
        is_whole = False
        exit_ = block.exit
        if type(exit_) is Jump:
            exit_.args = self.handed_on(exit_.target, exit_.args, shown)
        elif block in self.choices:
            map_exit(exit_, lambda value: self.index(value) if self.is_held(value) else value)
        else:
            map_exit(exit_, shown)
        block.instrs = instrs

    def handed_on(self, target: Any, values: list[Expr], shown: Callable[[Expr], Expr]) -> list[Expr]:
        """What the variables of a loop get: those that are members an index."""
        places = self.positions.get(target, ())
        return [self.index(value) if index in places else shown(value) for index, value in enumerate(values)]

    def instruction(self, instr: Let, before: list[Let], shown: Callable[[Expr], Expr]) -> None:
        """Rewrites an instruction where it has to do with the list."""
        op: Any = instr.op
        if type(op) in (Loop, For):
            op.inits = self.handed_on(op.source if type(op) is Loop else op, op.inits, shown)
            if type(op) is For:
                op.sources = [shown(source) for source in op.sources]
        elif type(op) is If:
            op.test = shown(op.test)
        elif any(map(self.holds, operands(op))):
            new = self.operation(instr.var, op, before)
            if new is None:
                map_operands(op, shown)
            else:
                new.span = op.span
                replace(instr, new)
                if instr.var in self.members:
                    instr.var.type = new.type
        if type(op) in CHOOSING and instr.var in self.members:
            op.type = instr.var.type = INDEX

    def operation(self, var: Var | None, op: Any, before: list[Let]) -> Op | None:
        """What takes the place of an operation on the list; None where it needs the list itself."""
        if var in self.members:
            if type(op) is Move:
                return Move(self.index(op.value), type=INDEX)
            whole, count = taken(op)  # type: ignore[misc]
            index = self.index(whole)
            return Python("add", [index, checked(count, op, index, before)], type=INDEX)
        if not reads_part(op, self.holds):
            return None
        whole = next(value for value in op.args if self.holds(value))
        return part_of(op, Ref(self.sequence), self.index(whole), Ref(self.length, INDEX), before)


def is_jump(block: Block, target: Any) -> bool:
    return type(block.exit) is Jump and block.exit.target is target


def leaving_blocks(block: Block, target: Any) -> list[Block]:
    """The blocks, inside of a loop's body, after which no round follows."""
    if not any(is_jump(inner, target) for inner in all_blocks(block, into_functions=False)):
        return list(all_blocks(block, into_functions=False))
    last = block.instrs[-1] if block.instrs else None
    if is_jump(block, target) or last is None or not is_value_of(block, last):
        return []
    return [found for inner in blocks(last.op) for found in leaving_blocks(inner, target) if ends(inner, last.op)]


def ends(block: Block, op: Op) -> bool:
    """Whether what leaves a block of an operation leaves the operation as well."""
    return type(op) is not Loop or not any(is_jump(inner, op.source) for inner in all_blocks(block, False))


def is_one_of(value: Expr, vars_: set[Var]) -> bool:
    """Whether a value is that of one of some variables, or the empty list, which is less than any."""
    return value.var in vars_ if type(value) is Ref else True


def is_value_of(block: Block, instr: Let) -> bool:
    exit_ = block.exit
    return type(exit_) is Result and type(exit_.value) is Ref and exit_.value.var is instr.var and not instr.var.name
