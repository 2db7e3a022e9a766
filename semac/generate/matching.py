"""`match` as a chain of tests on the items of the subject (pattern_tests.py).

Clauses that follow each other and begin with the same tests share these: what fails one of them fails all.
"""

from __future__ import annotations

import ast
from typing import Any

from semac.anf.nodes import (
    Lit,
    MakeVector,
    Match,
    Read,
    Ref,
    SequencePattern,
)
from semac.generate.context import Context
from semac.generate.destination import Dest
from semac.generate.destructuring import MATCHING
from semac.generate.pattern_tests import Fit, Key, Subject
from semac.generate.pyast import (  # fmt: skip
    assign,
    boolop,
    call,
    const,
    negate,
    terminates,
)


def match(c: Context, op: Match, dest: Dest) -> None:
    loc = c.loc(op)
    subject: ast.expr | None = None
    parts = written_items(c, op, loc)
    if parts is None:
        value = c.expr(op.subject)
        is_known = isinstance(value, ast.Name) and not (type(op.subject) is Read and op.subject.var.is_global)
        subject = value if is_known else c.save(value, "subject", loc)
    variable = subject.id if isinstance(subject, ast.Name) else ""
    clauses = Clauses(c, op, Subject(c, op, variable, parts))
    if dest.kind == "return" or dest.after:
        clauses.emit_flat(dest)
    elif not any(clause.guard is not None for clause in op.clauses):
        clauses.emit(0, dest)
    else:
        c.loops.append(None)
        inner = Dest(dest.kind, dest.target, after=True)
        _, body = c.in_block(lambda: clauses.emit_flat(inner))
        c.loops.pop()
        c.append(ast.While(const(True, loc), body, [], **loc))


def written_items(c: Context, op: Match, loc: Any) -> list[ast.expr] | None:
    """The items of a subject that is written as a vector, each a name or a constant, in order."""
    subject = op.subject
    if (
        type(subject) is not MakeVector
        or c.module.unit.is_text
        or not any(type(clause.pattern) is SequencePattern for clause in op.clauses)
    ):
        return None
    items: list[ast.expr] = []
    for item in subject.items:
        value = c.expr(item)
        is_fixed = type(item) is Lit or (type(item) is Ref and isinstance(value, ast.Name))
        items.append(value if is_fixed else c.save(value, "item", loc))
    return items


class Clauses:
    """The clauses of one match."""

    def __init__(self, c: Context, op: Match, subject: Subject) -> None:
        self.c = c
        self.op = op
        self.subject = subject
        self.fits: dict[int, Fit | None] = {}  # by clause; None: it surely doesn't fit

    def emit_flat(self, dest: Dest) -> None:
        """Prints the clauses one after the other, where the value of one ends what follows."""
        if not self.emit_some(0, len(self.op.clauses), frozenset(), dest):
            self.no_match(dest)

    def emit_some(self, first: int, end: int, known: frozenset[Key], dest: Dest) -> bool:
        """Prints some clauses; whether the last one always fits. known: keys of tests that have been passed."""
        c = self.c
        while first < end:
            fit = self.fit(first)
            if fit is None:
                first += 1
                continue
            left = fit.left(known)
            together = self.beginning_alike(first, end, known)
            c.loc(self.op.clauses[first])
            if together > 1:
                self.emit_together(first, first + together, known, dest)
            elif left:
                self.emit_one(first, dest, [test for _, test in left])
            else:
                self.inside(first, dest)
                if self.op.clauses[first].guard is None:
                    return True
            first += together
        return False

    def emit_one(self, index: int, dest: Dest, tests: list[ast.expr]) -> None:
        c, loc = self.c, self.c.current
        _, block = c.in_block(lambda: self.inside(index, dest))
        c.append(ast.If(boolop(ast.And(), tests, loc), block or [ast.Pass(**loc)], [], **loc))

    def beginning_alike(self, first: int, end: int, known: frozenset[Key]) -> int:
        """How many clauses from one on begin with the test with which that begins."""
        key = self.first_key(first, known)
        kind = type(self.op.clauses[first].pattern)
        last = first + 1
        while key is not None and last < end and type(self.op.clauses[last].pattern) is kind:
            if self.first_key(last, known) != key:
                break
            last += 1
        return last - first

    def first_key(self, index: int, known: frozenset[Key]) -> Key | None:
        fit = self.fit(index)
        left = fit.left(known) if fit is not None else []
        return left[0][0] if left else None

    def emit_together(self, first: int, end: int, known: frozenset[Key], dest: Dest) -> None:
        """Prints clauses that begin with the same tests below these."""
        c, loc = self.c, self.c.current
        own, *others = [fit.left(known) for index in range(first, end) if (fit := self.fit(index)) is not None]
        shared = 0
        while shared < len(own) and own[shared][0] is not None:
            if any(len(other) <= shared or other[shared][0] != own[shared][0] for other in others):
                break
            shared += 1
        test = boolop(ast.And(), [test for _, test in own[:shared]], loc)
        passed = known.union(key for key, _ in own[:shared] if key is not None)
        _, block = c.in_block(lambda: self.emit_some(first, end, passed, dest))
        c.append(ast.If(test, block, [], **loc))

    def emit(self, index: int, dest: Dest) -> None:
        """Prints the clauses from index on into the current block, each beside the others."""
        c = self.c
        if index == len(self.op.clauses):
            self.no_match(dest)
            return
        fit = self.fit(index)
        loc = c.loc(self.op.clauses[index])
        if fit is None:
            self.emit(index + 1, dest)
            return
        if not fit.tests:
            self.inside(index, dest)
            return
        _, block = c.in_block(lambda: self.inside(index, dest))
        test = boolop(ast.And(), [test for _, test in fit.tests], loc)
        if terminates(block):
            c.append(ast.If(test, block or [ast.Pass(**loc)], [], **loc))
            self.emit(index + 1, dest)
            return
        before = self.subject.fetched_so_far()
        _, other = c.in_block(lambda: self.emit(index + 1, dest))
        self.subject.forget(before)
        if block or other:
            c.append(ast.If(test if block else negate(test, loc), block or other, other if block else [], **loc))

    def fit(self, index: int) -> Fit | None:
        """What has to hold where a clause fits; None where it surely doesn't."""
        if index not in self.fits:
            clause = self.op.clauses[index]
            self.c.loc(clause)
            self.fits[index] = self.subject.fit(clause.pattern)
        return self.fits[index]

    def inside(self, index: int, dest: Dest) -> None:
        """What happens where the pattern of a clause fits."""
        c, clause, fit = self.c, self.op.clauses[index], self.fits[index]
        loc = c.current
        assert fit is not None
        for var, value in fit.binds:
            c.append(assign(c.bind(var), value, loc))
        if clause.guard is None:
            c.block(clause.body, dest)
            return
        if not c.instructions(clause.guard):
            return
        test = c.test(clause.guard.exit.value)  # type: ignore[union-attr]
        block = c.statements(clause.body, dest)
        c.append(ast.If(test, block or [ast.Pass(**loc)], [], **loc))

    def no_match(self, dest: Dest) -> None:
        c = self.c
        loc = c.loc(self.op)
        if self.op.lenient:
            c.finish(const(None, loc), dest, loc, False)
            return
        advice = self.op.advice
        arguments = [self.subject.whole(), *([const(advice, loc)] if advice else [])]
        error = call(c.runtime(MATCHING + "no_match", loc), arguments, loc)
        c.append(ast.Raise(error, None, **loc))
