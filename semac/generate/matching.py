"""`match` as a chain of tests on the items of the subject."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from sema_runtime.values.atoms import Char, Keyword, Symbol
from semac.anf.nodes import (
    BadPattern,
    LiteralPattern,
    MapPattern,
    Match,
    Pattern,
    Read,
    SequencePattern,
    VarPattern,
)
from semac.generate.constants import MAPS, constant, stored_key
from semac.generate.context import Context
from semac.generate.destination import Dest
from semac.generate.destructuring import LIST, MATCHING, malformed
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
    walrus,
)
from semac.ir.identifiers import mangle
from semac.ir.nodes import Var
from semac.types.lattice import INT


def match(c: Context, op: Match, dest: Dest) -> None:
    loc = c.loc(op)
    value = c.expr(op.subject)
    is_known = isinstance(value, ast.Name) and not (type(op.subject) is Read and op.subject.var.is_global)
    subject = value if is_known else c.save(value, "subject", loc)
    assert isinstance(subject, ast.Name)
    clauses = Clauses(c, op, subject.id)
    if dest.kind == "return" or dest.after or not any(clause.guard is not None for clause in op.clauses):
        clauses.emit(0, dest)
        return
    c.loops.append(None)
    _, body = c.in_block(lambda: clauses.emit(0, Dest(dest.kind, dest.target, after=True)))
    c.loops.pop()
    c.append(ast.While(const(True, loc), body, [], **loc))


def unless_kind(subject: str, kind: str, direct: ast.expr, general: ast.expr, loc: Any) -> ast.IfExp:
    """`direct if type(subject) is kind else general(subject)`: the common case without a call."""
    test = compare(call(builtin("type", loc), [name(subject, loc)], loc), ast.Is(), builtin(kind, loc), loc)
    return ast.IfExp(test, direct, call(general, [name(subject, loc)], loc), **loc)


class Clauses:
    """The clauses of one match; the subject is in a variable, its items and entries are fetched when first needed."""

    def __init__(self, c: Context, op: Match, subject: str) -> None:
        self.c = c
        self.op = op
        self.subject = subject
        self.items = ""
        self.size = ""
        self.entries = ""
        self.head = ""  # the first item, where several clauses begin with a literal
        self.fetched: dict[Any, str] = {}  # map keys that several clauses compare with literals → their values

    def emit(self, index: int, dest: Dest) -> None:
        """Prints the clauses from index on into the current block."""
        c = self.c
        if index == len(self.op.clauses):
            self.no_match(dest)
            return
        clause = self.op.clauses[index]
        loc = c.loc(clause)
        self.prepare(clause.pattern)
        tests: list[ast.expr] = []
        binds: list[tuple[Var, ast.expr]] = []
        self.tests(clause.pattern, name(self.subject, loc), tests, binds, top=True)
        if not tests and clause.guard is None:
            self.inside(index, binds, dest)
            return
        if not tests:
            self.inside(index, binds, dest)
            self.emit(index + 1, dest)
            return
        _, block = c.in_block(lambda: self.inside(index, binds, dest))
        test = boolop(ast.And(), tests, loc)
        if clause.guard is not None or terminates(block):
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
        arguments = [name(self.subject, loc), *([const(advice, loc)] if advice else [])]
        error = call(c.runtime(MATCHING + "no_match", loc), arguments, loc)
        c.append(ast.Raise(error, None, **loc))

    def patterns(self, kind: Callable[..., Any]) -> list[Any]:
        """The patterns of a class among those of the clauses."""
        return [clause.pattern for clause in self.op.clauses if type(clause.pattern) is kind]

    def prepare(self, pattern: Pattern) -> None:
        """Fetches what the tests of a pattern read from the subject."""
        c, loc = self.c, self.c.current
        if type(pattern) is SequencePattern and not self.items:
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
        self, pattern: Pattern, value: ast.expr, tests: list[ast.expr], binds: list[Any], top: bool = False
    ) -> None:
        """Appends what has to hold of value, and what is bound when it does."""
        if type(pattern) is VarPattern:
            binds.append((pattern.var, value))
        elif type(pattern) is LiteralPattern:
            tests.append(self.literal(value, pattern.value))
        elif type(pattern) is SequencePattern:
            self.sequence(pattern, value, tests, binds, top)
        elif type(pattern) is MapPattern:
            self.map(pattern, value, tests, binds, top)
        elif type(pattern) is BadPattern:
            tests.append(malformed(self.c, pattern, self.c.current))

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
        self, pattern: SequencePattern, value: ast.expr, tests: list[ast.expr], binds: list[Any], top: bool
    ) -> None:
        c, loc = self.c, self.c.current
        parts, rest = pattern.parts, pattern.rest
        op: ast.cmpop = ast.Eq() if rest is None else ast.GtE()
        if top:
            items = self.items
        else:
            items = c.names.temporary("items")
            sequence = call(c.runtime(MATCHING + "sequence_items", loc), [value], loc)
            tests.append(compare(walrus(items, sequence, loc), ast.IsNot(), const(None, loc), loc))
        if top and self.head and parts and type(parts[0]) is LiteralPattern:
            tests.append(self.literal(name(self.head, loc), parts[0].value))
        if top and self.size:
            tests.append(compare(name(self.size, loc), op, const(len(parts), loc), loc))
        else:
            if top:
                tests.append(compare(name(items, loc), ast.IsNot(), const(None, loc), loc))
            length = call(builtin("len", loc), [name(items, loc)], loc)
            tests.append(compare(length, op, const(len(parts), loc), loc))
        for index, part in enumerate(parts):
            if top and self.head and index == 0 and type(part) is LiteralPattern:
                continue
            self.tests(part, subscript(name(items, loc), const(index, loc), loc), tests, binds)
        if rest is not None:
            tail = subscript(name(items, loc), ast.Slice(const(len(parts), loc), None, None, **loc), loc)
            self.tests(rest, call(c.runtime(LIST, loc), [tail], loc), tests, binds)

    def map(self, pattern: MapPattern, value: ast.expr, tests: list[ast.expr], binds: list[Any], top: bool) -> None:
        c, loc = self.c, self.c.current
        entries = self.entries
        if not top:
            entries = c.names.temporary("entries")
            fetched = call(c.runtime(MATCHING + "map_entries", loc), [value], loc)
            tests.append(compare(walrus(entries, fetched, loc), ast.IsNot(), const(None, loc), loc))
        else:
            for key, part, required in pattern.entries:
                if required and type(part) is LiteralPattern and key in self.fetched:
                    tests.append(self.literal(name(self.fetched[key], loc), part.value))
            if not tests:  # what was fetched is in a map for sure
                tests.append(compare(name(entries, loc), ast.IsNot(), const(None, loc), loc))
        for key, part, required in pattern.entries:
            if top and required and type(part) is LiteralPattern and key in self.fetched:
                continue
            get = attribute(name(entries, loc), "get", loc)
            if not required:
                self.tests(part, call(get, [stored_key(c, key, loc)], loc), tests, binds)
                continue
            missing = c.runtime(MAPS + "MISSING", loc)
            got = call(get, [stored_key(c, key, loc), missing], loc)
            if type(part) is LiteralPattern:
                tests.append(self.literal(got, part.value))
                continue
            var = part.var if type(part) is VarPattern and not part.var.captured else None
            held = c.bind(var) if var is not None else c.names.temporary("entry")
            tests.append(compare(walrus(held, got, loc), ast.IsNot(), missing, loc))
            if var is None:
                self.tests(part, name(held, loc), tests, binds)
