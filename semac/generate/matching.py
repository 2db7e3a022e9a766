"""`match` as a chain of tests on the items of the subject.

Clauses that follow each other and begin with the same tests share these: what fails one of them fails all. A subject
that is written as a vector is not made: its items are tested where they are.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from itertools import count
from typing import Any

from sema_runtime.values.atoms import Char, Keyword, Symbol
from semac.anf.nodes import (
    BadPattern,
    Lit,
    LiteralPattern,
    MakeVector,
    MapPattern,
    Match,
    Pattern,
    Read,
    Ref,
    SequencePattern,
    VarPattern,
)
from semac.generate.constants import MAPS, constant, stored_key
from semac.generate.context import Context
from semac.generate.destination import Dest
from semac.generate.destructuring import LIST as LIST_CLASS
from semac.generate.destructuring import MATCHING, malformed
from semac.generate.pyast import (  # fmt: skip
    assign,
    attribute,
    boolop,
    builtin,
    call,
    compare,
    const,
    name,
    negate,
    subscript,
    terminates,
    tuple_of,
    walrus,
)
from semac.ir.identifiers import mangle
from semac.ir.nodes import Var
from semac.types.lattice import ARRAY, INT, LIST, OTHER

UNLIKE_VECTORS = LIST | ARRAY | OTHER  # kinds of values that patterns of sequences take besides vectors
ENTRY = -1_000_000  # in paths, before the number of an entry of a map


Key = tuple[Any, ...]
Tests = list[tuple[Key | None, ast.expr]]  # keys: equal ones say that tests ask the same of the same part
Path = tuple[int, ...]  # of a part in the items of the subject


def match(c: Context, op: Match, dest: Dest) -> None:
    loc = c.loc(op)
    subject: ast.expr | None = None
    parts = written_items(c, op, loc)
    if parts is None:
        value = c.expr(op.subject)
        is_known = isinstance(value, ast.Name) and not (type(op.subject) is Read and op.subject.var.is_global)
        subject = value if is_known else c.save(value, "subject", loc)
    clauses = Clauses(c, op, subject.id if isinstance(subject, ast.Name) else "", parts)
    if dest.kind == "return" or dest.after:
        clauses.emit_flat(0, len(op.clauses), frozenset(), dest)
    elif not any(clause.guard is not None for clause in op.clauses):
        clauses.emit(0, dest)
    else:
        c.loops.append(None)
        inner = Dest(dest.kind, dest.target, after=True)
        _, body = c.in_block(lambda: clauses.emit_flat(0, len(op.clauses), frozenset(), inner))
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


def unless_kind(subject: str, kind: str, direct: ast.expr, general: ast.expr, loc: Any) -> ast.IfExp:
    """`direct if type(subject) is kind else general(subject)`: the common case without a call."""
    test = compare(call(builtin("type", loc), [name(subject, loc)], loc), ast.Is(), builtin(kind, loc), loc)
    return ast.IfExp(test, direct, call(general, [name(subject, loc)], loc), **loc)


class Clauses:
    """The clauses of one match; the subject is in a variable, its items and entries are fetched when first needed.

    parts: the items of a subject that isn't made.
    """

    def __init__(self, c: Context, op: Match, subject: str, parts: list[ast.expr] | None) -> None:
        self.c = c
        self.op = op
        self.subject = subject
        self.parts = parts
        self.inner: dict[Path, str] = {}  # the items of sequences inside
        self.numbers = count(1)
        self.items = ""
        self.size = ""
        self.entries = ""
        self.head = ""  # the first item, where several clauses begin with a literal
        self.fetched: dict[Any, str] = {}  # map keys that several clauses compare with literals → their values

    def emit_flat(self, first: int, end: int, known: frozenset[Key], dest: Dest) -> bool:
        """Prints some clauses, each of which ends what follows where it fits; whether one of them always does. known:
        keys of tests that have been passed."""
        c = self.c
        while first < end:
            clause = self.op.clauses[first]
            loc = c.loc(clause)
            tests, binds = self.tests_of(clause.pattern)
            if tests is None:
                first += 1
                continue
            left = [test for test in tests if test[0] is None or test[0] not in known]
            together = self.beginning_alike(first, end, left, known) if left else 1
            c.loc(clause)
            if together > 1:
                self.emit_together(first, first + together, left, known, dest)
            elif left:
                _, block = c.in_block(lambda: self.inside(first, binds, dest))  # noqa: B023
                test = boolop(ast.And(), [test for _, test in left], loc)
                c.append(ast.If(test, block or [ast.Pass(**loc)], [], **loc))
            else:
                self.inside(first, binds, dest)
                if clause.guard is None:
                    return True
            first += together
        if end == len(self.op.clauses) and not known:
            self.no_match(dest)
        return False

    def beginning_alike(self, first: int, end: int, left: Tests, known: frozenset[Key]) -> int:
        """How many clauses from one on begin with the test with which that begins."""
        key, count = left[0][0], 1
        kind = type(self.op.clauses[first].pattern)
        while key is not None and first + count < end:
            pattern = self.op.clauses[first + count].pattern
            if type(pattern) is not kind or kind is LiteralPattern:
                break
            tests, _ = self.tests_of(pattern)
            others = [test for test in tests or () if test[0] is None or test[0] not in known]
            if not others or others[0][0] != key:
                break
            count += 1
        return count

    def emit_together(self, first: int, end: int, left: Tests, known: frozenset[Key], dest: Dest) -> None:
        """Prints clauses that begin with the same tests below these."""
        c, loc = self.c, self.c.current
        shared = [key for key, _ in left]
        for index in range(first + 1, end):
            tests, _ = self.tests_of(self.op.clauses[index].pattern)
            keys = [key for key, _ in tests or () if key is None or key not in known]
            same = [a is not None and a == b for a, b in zip(shared, keys, strict=False)]
            shared = shared[: same.index(False) if False in same else len(same)]
        test = boolop(ast.And(), [test for _, test in left[: len(shared)]], loc)
        passed = known.union(key for key in shared if key is not None)
        _, block = c.in_block(lambda: self.emit_flat(first, end, passed, dest))
        c.append(ast.If(test, block, [], **loc))

    def tests_of(self, pattern: Pattern) -> tuple[Tests | None, list[tuple[Var, ast.expr]]]:
        """What has to hold where a pattern fits, and what is bound then; None where it surely doesn't fit."""
        tests: Tests = []
        binds: list[tuple[Var, ast.expr]] = []
        if self.parts is not None and not self.may_fit(pattern):
            return None, binds
        self.prepare(pattern)
        self.tests(pattern, (), self.whole, tests, binds)
        return tests, binds

    def may_fit(self, pattern: Pattern) -> bool:
        """Whether the vector that isn't made may fit a pattern, as far as its length decides."""
        assert self.parts is not None
        if type(pattern) is SequencePattern:
            count = len(pattern.parts)
            return count == len(self.parts) if pattern.rest is None else count <= len(self.parts)
        return type(pattern) not in (LiteralPattern, MapPattern)

    def whole(self) -> ast.expr:
        """The subject."""
        loc = self.c.current
        return name(self.subject, loc) if self.parts is None else tuple_of(list(self.parts), loc)

    def emit(self, index: int, dest: Dest) -> None:
        """Prints the clauses from index on into the current block."""
        c = self.c
        if index == len(self.op.clauses):
            self.no_match(dest)
            return
        clause = self.op.clauses[index]
        loc = c.loc(clause)
        tests, binds = self.tests_of(clause.pattern)
        c.loc(clause)
        if tests is None:
            self.emit(index + 1, dest)
            return
        if not tests:
            self.inside(index, binds, dest)
            return
        _, block = c.in_block(lambda: self.inside(index, binds, dest))
        test = boolop(ast.And(), [test for _, test in tests], loc)
        if terminates(block):
            c.append(ast.If(test, block or [ast.Pass(**loc)], [], **loc))
            self.emit(index + 1, dest)
            return
        saved = (self.items, self.size, self.entries, self.head, dict(self.fetched))
        _, other = c.in_block(lambda: self.emit(index + 1, dest))
        self.items, self.size, self.entries, self.head, self.fetched = saved
        if block or other:
            c.append(ast.If(test if block else negate(test, loc), block or other, other if block else [], **loc))

    def inside(self, index: int, binds: list[tuple[Var, ast.expr]], dest: Dest) -> None:
        """What happens where the pattern of a clause fits."""
        c, clause = self.c, self.op.clauses[index]
        loc = c.current
        for var, value in binds:
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
        arguments = [self.whole(), *([const(advice, loc)] if advice else [])]
        error = call(c.runtime(MATCHING + "no_match", loc), arguments, loc)
        c.append(ast.Raise(error, None, **loc))

    def patterns(self, kind: Callable[..., Any]) -> list[Any]:
        """The patterns of a class among those of the clauses."""
        return [clause.pattern for clause in self.op.clauses if type(clause.pattern) is kind]

    def prepare(self, pattern: Pattern) -> None:
        """Fetches what the tests of a pattern read from the subject."""
        c, loc = self.c, self.c.current
        if type(pattern) is SequencePattern and not self.items and self.parts is None:
            self.items = c.names.temporary("items")
            c.append(assign(self.items, self.fetched_items(loc), loc))
            if len(self.patterns(SequencePattern)) > 1:
                self.size = c.names.temporary("size")
                length = call(builtin("len", loc), [name(self.items, loc)], loc)
                none = compare(name(self.items, loc), ast.Is(), const(None, loc), loc)
                c.append(assign(self.size, ast.IfExp(none, const(-1, loc), length, **loc), loc))
                self.fetch_head(loc)
        if type(pattern) is MapPattern and not self.entries:
            self.entries = c.names.temporary("entries")
            c.append(assign(self.entries, self.fetched_entries(loc), loc))
            self.fetch_entries(loc)

    def fetched_items(self, loc: Any) -> ast.expr:
        """The items of the subject where it is a sequence, else None."""
        c, subject = self.c, name(self.subject, loc)
        general = c.runtime(MATCHING + "sequence_items", loc)
        if c.module.unit.is_text:
            return call(general, [subject], loc)
        fetched = unless_kind(self.subject, "tuple", subject, general, loc)
        if self.patterns(MapPattern):
            kind = call(builtin("type", loc), [subject], loc)
            is_map = compare(kind, ast.Is(), c.runtime(MAPS + "Map", loc), loc)
            fetched.orelse = ast.IfExp(is_map, const(None, loc), fetched.orelse, **loc)
        return fetched

    def fetched_entries(self, loc: Any) -> ast.expr:
        """The entries of the subject where it is a map, else None."""
        c, subject = self.c, name(self.subject, loc)
        general = c.runtime(MATCHING + "map_entries", loc)
        if c.module.unit.is_text:
            return call(general, [subject], loc)
        kind = c.runtime(MAPS + "Map", loc)
        assert isinstance(kind, ast.Name)
        return unless_kind(self.subject, kind.id, attribute(subject, "d", loc), general, loc)

    def fetch_head(self, loc: Any) -> None:
        """The first item in a variable, when more than one clause asks what it is."""
        shapes = [shape for shape in self.patterns(SequencePattern) if shape.parts]
        if sum(1 for shape in shapes if type(shape.parts[0]) is LiteralPattern) < 2:
            return
        c = self.c
        self.head = c.names.temporary("head")
        first = subscript(name(self.items, loc), const(0, loc), loc)
        some = compare(name(self.size, loc), ast.Gt(), const(0, loc), loc)
        c.append(assign(self.head, ast.IfExp(some, first, c.runtime(MAPS + "MISSING", loc), **loc), loc))

    def fetch_entries(self, loc: Any) -> None:
        """Values that several clauses compare with a literal, in variables; MISSING where the subject is no map."""
        asked = [
            key
            for shape in self.patterns(MapPattern)
            for key, part, required in shape.entries
            if required and type(part) is LiteralPattern and type(key) is Keyword
        ]
        c = self.c
        for key in dict.fromkeys(key for key in asked if asked.count(key) > 1):
            missing = c.runtime(MAPS + "MISSING", loc)
            got = call(attribute(name(self.entries, loc), "get", loc), [stored_key(c, key, loc), missing], loc)
            none = compare(name(self.entries, loc), ast.Is(), const(None, loc), loc)
            self.fetched[key] = c.names.temporary(mangle(key.name))
            c.append(assign(self.fetched[key], ast.IfExp(none, missing, got, **loc), loc))

    # Tests

    def tests(
        self,
        pattern: Pattern,
        path: Path,
        value: Callable[[], ast.expr],
        tests: Tests,
        binds: list[tuple[Var, ast.expr]],
    ) -> None:
        """Appends what has to hold of a part of the subject, and what is bound when it does. value: prints the part."""
        if type(pattern) is VarPattern:
            binds.append((pattern.var, value()))
        elif type(pattern) is LiteralPattern:
            tests.append((("literal", path, type(pattern.value), pattern.value), self.literal(value(), pattern.value)))
        elif type(pattern) is SequencePattern:
            self.sequence(pattern, path, value, tests, binds)
        elif type(pattern) is MapPattern:
            self.map(pattern, path, value, tests, binds)
        elif type(pattern) is BadPattern:
            tests.append((None, malformed(self.c, pattern, self.c.current)))

    def literal(self, value: ast.expr, wanted: Any) -> ast.expr:
        c, loc = self.c, self.c.current
        kind = type(wanted)
        if kind in (Keyword, Symbol, Char, bool, type(None)):
            return compare(value, ast.Is(), constant(c, wanted, loc), loc)
        if kind is str:
            return compare(value, ast.Eq(), const(wanted, loc), loc)
        if kind is int and self.op.subject.type.only(INT) and isinstance(value, ast.Name) and value.id == self.subject:
            return compare(value, ast.Eq(), const(wanted, loc), loc)
        equal = c.runtime("sema_runtime.values.equality:equal", loc)
        return call(equal, [value, constant(c, wanted, loc)], loc)

    def sequence(
        self,
        pattern: SequencePattern,
        path: Path,
        value: Callable[[], ast.expr],
        tests: Tests,
        binds: list[tuple[Var, ast.expr]],
    ) -> None:
        c, loc = self.c, self.c.current
        parts, rest = pattern.parts, pattern.rest
        if path or self.parts is None:
            self.has_items(pattern, path, value, tests)
        items = self.inner.get(path, self.items)
        for index, part in enumerate(parts):
            if not path and self.head and index == 0 and type(part) is LiteralPattern:
                continue

            def item(index: int = index) -> ast.expr:
                if not path and self.parts is not None:
                    return fresh(self.parts[index], self.c.current)
                return subscript(name(items, loc), const(index, loc), loc)

            self.tests(part, (*path, index), item, tests, binds)
        if rest is not None:

            def tail() -> ast.expr:
                if not path and self.parts is not None:
                    left = [fresh(part, loc) for part in self.parts[len(parts) :]]
                    return call(c.runtime(LIST_CLASS, loc), [ast.List(left, ast.Load(), **loc)], loc)
                after = subscript(name(items, loc), ast.Slice(const(len(parts), loc), None, None, **loc), loc)
                return call(c.runtime(LIST_CLASS, loc), [after], loc)

            self.tests(rest, (*path, -1 - len(parts)), tail, tests, binds)

    def has_items(self, pattern: SequencePattern, path: Path, value: Callable[[], ast.expr], tests: Tests) -> None:
        """Appends that a part is a sequence, and how long it is."""
        c, loc = self.c, self.c.current
        parts = pattern.parts
        op: ast.cmpop = ast.Eq() if pattern.rest is None else ast.GtE()
        if path:
            if path not in self.inner:
                self.inner[path] = c.names.temporary("items")
            tests.append((("sequence", path), self.is_sequence(pattern, self.inner[path], value())))
        elif self.head and parts and type(parts[0]) is LiteralPattern:
            wanted = parts[0].value
            tests.append((("literal", (0,), type(wanted), wanted), self.literal(name(self.head, loc), wanted)))
        if not path and self.size:
            length: ast.expr = name(self.size, loc)
        else:
            if not path:
                tests.append((("sequence", path), compare(name(self.items, loc), ast.IsNot(), const(None, loc), loc)))
            length = call(builtin("len", loc), [name(self.inner.get(path, self.items), loc)], loc)
        test = compare(length, op, const(len(parts), loc), loc)
        tests.append((("length", path, len(parts), pattern.rest is None), test))

    def is_sequence(self, pattern: SequencePattern, items: str, value: ast.expr) -> ast.expr:
        """Whether a part is a sequence, whose items are put into a variable."""
        c, loc = self.c, self.c.current
        if pattern.kinds and not pattern.kinds & UNLIKE_VECTORS and not c.module.unit.is_text:
            kind = call(builtin("type", loc), [walrus(items, value, loc)], loc)
            return compare(kind, ast.Is(), builtin("tuple", loc), loc)
        sequence = call(c.runtime(MATCHING + "sequence_items", loc), [value], loc)
        return compare(walrus(items, sequence, loc), ast.IsNot(), const(None, loc), loc)

    def map(
        self,
        pattern: MapPattern,
        path: Path,
        value: Callable[[], ast.expr],
        tests: Tests,
        binds: list[tuple[Var, ast.expr]],
    ) -> None:
        c, loc = self.c, self.c.current
        entries = self.entries
        if path:
            entries = c.names.temporary("entries")
            fetched = call(c.runtime(MATCHING + "map_entries", loc), [value()], loc)
            tests.append((None, compare(walrus(entries, fetched, loc), ast.IsNot(), const(None, loc), loc)))
        else:
            before = len(tests)
            for key, part, required in pattern.entries:
                if required and type(part) is LiteralPattern and key in self.fetched:
                    about = ("entry", key, type(part.value), part.value)
                    tests.append((about, self.literal(name(self.fetched[key], loc), part.value)))
            if len(tests) == before:  # what was fetched is in a map for sure
                tests.append((("map",), compare(name(entries, loc), ast.IsNot(), const(None, loc), loc)))
        for key, part, required in pattern.entries:
            if not path and required and type(part) is LiteralPattern and key in self.fetched:
                continue
            self.entry(entries, key, part, required, tests, binds)

    def entry(
        self, entries: str, key: Any, part: Pattern, required: bool, tests: Tests, binds: list[tuple[Var, ast.expr]]
    ) -> None:
        c, loc = self.c, self.c.current
        inside = (ENTRY, next(self.numbers))  # parts of maps are never the same
        get = attribute(name(entries, loc), "get", loc)
        if not required:
            self.tests(part, inside, lambda: call(get, [stored_key(c, key, loc)], loc), tests, binds)
            return
        missing = c.runtime(MAPS + "MISSING", loc)
        got = call(get, [stored_key(c, key, loc), missing], loc)
        if type(part) is LiteralPattern:
            tests.append((None, self.literal(got, part.value)))
            return
        var = part.var if type(part) is VarPattern and not part.var.captured else None
        held = c.bound(var) if var is not None else c.names.temporary("entry")
        tests.append((None, compare(walrus(held, got, loc), ast.IsNot(), missing, loc)))
        if var is None:
            self.tests(part, inside, lambda: name(held, loc), tests, binds)


def fresh(value: ast.expr, loc: Any) -> ast.expr:
    """A name or constant once more."""
    return name(value.id, loc) if isinstance(value, ast.Name) else value
