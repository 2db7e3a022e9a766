"""Loops that go down a flat list, at their own pace, hold an index instead of the rest of the list.

`(loop (cdr tokens) ...)` in some branches and `(loop tokens ...)` in others is no loop over items. Where the list that
the loop starts with surely has its items at hand as a sequence, the variable becomes an index into that sequence: `car`
reads an item, `cdr` adds one, `null?` compares with the length. No cells are linked. Of a list that may be linked the
items are collected first, where the loop only ends at its end, or where what is left is gone through anyway.

Assumes inferred types. Sound because lists don't change, and because every value of the variable is the first list
without some of its first items. What leaves the loop with the rest of the list gets a list that starts at the index,
which costs the same wherever that is (`tail_of`); where a round hands the list to anything else, the loop stays.
"""

from __future__ import annotations

from operator import or_
from typing import Any

from semac.anf.build import is_fixed
from semac.anf.nodes import (
    Block,
    CallBuiltin,
    CallRuntime,
    Expr,
    For,
    If,
    Jump,
    Let,
    Lit,
    Logic,
    Loop,
    Move,
    Op,
    Python,
    Ref,
    Result,
)
from semac.anf.walk import all_blocks, blocks, exit_operands, map_exit, map_operands, operands, refs
from semac.fingerprint import is_traced
from semac.ir.intrinsics import TAIL_OF
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.loops.functions import temporary
from semac.optimize.loops.named import jumps_to, own_loop
from semac.optimize.operators import replace
from semac.types.lattice import ANY, BOOL, COUNT, FLAT, LIST, POSITIVE, atom

FIRSTS = {"car": 0, "first": 0, "cadr": 1, "caddr": 2}  # what reads an item → how many stand before it
RESTS = {"cdr": 1, "rest": 1, "cddr": 2, "cdddr": 3}  # how many items each leaves out
TESTS = {"null?": "ge", "empty?": "ge", "pair?": "lt"}
THROUGH = frozenset(("append", "reverse", "length", "list->vector", "apply"))  # go through a whole list
INDEX = atom(COUNT)


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
    op = value.var.op if type(value) is Ref else None
    if type(op) is not CallBuiltin or op.name not in RESTS or len(op.args) != 1 or type(op.args[0]) is not Ref:
        return False
    return op.args[0].var is param or is_rest_of(op.args[0], param)


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
    return cursor if cursor.fits(op.params.index(walker)) else None


