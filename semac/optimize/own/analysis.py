"""Which groups of variables may hold values of a representation: bare dicts, stacks.

First all copies unite variables into groups, and what can't be bare spoils its group: a value that isn't fresh, a
variable that closures capture or that unknown code fills. Then liveness decides: a value that is changed in place must
have no later reader under its old name, one that others see must not be changed later. Any doubt spoils the group; then
the runtime's general form is used, which is always right. "Map" below stands for a value of either representation.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from semac.anf import nodes as anf
from semac.anf.build import is_fixed
from semac.anf.nodes import Block, Jump, Let, Op, Ref, Result
from semac.anf.walk import all_blocks, blocks, exit_operands, params_of
from semac.anf.walk import bound as bound_by
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.own.carried import Part, carried
from semac.optimize.own.code import LOOPS, Code, all_code, called_elsewhere, concerns, handed, is_relevant, starts
from semac.optimize.own.groups import Groups
from semac.optimize.own.representation import (
    CHANGE,
    ESCAPE,
    LEND,
    MOVE,
    READ,
    Representation,
    known_callee,
)
from semac.optimize.own.settled import overwritten, settled

READING, TAKING = 1, 2  # a variable is read later; its map is changed or handed on later


ROUNDS = 6  # in which members that can't hold bare dicts are parted from the groups that they would spoil


def analyzed(unit: Unit, form: Representation) -> Analysis:
    """The analysis of a unit, in which what spoils a group stands apart from it as far as rounds allow.

    Only groups that get a fresh value and change it can be bare. In later rounds groups are parts of what they are in
    the first, so code that has none of these is looked at once, and then only what has members of a group that fell
    apart, as no other group can have changed.
    """
    everything = all_code(unit)
    code = [part for part in everything if is_relevant(part, form)]
    elsewhere = cache(lambda: called_elsewhere(everything))
    form.carried = carried(everything, form.tags, elsewhere)
    analysis = Analysis(code, form)
    analysis.unite()
    wanted = {member for member, group in analysis.groups.group_of.items() if group.is_wanted}
    if not wanted:
        return analysis
    wanted |= {member.function for member in wanted if type(member) is Part}
    concerned = [part for part in code if concerns(part, wanted, form)]
    # No other member is in a group that can be bare, or tells of the variable that it was read from.
    meant = wanted.union(*(read for var, read in analysis.readings.items() if var in wanted))
    analysis.code = concerned
    analysis.find_owners()
    analysis.judge(elsewhere())
    for _ in range(ROUNDS - 1):
        spoilt = analysis.groups.spoilt & meant
        if spoilt == analysis.groups.general:
            break
        analysis.look_again(frozenset(spoilt), elsewhere())
    return analysis


class Analysis:
    """The groups of code. everything: this code, and what else has values that a representation can hold, but none of
    these groups. own: parameters whose function takes the map over, instead of only reading it."""

    def __init__(self, code: list[Code], form: Representation, general: frozenset[Any] = frozenset()) -> None:
        self.code = self.everything = code
        self.form = form
        self.groups = Groups(general, form.needed)
        self.own: set[Var] = set()
        self.passes: dict[Var, set[Var]] = {}  # parameter → parameters of callers that are handed to it
        self.readings: dict[Var, list[Var]] = {}  # variable that changes → the variables that it is read in

    def judge(self, elsewhere: set[Function]) -> None:
        """Spoils groups of which the order of uses doesn't permit bare maps. elsewhere: functions that unknown code
        calls; they get and give general maps."""
        for function in elsewhere:
            for member in (function, *function.params):
                self.groups.spoil(member, "called from elsewhere")
        for code in self.code:
            Liveness(self, code.function).block(code.block, {}, {})

    def look_again(self, general: frozenset[Any], elsewhere: set[Function]) -> None:
        """Finds the groups anew that have lost members. general: all members that have general maps by now."""
        members = self.touched(general - self.groups.general)
        named = members | {member.function for member in members if type(member) is Part}
        again = Analysis([part for part in self.code if concerns(part, named, self.form)], self.form, general)
        again.own = self.own
        again.unite()
        again.judge(elsewhere)
        self.groups.replace(members, again.groups)

    def touched(self, lost: Iterable[Any]) -> set[Any]:
        """The members of the groups that have some members, and of those that hold what is read from the same
        variables."""
        members: set[Any] = set()
        todo = list(lost)
        while todo:
            member = todo.pop()
            if member in members:
                continue
            group = self.groups.known(member)
            new = [member] if group is None else group.members
            members.update(new)
            for other in new:
                if type(other) is Var:
                    todo += self.names_of(other)
                    todo += self.readings.get(other, ())
        return members

    # Groups

    def unite(self) -> None:
        for code in self.code:
            self.united(code)
        if self.form.carried is not None:
            for part, source in self.form.carried.passed:
                self.hand_on(source, part)
                self.hand_on(part, source)

    def united(self, code: Code) -> None:
        function, own_blocks = code.function, code.blocks
        bound = {instr.var for inner in own_blocks for instr in inner.instrs}
        for inner in own_blocks:
            for instr in inner.instrs:
                if type(instr.op) is anf.Assign and instr.op.define == "local" and not instr.op.var.captured:
                    bound.add(instr.op.var)
                elif self.form.carried is not None and instr.op in self.form.carried.taken:
                    bound.update(bound_by(instr.op))
        for inner in own_blocks:
            for instr in inner.instrs:
                if type(instr.op) in (anf.Read, anf.Assign):
                    self.changing(instr, bound)
        bound |= set(function.params) if function is not None else set()
        for inner in own_blocks:
            for instr in inner.instrs:
                if isinstance(instr.op, LOOPS):
                    bound |= set(instr.op.params)
        if function is not None:
            for param in function.params:
                if self.form.holds(param.type) and (function.is_open or not is_fixed_or_param(param)):
                    self.groups.spoil(param, "parameter of a function that anybody calls")
        for inner in own_blocks:
            for instr in inner.instrs:
                self.instruction(instr, bound)
            self.exit(inner, bound)
        self.result_of(code.block, function, function)

    def changing(self, instr: Let, bound: set[Any]) -> None:
        """A variable that `set!` changes is read or set. bound: the variables of the function's instructions."""
        changing: Var = instr.op.var  # type: ignore[attr-defined]
        if changing not in bound or changing.is_global or changing.early or changing.defined > 1:
            self.groups.spoil(changing, "changes, where others may read it")
        elif type(instr.op) is anf.Read and instr.var is not None:
            if not is_fixed(instr.var) or not {changing, instr.var}.isdisjoint(self.groups.general):
                self.groups.spoil(changing, "is read as a general value")
            self.readings.setdefault(changing, []).append(instr.var)

    def names_of(self, var: Var) -> tuple[Var, ...]:
        """The variables that may hold the same map: that which it was read from, and all that this is read in."""
        op = var.op
        if type(op) is not anf.Read:
            return (var,)
        return (op.var, *self.readings.get(op.var, ()))

    def instruction(self, instr: Let, bound: set[Any]) -> None:
        op, var = instr.op, instr.var
        parts = self.form.carried.parts(op) if self.form.carried is not None else []
        for part, value in parts:
            self.part(part, value)
        if not parts or type(op) is anf.MakeVector:
            for bound_var in bound_by(op):
                if type(op) not in LOOPS or bound_var not in op.params:  # type: ignore[attr-defined]
                    self.groups.spoil(bound_var, "part of another value")
        if type(op) is anf.Comprehension:
            for inner in blocks(op):
                for value in exit_operands(inner.exit):
                    if self.form.is_held(value):
                        self.groups.spoil(value.var, "an item of a list")  # type: ignore[union-attr]
        uses = self.form.uses(op, var)
        for use in uses:
            if use.var not in bound:
                self.groups.spoil(use.var, "used in another function")
            if use.how in (MOVE, CHANGE) and use.target is not None:
                self.hand_on(use.var, use.target)
            if use.how == CHANGE:
                self.groups.of(use.var).gains |= self.form.gain(op)
        for param, value in handed(op):
            if self.form.holds(param.type) and not self.form.is_held(value):
                self.groups.spoil(param, "not fresh")
        for param in starts(op):
            self.groups.spoil(param, "not fresh")
        if type(op) is anf.Assign and self.form.holds(op.var.type) and not self.form.is_held(op.value):
            self.groups.spoil(op.var, "not fresh")
        if var is None or not self.form.holds(op.type):
            return
        kind = self.form.fresh(op)
        if kind:
            self.groups.makes(var, kind)
        elif type(op) in (anf.If, anf.Match, anf.Try, anf.Logic, anf.With, *LOOPS):
            if type(op) is anf.Logic and not self.form.is_held(op.first) and op.first.type.tags & self.form.tags:
                self.groups.spoil(var, "not only maps")  # a test has shown that the first value is one
            for inner in blocks(op):
                self.result_of(inner, var, None)
        elif type(op) is anf.Call and known_callee(op) is not None:
            self.hand_on(known_callee(op), var)
        elif not any(use.target is var for use in uses):
            self.groups.spoil(var, "not fresh")

    def part(self, part: Part, value: Any) -> None:
        """What is at a position of a vector goes into it from an operand, or out of it to a variable."""
        if type(value) is not Var:
            if not self.form.is_held(value) and value.type.tags:
                self.groups.spoil(part, "not only maps")
        elif self.form.holds(value.type):
            self.hand_on(part, value)
        else:
            self.groups.spoil(part, "not only maps")

    def hand_on(self, source: Any, target: Any) -> None:
        general = self.groups.general
        if source in general:
            self.groups.spoil(target, "not fresh")
            return
        if target in general:
            return  # a map object is put around the dict
        self.groups.unite(source, target)
        for member in (source, target):  # what tests have shown of a value isn't true of all that its variable holds
            if type(member) is Var and not self.form.holds(member.type):
                self.groups.spoil(member, "not only maps")

    def exit(self, block: Block, bound: set[Any]) -> None:
        for value in exit_operands(block.exit):
            if self.form.is_held(value) and value.var not in bound:  # type: ignore[union-attr]
                self.groups.spoil(value.var, "used in another function")  # type: ignore[union-attr]
        if type(block.exit) is Jump:
            for param, arg in zip(params_of(block.exit.target), block.exit.args, strict=False):
                if self.form.is_held(arg):
                    self.hand_on(arg.var, param)  # type: ignore[union-attr]
                elif self.form.holds(param.type):
                    self.groups.spoil(param, "not fresh")

    def result_of(self, block: Block, target: Any, function: Function | None) -> None:
        """The value of a block goes to a variable, or is what a function returns."""
        exit_ = block.exit
        if target is None or type(exit_) is not Result:
            return
        value = exit_.value
        if function is not None and (function.is_open or not self.form.holds(function.type)):
            return  # the map is made general where it is returned
        if self.form.is_held(value):
            self.hand_on(value.var, target)  # type: ignore[union-attr]
        elif type(value) is not Ref or value.type.tags:
            if function is not None or self.form.holds(target.type):
                self.groups.spoil(target, "not only maps")

    # Parameters

    def find_owners(self) -> None:
        """Parameters are borrowed unless their function, or one that it hands them to, takes the map over."""
        todo: list[Var] = []
        for code in self.code:
            if code.function is None:
                continue
            params = set(code.function.params)
            for inner in code.blocks:
                found = [use for instr in inner.instrs for use in self.form.uses(instr.op, instr.var)]
                for use in found:
                    if use.var in params and use.how not in (READ, LEND):
                        if use.how == MOVE and is_parameter(use.target):
                            self.passes.setdefault(use.target, set()).add(use.var)
                        else:
                            todo.append(use.var)
                held: list[Any] = list(filter(self.form.is_held, exit_operands(inner.exit)))
                todo += [value.var for value in held if value.var in params]
        while todo:
            param = todo.pop()
            if param not in self.own:
                self.own.add(param)
                todo += self.passes.get(param, ())


