"""Tests of values that were just made are decided where these are made (jump threading).

    (let ((r (if (< balance n) {:status :refused} {:status :ok :balance (- balance n)})))
      (if (= :ok (:status r)) (go-on (:balance r)) (refuse)))

Each branch that gives a value goes on with the branch that the test takes for that value, so nothing asks for a status
that the code has just written, what happens in one case can't be seen by the other, and maps and lists that were only
made to be taken apart are left to `split.py`. Literals, maps with literal keywords, lists and vectors are known;
look-ups, comparisons of constants, `and`, `or`, patterns of `match` and `case` are decided.

Sound because the same operations run in the same order: what stands between the two conditionals, and the branch that
is taken, move to the end of the branch before it, with the same place in the source and the same loops and handlers
around. A branch that several values take is copied while it is small. Values that are known don't change: maps, lists
and vectors are immutable, and no others count. Neither where a debugger is at work, nor in text for people.
"""

from __future__ import annotations

from typing import NamedTuple

from semac.anf.build import is_fixed
from semac.anf.literals import literal
from semac.anf.nodes import (
    Block,
    Closure,
    Destructure,
    Expr,
    If,
    Jump,
    Let,
    Lit,
    Logic,
    Match,
    Move,
    Op,
    Ref,
    Result,
    Try,
)
from semac.anf.walk import (
    all_blocks,
    blocks,
    exit_operands,
    instructions,
    map_exit,
    map_operands,
    operands,
    value_blocks,
)
from semac.fingerprint import is_traced
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.fields.known import NO_VARS, Binds, Vars, answer, fit, parts_of, truth
from semac.optimize.fields.moved import MOST_COPIED, Moved, Values, can_be_copied, now, own_vars
from semac.optimize.fields.split import again, stops
from semac.optimize.fields.tried import go_on_in_handler
from semac.optimize.loops.functions import temporary
from semac.optimize.own.code import Code, all_code

BRANCHES = (If, Match)
TESTED = (If, Match, Try)
MOST_ENDS = 8  # values that meet in a test
MOST_BETWEEN = 8  # operations between the conditional and the test


def thread_tests(unit: Unit) -> None:
    """Rewrites the code of a unit."""
    if unit.is_text or unit.is_input or is_traced() or stops(unit):
        return
    for code in all_code(unit):
        if sum(type(instr.op) in TESTED for block in code.blocks for instr in block.instrs) > 1:
            Threader(code).run()


class Decision(NamedTuple):
    """What a test does for one value. taken: the block that runs, None where that isn't known. values: of variables
    between the conditional and the test, and of those that a pattern binds. between: what still has to run."""

    taken: Block | None
    values: Values
    between: list[Let]


class Plan(NamedTuple):
    """A conditional whose values are tested. at: the place of the test in what follows the conditional."""

    at: int
    ends: list[Block]
    decisions: list[Decision]