class Cursor:
    """A variable of a loop, and those that hold the rest of its list."""

    def __init__(self, op: Any, walker: Var) -> None:
        self.target = op.source if type(op) is Loop else op
        self.walker = walker
        self.members: set[Var] = {walker}
        self.rests: set[Var] = set()  # those of the members that hold less than the whole list
        after = [] if type(op) is Loop else list(all_blocks(op.after, into_functions=False))
        self.leaving = {*leaving_blocks(op.body, self.target), *after}
        self.blocks = [*all_blocks(op.body, into_functions=False), *after]
        self.roots = [op.body] if type(op) is Loop else [op.body, op.after]

    def holds(self, value: Expr) -> bool:
        return type(value) is Ref and value.var in self.members

    # Whether it can be done

    def fits(self, position: int) -> bool:
        self.find_rests()
        jumps = [block.exit for block in self.blocks if is_jump(block, self.target)]
        if not all(self.holds(jump.args[position]) for jump in jumps):  # type: ignore[union-attr]
            return False
        if not any(jump.args[position].var in self.rests for jump in jumps):  # type: ignore[union-attr]
            return False  # it is the same list in every round, whose items are at hand where it leaves the loop
        inside = sum(sum(map(self.holds, self.uses_in(block))) for block in self.blocks)
        if inside < sum(ref.var in self.members for root in self.roots for ref in refs(root)):
            return False  # a closure uses it
        return all(block in self.leaving or self.only_reads(block, position) for block in self.blocks)

    def find_rests(self) -> None:
        """Adds the variables that hold the rest of the list, or the same list."""
        count = 0
        while count < len(self.members):
            count = len(self.members)
            for block in self.blocks:
                for instr in block.instrs:
                    if self.is_rest(instr.op) and instr.var is not None and is_fixed(instr.var):
                        if not instr.var.is_global:
                            self.members.add(instr.var)
                            if type(instr.op) is CallBuiltin or instr.op.value.var in self.rests:  # type: ignore[attr-defined]
                                self.rests.add(instr.var)

    def is_rest(self, op: Op) -> bool:
        if type(op) is Move:
            return self.holds(op.value)
        return type(op) is CallBuiltin and op.name in RESTS and len(op.args) == 1 and self.holds(op.args[0])

    def uses_in(self, block: Block) -> list[Expr]:
        return [*(value for instr in block.instrs for value in operands(instr.op)), *exit_operands(block.exit)]

    def only_reads(self, block: Block, position: int) -> bool:
        """Whether a block that runs in a round only takes the list apart, and hands it on to the next one."""
        for instr in block.instrs:
            op = instr.op
            if any(map(self.holds, operands(op))) and not self.is_read(op) and instr.var not in self.members:
                return False
        exit_ = block.exit
        if is_jump(block, self.target):
            return not any(self.holds(arg) for index, arg in enumerate(exit_.args) if index != position)  # type: ignore[union-attr]
        return not any(map(self.holds, exit_operands(exit_)))

    def is_read(self, op: Op) -> bool:
        return type(op) is CallBuiltin and len(op.args) == 1 and (op.name in FIRSTS or op.name in TESTS)

    def goes_to_end(self, block: Block, is_at_end: bool) -> bool:
        """Whether a round that leaves the loop in a block has come to the end of the list, or goes through the rest."""
        if is_jump(block, self.target) or is_at_end:
            return True
        last = block.instrs[-1] if block.instrs else None
        if last is None or not is_value_of(block, last) or type(last.op) is not If:
            return any(type(op := instr.op) is CallBuiltin and self.goes_through(op) for instr in block.instrs)
        ends = self.emptiness(last.op.test)
        return all(
            self.goes_to_end(inner, ends is outcome)
            for inner, outcome in ((last.op.then, True), (last.op.otherwise, False))
        )

    def goes_through(self, op: CallBuiltin) -> bool:
        return op.name in THROUGH and any(map(self.holds, op.args))

    def emptiness(self, test: Expr) -> bool | None:
        """The outcome of a test that says of the list, or of a rest of it, that it is empty; None of other tests."""
        op = test.var.op if type(test) is Ref else None
        if type(op) is Logic and not op.is_and and self.emptiness(op.first) and type(op.rest.exit) is Result:
            return True if self.emptiness(op.rest.exit.value) else None
        if type(op) is not CallBuiltin or op.name not in TESTS or len(op.args) != 1 or not self.holds(op.args[0]):
            return None
        return TESTS[op.name] == "ge"

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
            self.block(block, position)
        return [Let(self.sequence, items), Let(self.length, size)]

    def index(self, value: Expr) -> Ref:
        return Ref(self.names[value.var], INDEX)  # type: ignore[union-attr]

    def block(self, block: Block, position: int) -> None:
        instrs: list[Let] = []
        span = self.sequence.op.span

        def shown(value: Expr) -> Expr:
            """The list in place of its index."""
            if not self.holds(value):
                return value
            tail = temporary(self.walker.name or "items", self.walker.owner)
            tail.type = value.type
            tail.op = CallRuntime(TAIL_OF, [Ref(self.sequence), self.index(value)], span=span, type=value.type)
            instrs.append(Let(tail, tail.op))
            return Ref(tail, tail.type)

        for instr in block.instrs:
            op = instr.op
            span = op.span or span
            if any(map(self.holds, operands(op))):
                new = self.operation(op) if self.is_read(op) or instr.var in self.members else None
                if new is not None:
                    new.span = op.span
                    replace(instr, new)
                    if instr.var in self.members:
                        instr.var.type = new.type
                else:
                    map_operands(op, shown)
            instrs.append(instr)
        exit_ = block.exit
        if is_jump(block, self.target):
            exit_.args[position] = self.index(exit_.args[position])  # type: ignore[union-attr]
        else:
            map_exit(exit_, shown)
        block.instrs = instrs

    def operation(self, op: Any) -> Op:
        """What takes the place of an operation on the list."""
        if type(op) is Move:
            return Move(self.index(op.value), type=INDEX)
        index = self.index(op.args[0])
        if op.name in TESTS:
            return Python(TESTS[op.name], [index, Ref(self.length, INDEX)], type=atom(BOOL))
        if op.name in RESTS:
            return Python("add", [index, Lit(RESTS[op.name], atom(POSITIVE))], type=INDEX)
        offset = FIRSTS[op.name]
        if op.filled and not offset:
            return Python("part", [Ref(self.sequence), index], type=op.type)
        if op.filled:
            return Python("part_after", [Ref(self.sequence), index, Lit(offset, atom(POSITIVE))], type=op.type)
        if offset:
            return Python(
                "later_in", [Ref(self.sequence), index, Ref(self.length), Lit(offset, atom(POSITIVE))], type=op.type
            )
        return Python("first_in", [Ref(self.sequence), index, Ref(self.length)], type=op.type)


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


def is_value_of(block: Block, instr: Let) -> bool:
    exit_ = block.exit
    return type(exit_) is Result and type(exit_.value) is Ref and exit_.value.var is instr.var and not instr.var.name