def is_parameter(var: Any) -> bool:
    """Whether a variable is the parameter of a function that isn't a loop of its caller."""
    return type(var) is Var and var.owner is not None and var in var.owner.params and not is_loop(var.owner)


def is_loop(function: Function) -> bool:
    loop = function.var.loop if function.var is not None else None
    return loop is not None and loop.is_loop and not function.self_tail


def is_fixed_or_param(var: Var) -> bool:
    return not var.assigned and not var.early and var.defined <= 1


Live = dict[Var, int]


class Liveness:
    """Walks code backwards and spoils the groups whose maps are used after they were changed or given away."""

    def __init__(self, analysis: Analysis, function: Function | None) -> None:
        self.form = analysis.form
        self.groups = analysis.groups
        self.own = analysis.own
        self.names_of = analysis.names_of
        self.function = function
        self.loops: dict[Any, Live] = {}  # what is live where a jump goes back to a loop

    def block(self, block: Block, after: Live, always: Live, is_read: bool = True) -> Live:
        """What is live before a block. after: what is live behind it; always: what a handler around it reads; is_read:
        whether anything reads its result."""
        live = dict(after)
        exit_ = block.exit
        if type(exit_) is Jump:
            live = merged(self.loops.get(exit_.target, {}), always)
        for value in reversed(exit_operands(exit_)):
            if self.form.is_held(value) and (is_read or type(exit_) is Jump):
                self.take(value.var, TAKING, live)  # type: ignore[union-attr]
        for instr in reversed(block.instrs):
            self.instruction(instr, live, always)
        return live

    def instruction(self, instr: Let, live: Live, always: Live) -> None:
        op = instr.op
        later = live.pop(instr.var, 0) if instr.var is not None else 0
        if type(op) is anf.Destructure:
            for var in bound_by(op):
                live.pop(var, None)
        if type(op) is anf.Read:
            if self.form.holds(op.var.type):  # the map stays the variable's until what it was read in is changed
                live[op.var] = live.get(op.var, 0) | READING | later
            return
        if type(op) is anf.Assign:
            live.pop(op.var, None)
        uses = self.form.uses(op, instr.var)
        self.inner(instr, live, always)
        before = dict(live)
        for use in uses:
            how = self.strength(use)
            names = self.names_of(use.var)
            others = sum(other.var in names for other in uses) > 1
            held = self.read_in(names, before) | self.read_in(names, always)
            if how == TAKING and (held or others):
                self.groups.spoil(use.var, "used after it was given away")
            if how == ESCAPED and held & TAKING:
                self.groups.spoil(use.var, "changed after others saw it")
            live[use.var] = live.get(use.var, 0) | (READING if how == READING else TAKING)

    @staticmethod
    def read_in(names: tuple[Var, ...], live: Live) -> int:
        """How variables are used later."""
        how = 0
        for name in names:
            how |= live.get(name, 0)
        return how

    def strength(self, use: Any) -> int:
        if use.how in (READ, LEND):
            return READING
        if use.how == MOVE and is_parameter(use.target) and use.target not in self.own:
            return READING
        if use.how == ESCAPE or (use.how == MOVE and use.target in self.groups.general):
            return TAKING if self.form.copies else ESCAPED
        return TAKING

    def take(self, var: Var, how: int, live: Live) -> None:
        if self.read_in(self.names_of(var), live):
            self.groups.spoil(var, "used after it was given away")
        live[var] = live.get(var, 0) | how

    def inner(self, instr: Let, live: Live, always: Live) -> None:
        """The blocks of an operation: live becomes what is live before them."""
        op: Any = instr.op
        kind, is_read = type(op), instr.var is not None or type(op) is anf.Comprehension
        if isinstance(op, anf.Iteration):
            for use in self.form.uses(op, instr.var):  # what it goes through meanwhile
                if use.how in (READ, LEND) and type(use.var.op) is anf.Read:
                    live[use.var] = live.get(use.var, 0) | READING
            around = loop_reads(op, self.form)
            self.loops[op] = inside = merged(live, around)
            for inner in blocks(op):
                inside = merged(inside, self.block(inner, self.loops[op], always, is_read))
            for var in bound_by(op):
                inside.pop(var, None)
            replace(live, inside)
        elif kind is anf.Loop or kind is anf.While:
            around = loop_reads(op, self.form)
            inside = merged(live, around)
            if kind is anf.While:
                body = self.block(op.body, inside, always, False)
                inside = merged(inside, body)
                inside = self.block(op.test, inside, always)
            else:
                again = overwritten(op)
                self.loops[op.source] = merged({var: how for var, how in live.items() if var not in again}, around)
                inside = self.block(op.body, merged(live, {}), always, is_read)
                for param in op.params:
                    inside.pop(param, None)
            replace(live, merged(inside, around))
        elif kind is anf.Try:
            handler = self.block(op.handler, live, always, is_read)
            body = self.block(op.body, live, merged(always, handler), is_read)
            replace(live, merged(body, handler))
        elif kind is anf.With:  # what it enters may swallow an exception
            replace(live, merged(self.block(op.body, live, merged(always, live), is_read), live))
        else:
            branches = []
            for inner in blocks(op):
                after = live
                if kind is anf.Match and any(inner is clause.guard for clause in op.clauses):
                    after = merged(live, {use.var: READING for use in self.form.uses(op, instr.var)})
                branches.append(self.block(inner, after, always, is_read or after is not live))
            if kind is anf.Logic or kind is anf.Match:
                branches.append(dict(live))
            if branches:
                joined: Live = {}
                for branch in branches:
                    joined = merged(joined, branch)
                replace(live, joined)


ESCAPED = 3


def loop_reads(op: Op, form: Representation) -> Live:
    """The variables from outside that a loop uses: they are live in all its rounds."""
    used: Live = {}
    bound: set[Var | None] = set(bound_by(op))
    for body in blocks(op):
        for inner in all_blocks(body, into_functions=False):
            for instr in inner.instrs:
                bound.add(instr.var)
                bound.update(bound_by(instr.op))
                for use in form.uses(instr.op, instr.var):
                    used[use.var] = used.get(use.var, 0) | (READING if use.how in (READ, LEND) else READING | TAKING)
            for value in exit_operands(inner.exit):
                if form.is_held(value):
                    used[value.var] = READING | TAKING  # type: ignore[union-attr]
    bound |= settled(op)
    return {var: how for var, how in used.items() if var not in bound}


def merged(a: Live, b: Live) -> Live:
    result = dict(a)
    for var, how in b.items():
        result[var] = result.get(var, 0) | how
    return result


def replace(live: Live, new: Live) -> None:
    live.clear()
    live.update(new)