class Threader:
    """Rewrites one function. values: atoms in place of variables. true: variables that surely count as true."""

    def __init__(self, code: Code, true: Vars = NO_VARS) -> None:
        self.code = code
        self.true = true
        self.values: Values = {}
        self.captured = {
            value.var
            for block in code.blocks
            for instr in block.instrs
            if type(instr.op) is Closure
            for value in used_in(instr.op.function.code)
        }

    def run(self) -> None:
        self.block(self.code.block)

    def current(self, value: Expr) -> Expr:
        return now(value, self.values)

    # Rewriting

    def block(self, block: Block) -> None:
        out: list[Let] = []
        todo = block.instrs[::-1]
        while todo:
            instr = todo.pop()
            op, var = instr.op, instr.var
            map_operands(op, self.current)
            known = answer(op, operands(op), self.true) if op.exprs else None
            if type(op) is Move and var is not None and self.is_replaced(var) and is_atom(op.value):
                known = op.value
            if known is not None:
                self.is_now(var, known, op, out)
                continue
            if type(op) is Destructure and self.is_taken_apart(op, out):
                continue
            taken = self.taken(op, out)
            if taken is not None:
                todo += taken.instrs[::-1]
                if type(taken.exit) is Jump:
                    block.exit = taken.exit
                else:
                    self.pending(var, taken, op, todo)
                continue
            if type(op) in BRANCHES and todo:
                plan = self.plan(instr, todo[::-1], block)
                if plan is not None:
                    self.carry_out(plan, instr, todo)
            elif type(op) is Try and todo:
                todo += go_on_in_handler(self, instr, todo[::-1])
            out.append(instr)
            for inner in blocks(op):
                self.block(inner)
        block.instrs = out
        map_exit(block.exit, self.current)

    def pending(self, var: Var | None, taken: Block, op: Op, todo: list[Let]) -> None:
        """The value of a block whose instructions come next."""
        if var is None:
            return
        assert type(taken.exit) is Result
        move = Let(var, Move(taken.exit.value, span=op.span))
        if is_fixed(var):
            var.op = move.op
        todo.insert(len(todo) - len(taken.instrs), move)

    def is_now(self, var: Var | None, value: Expr, op: Op, out: list[Let]) -> None:
        """A variable has a value that is known."""
        if var is None:
            return
        if self.is_replaced(var):
            self.values[var] = value
            return
        move = Move(again(value), span=op.span)
        out.append(Let(var, move))
        if is_fixed(var):
            var.op = move

    def is_replaced(self, var: Var) -> bool:
        return is_fixed(var) and not var.is_global and var not in self.captured

    def taken(self, op: Op, out: list[Let]) -> Block | None:
        """The block that a conditional surely runs; what its pattern binds is bound."""
        binds: Binds = []
        block = decided(op, self.values, binds, self.true)
        for var, value in binds if block is not None else ():
            self.is_now(var, value, op, out)
        return block

    def is_taken_apart(self, op: Destructure, out: list[Let]) -> bool:
        """Whether the parts of a pattern are known, which its variables then are."""
        binds: Binds = []
        if parts_of(op.value) is None or not fit(op.pattern, op.value, binds):
            return False
        for var, value in binds:
            self.is_now(var, value, op, out)
        return True

    # Plans

    def known_ends(self, block: Block) -> list[Block]:
        """The blocks that give the value of a block, where all these values are known."""
        ends = ends_of([block]) or []
        return ends if len(ends) <= MOST_ENDS and all(map(is_known_end, ends)) else []

    def plan(self, instr: Let, rest: list[Let], block: Block) -> Plan | None:
        """How to thread a test of the value of a conditional; None where that can't be done, or doesn't pay."""
        var = instr.var
        if var is None or not self.is_replaced(var):
            return None
        ends = ends_of(value_blocks(instr.op)) if is_whole(instr.op) else None
        if ends is None or not 1 < len(ends) <= MOST_ENDS or not any(map(is_known_end, ends)):
            return None
        at = self.place_of_test(rest)
        if at is None:
            return None
        own = {var, *own_vars(Block(rest[:at], Result(literal(None))))}
        if not all(map(self.is_replaced, own)) or self.is_used_after(own, rest[at + 1 :], block):
            return None
        decisions = [self.decision(var, end, rest[: at + 1]) for end in ends]
        if sum(decision.taken is None for decision in decisions) > 1:
            return None
        return Plan(at, ends, decisions) if self.pays(rest[at].op, decisions) else None

    def place_of_test(self, rest: list[Let]) -> int | None:
        """Where the first conditional stands, if what is before it can be copied."""
        for index, instr in enumerate(rest[: MOST_BETWEEN + 1]):
            op = instr.op
            if type(op) in BRANCHES:
                return index
            if type(op) is not Logic and (blocks(op) or type(op) is Closure):
                return None
            inside = list(instructions(Block([instr], Result(literal(None)))))
            if len(inside) > MOST_BETWEEN or not all(can_be_copied(inner.op) for inner in inside):
                return None
        return None

    def is_used_after(self, own: set[Var], rest: list[Let], block: Block) -> bool:
        after = Block(rest, block.exit)
        return any(value.var in own for value in used_in(after))

    def decision(self, var: Var, end: Block, between: list[Let]) -> Decision:
        """What the last instruction does for the value of a block."""
        assert type(end.exit) is Result
        values = {**self.values, var: self.current(end.exit.value)}
        left: list[Let] = []
        for instr in between[:-1]:
            op = instr.op
            known = answer(op, [now(value, values) for value in operands(op)], self.true)
            if known is None and type(op) is Logic:
                known = shortcut(op, values, self.true)
            if known is not None and instr.var is not None:
                values[instr.var] = known
            elif known is None:
                left.append(instr)
        binds: Binds = []
        taken = decided(between[-1].op, values, binds, self.true)
        values.update(binds)
        if not all(self.is_replaced(bound_var) for bound_var, _ in binds):
            taken = None
        return Decision(taken, values, left)

    def pays(self, test: Op, decisions: list[Decision]) -> bool:
        """Whether what is copied is small, and can be."""
        copied = sum(len(decision.between) for decision in decisions[1:])
        counts = counts_of(test, decisions)
        is_undecided = type(test) is Match and any(decision.taken is None for decision in decisions)
        is_whole = is_undecided and max(counts.values()) > 1  # the copy has the guards too, once
        for inner in blocks(test) if is_whole else value_blocks(test):
            count = counts.get(id(inner), 1)
            if count > 1 or is_whole:
                instrs = list(instructions(inner))
                copied += (count - 1) * len(instrs)
                if not all(can_be_copied(instr.op) for instr in instrs):
                    return False
        return copied <= MOST_COPIED

    # Carrying out

    def carry_out(self, plan: Plan, instr: Let, todo: list[Let]) -> None:
        """Moves the test into the branches of the conditional, which takes its place."""
        following = [todo.pop() for _ in range(plan.at + 1)]
        test = following[-1]
        counts = counts_of(test.op, plan.decisions)
        for end, decision in zip(plan.ends, plan.decisions, strict=True):
            moved = Moved(decision.values, self.code.function)
            for each in decision.between:
                end.instrs.append(moved.twin(each))
            if decision.taken is None:
                var = temporary("value", self.code.function)
                var.op = moved.test(test, counts)
                end.instrs.append(Let(var, var.op))
                end.exit = Result(Ref(var), test.op.span)
                continue
            inner = moved.block(decision.taken, counts)
            end.instrs += inner.instrs
            end.exit = inner.exit
        instr.var = test.var
        if test.var is not None and is_fixed(test.var):
            test.var.op = instr.op


def decided(op: Op, values: Values, binds: Binds, true: Vars) -> Block | None:
    """The block that a conditional runs, where values say so."""
    if type(op) is If:
        is_true = truth(now(op.test, values), true)
        return None if is_true is None else op.then if is_true else op.otherwise
    if type(op) is not Match:
        return None
    subject = now(op.subject, values)
    if type(subject) is not Lit and parts_of(subject) is None:
        return None
    for clause in op.clauses:
        binds.clear()
        fits = fit(clause.pattern, subject, binds)
        if fits:
            return clause.body if clause.guard is None else None
        if fits is None:
            return None
    binds.clear()
    return Block([], Result(literal(None), op.span)) if op.lenient else None


def shortcut(op: Logic, values: Values, true: Vars) -> Expr | None:
    """The value of `and` or `or` where the first operand decides, or the rest is an atom."""
    first = now(op.first, values)
    is_true = truth(first, true)
    if is_true is None:
        return None
    if is_true is not op.is_and:
        return first
    if op.rest.instrs or type(op.rest.exit) is not Result:
        return None
    return now(op.rest.exit.value, values)


def is_whole(op: Op) -> bool:
    """Whether a conditional always runs one of its blocks."""
    return type(op) is not Match or not op.lenient


def ends_of(inside: list[Block]) -> list[Block] | None:
    """The blocks that give the value of a conditional, of its branches; None where others do, or somebody jumps."""
    ends: list[Block] = []
    for block in inside:
        exit_ = block.exit
        if type(exit_) is not Result:
            return None
        last = block.instrs[-1] if block.instrs else None
        value = exit_.value
        if last is not None and type(last.op) in BRANCHES and type(value) is Ref and last.var is value.var:
            inner = ends_of(value_blocks(last.op)) if is_whole(last.op) else None
            if inner is None:
                return None
            ends += inner
        else:
            ends.append(block)
    return ends


def counts_of(test: Op, decisions: list[Decision]) -> dict[int, int]:
    """How many values take each block of a conditional, by its id."""
    counts: dict[int, int] = {}
    for decision in decisions:
        for inner in [decision.taken] if decision.taken is not None else value_blocks(test):
            counts[id(inner)] = counts.get(id(inner), 0) + 1
    return counts


def is_atom(value: Expr) -> bool:
    """Whether an operand is the same wherever it stands."""
    return type(value) is Lit or (type(value) is Ref and is_fixed(value.var) and not value.var.is_global)


def is_known_end(block: Block) -> bool:
    value = block.exit.value  # type: ignore[union-attr]
    return type(value) is Lit or parts_of(value) is not None


def used_in(block: Block) -> list[Ref]:
    """The operands of a block that are variables, those of functions made there included."""
    return [
        value
        for inner in all_blocks(block)
        for values in (*(operands(instr.op) for instr in inner.instrs), exit_operands(inner.exit))
        for value in values
        if type(value) is Ref
    ]
