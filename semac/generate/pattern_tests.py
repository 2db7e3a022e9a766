"""What has to hold of the subject of a `match` where a pattern fits.

Tests have keys that say what they ask of which part of the subject: equal keys are equal tests, which clauses can share
(matching.py). A subject that is written as a vector is not made: its items are tested where they are.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

from sema_runtime.values.atoms import Char, Keyword, Symbol
from semac.anf.nodes import (
    BadPattern,
    LiteralPattern,
    MapPattern,
    Match,
    Pattern,
    SequencePattern,
    VarPattern,
)
from semac.generate.constants import MAPS, constant, stored_key
from semac.generate.context import Context
from semac.generate.destructuring import LIST as LIST_CLASS
from semac.generate.destructuring import MATCHING, is_bare, malformed
from semac.generate.pyast import (
    assign,
    attribute,
    builtin,
    call,
    compare,
    const,
    name,
    subscript,
    tuple_of,
    unless_kind,
    walrus,
)
from semac.ir.identifiers import mangle
from semac.ir.nodes import Var
from semac.types.lattice import ANY, ARRAY, INT, LIST, MAP, OTHER, VECTOR, Type

IDENTICAL = (Keyword, Symbol, Char, bool, type(None))  # kinds of literals that are the value itself
UNLIKE_VECTORS = LIST | ARRAY | OTHER  # kinds of values that patterns of sequences take besides vectors

Key = tuple[Any, ...]  # equal ones say that tests ask the same of the same part
Path = tuple[Any, ...]  # of a part: indices, or which entry of a map


class Fit:
    """What has to hold where a pattern fits, and what is bound then."""

    def __init__(self) -> None:
        self.tests: list[tuple[Key | None, ast.expr]] = []
        self.binds: list[tuple[Var, ast.expr]] = []

    def want(self, test: ast.expr, *key: Any) -> None:
        """key: what the test asks of which part; nothing where no other test asks the same."""
        self.tests.append((key or None, test))

    def bind(self, var: Var, value: ast.expr) -> None:
        self.binds.append((var, value))

    def left(self, known: frozenset[Key]) -> list[tuple[Key | None, ast.expr]]:
        """The tests that have not been passed."""
        return [(key, test) for key, test in self.tests if key is None or key not in known]


class Subject:
    """What is matched: a variable, whose items and entries are fetched when first needed, or the items of a vector.

    variable: its Python name. parts: the items of a subject that isn't made.
    """

    def __init__(self, c: Context, op: Match, variable: str, parts: list[ast.expr] | None) -> None:
        self.c = c
        self.op = op
        self.name = variable
        self.parts = parts
        self.inner: dict[Path, str] = {}  # the items of sequences inside
        self.numbers = count(1)
        self.items = ""
        self.size = ""
        self.entries = ""
        self.head = ""  # the first item, where several clauses begin with a literal
        self.fetched: dict[Any, str] = {}  # map keys that several clauses compare with literals → their values

    def fit(self, pattern: Pattern) -> Fit | None:
        """What has to hold where a pattern fits; None where it surely doesn't. Fetches what the tests read."""
        if not self.may_fit(pattern):
            return None
        self.prepare(pattern)
        fit = Fit()
        self.tests(fit, pattern, (), self.whole)
        return fit

    def whole(self) -> ast.expr:
        loc = self.c.current
        if self.parts is None:
            return name(self.name, loc)
        return tuple_of([fresh(part, loc) for part in self.parts], loc)

    def fetched_so_far(self) -> tuple[str, str, str, str, dict[Any, str]]:
        return self.items, self.size, self.entries, self.head, dict(self.fetched)

    def forget(self, since: tuple[str, str, str, str, dict[Any, str]]) -> None:
        """Takes back what was fetched in a branch."""
        self.items, self.size, self.entries, self.head, self.fetched = since

    def may_fit(self, pattern: Pattern) -> bool:
        """Whether the subject may fit a pattern, as far as the length of a vector that isn't made decides."""
        if self.parts is None:
            return True
        if type(pattern) is SequencePattern:
            length = len(pattern.parts)
            return length == len(self.parts) if pattern.rest is None else length <= len(self.parts)
        return type(pattern) not in (LiteralPattern, MapPattern)

    # What several tests read

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
        c, subject = self.c, name(self.name, loc)
        general = c.runtime(MATCHING + "sequence_items", loc)
        if c.module.unit.is_text:
            return call(general, [subject], loc)
        kinds = self.op.subject.type.tags
        fetched: ast.expr = call(general, [subject], loc)
        if self.patterns(MapPattern) and kinds & MAP:
            fetched = self.where_kind(MAPS + "Map", const(None, loc), fetched)
        if kinds & LIST:
            items = ast.BoolOp(ast.Or(), [attribute(subject, "flat", loc), attribute(subject, "items", loc)], **loc)
            fetched = items if not kinds & ~LIST else self.where_kind(LIST_CLASS, items, fetched)
        if kinds & VECTOR:
            fetched = subject if not kinds & ~VECTOR else self.where_kind("tuple", subject, fetched)
        return fetched

    def where_kind(self, kind: str, direct: ast.expr, otherwise: ast.expr) -> ast.expr:
        """`direct if type(subject) is kind else otherwise`."""
        c, loc = self.c, self.c.current
        wanted = c.runtime(kind, loc) if ":" in kind else builtin(kind, loc)
        test = compare(call(builtin("type", loc), [name(self.name, loc)], loc), ast.Is(), wanted, loc)
        return ast.IfExp(test, direct, otherwise, **loc)

    def fetched_entries(self, loc: Any) -> ast.expr:
        """The entries of the subject where it is a map, else None."""
        c, subject = self.c, name(self.name, loc)
        general = c.runtime(MATCHING + "map_entries", loc)
        if c.module.unit.is_text:
            return call(general, [subject], loc)
        kind = c.runtime(MAPS + "Map", loc)
        assert isinstance(kind, ast.Name)
        return unless_kind(self.name, kind.id, attribute(subject, "d", loc), general, loc)

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

    def tests(self, fit: Fit, pattern: Pattern, path: Path, value: Callable[[], ast.expr]) -> None:
        """Adds what has to hold of a part of the subject, and what is bound when it does. value: prints the part."""
        if type(pattern) is VarPattern:
            fit.bind(pattern.var, value())
        elif type(pattern) is LiteralPattern:
            self.want_literal(fit, path, value(), pattern.value)
        elif type(pattern) is SequencePattern:
            self.sequence(fit, pattern, path, value)
        elif type(pattern) is MapPattern:
            self.map(fit, pattern, path, value)
        elif type(pattern) is BadPattern:
            fit.want(malformed(self.c, pattern, self.c.current))

    def want_literal(self, fit: Fit, path: Path, value: ast.expr, wanted: Any) -> None:
        """Other literals may be equal in Python and not in the language: vectors of 1 and of 1.0."""
        key = ("literal", path, type(wanted), wanted) if isinstance(wanted, (*IDENTICAL, str, int)) else ()
        fit.want(self.literal(value, wanted, self.type_at(path)), *key)

    def type_at(self, path: Path) -> Type:
        """What is known of a part of the subject, where the tests before have passed."""
        type_ = self.op.subject.type
        for step in path:
            kinds = type_.tags & (VECTOR | UNLIKE_VECTORS)
            if type(step) is not int or step < 0 or kinds not in (VECTOR, LIST):
                return ANY
            if kinds == LIST:
                type_ = type_.item
            else:
                type_ = type_.vec[step] if type_.vec is not None and step < len(type_.vec) else type_.vitem
        return type_

    def literal(self, value: ast.expr, wanted: Any, type_: Type) -> ast.expr:
        c, loc = self.c, self.c.current
        kind = type(wanted)
        if kind in IDENTICAL:
            return compare(value, ast.Is(), constant(c, wanted, loc), loc)
        if kind is str:
            return compare(value, ast.Eq(), const(wanted, loc), loc)
        if kind is int and type_.only(INT):
            return compare(value, ast.Eq(), const(wanted, loc), loc)
        equal = c.runtime("sema_runtime.values.equality:equal", loc)
        general = call(equal, [value, constant(c, wanted, loc)], loc)
        if kind is int and isinstance(value, ast.Name) and not c.module.unit.is_text:
            same = compare(name(value.id, loc), ast.Eq(), const(wanted, loc), loc)
            is_int = call(builtin("type", loc), [name(value.id, loc)], loc)
            return ast.IfExp(compare(is_int, ast.Is(), builtin("int", loc), loc), same, general, **loc)
        return general

    def sequence(self, fit: Fit, pattern: SequencePattern, path: Path, value: Callable[[], ast.expr]) -> None:
        if path or self.parts is None:
            self.has_items(fit, pattern, path, value)
        for index, part in enumerate(pattern.parts):
            if not path and self.head and index == 0 and type(part) is LiteralPattern:
                continue
            self.tests(fit, part, (*path, index), partial(self.item, path, index))
        if pattern.rest is not None:
            start = len(pattern.parts)
            self.tests(fit, pattern.rest, (*path, -1 - start), partial(self.tail, path, start, is_bare(pattern.rest)))

    def item(self, path: Path, index: int) -> ast.expr:
        """An item of a part that is a sequence."""
        loc = self.c.current
        if not path and self.parts is not None:
            return fresh(self.parts[index], loc)
        return subscript(name(self.inner.get(path, self.items), loc), const(index, loc), loc)

    def tail(self, path: Path, start: int, bare: bool) -> ast.expr:
        """The list of the items of a part from one on. bare: one of Python's own."""
        c, loc = self.c, self.c.current
        if not path and self.parts is not None:
            left: ast.expr = ast.List([fresh(part, loc) for part in self.parts[start:]], ast.Load(), **loc)
        else:
            items = name(self.inner.get(path, self.items), loc)
            left = subscript(items, ast.Slice(const(start, loc), None, None, **loc), loc)
        return left if bare else call(c.runtime(LIST_CLASS, loc), [left], loc)

    def has_items(self, fit: Fit, pattern: SequencePattern, path: Path, value: Callable[[], ast.expr]) -> None:
        """Adds that a part is a sequence, and how long it is."""
        c, loc = self.c, self.c.current
        parts = pattern.parts
        op: ast.cmpop = ast.Eq() if pattern.rest is None else ast.GtE()
        if path:
            if path not in self.inner:
                self.inner[path] = c.names.temporary("items")
            fit.want(self.is_sequence(pattern, self.inner[path], value()), "sequence", path)
        elif self.head and parts and type(parts[0]) is LiteralPattern:
            self.want_literal(fit, (0,), name(self.head, loc), parts[0].value)
        if not path and self.size:
            length: ast.expr = name(self.size, loc)
        else:
            if not path:
                fit.want(compare(name(self.items, loc), ast.IsNot(), const(None, loc), loc), "sequence", path)
            length = call(builtin("len", loc), [name(self.inner.get(path, self.items), loc)], loc)
        fit.want(compare(length, op, const(len(parts), loc), loc), "length", path, len(parts), pattern.rest is None)

    def is_sequence(self, pattern: SequencePattern, items: str, value: ast.expr) -> ast.expr:
        """Whether a part is a sequence, whose items are put into a variable."""
        c, loc = self.c, self.c.current
        if pattern.kinds and not pattern.kinds & UNLIKE_VECTORS and not c.module.unit.is_text:
            kind = call(builtin("type", loc), [walrus(items, value, loc)], loc)
            return compare(kind, ast.Is(), builtin("tuple", loc), loc)
        general = c.runtime(MATCHING + "sequence_items", loc)
        if c.module.unit.is_text or (pattern.kinds and not pattern.kinds & VECTOR):
            return compare(walrus(items, call(general, [value], loc), loc), ast.IsNot(), const(None, loc), loc)
        kind = call(builtin("type", loc), [walrus(items, value, loc)], loc)
        is_vector = compare(kind, ast.Is(), builtin("tuple", loc), loc)
        sequence = walrus(items, call(general, [name(items, loc)], loc), loc)
        return ast.BoolOp(ast.Or(), [is_vector, compare(sequence, ast.IsNot(), const(None, loc), loc)], **loc)

    def map(self, fit: Fit, pattern: MapPattern, path: Path, value: Callable[[], ast.expr]) -> None:
        c, loc = self.c, self.c.current
        fetched = {} if path else self.fetched
        asked = [
            (key, part.value)
            for key, part, required in pattern.entries
            if required and type(part) is LiteralPattern and key in fetched
        ]
        entries = self.entries
        if path:
            entries = c.names.temporary("entries")
            found = call(c.runtime(MATCHING + "map_entries", loc), [value()], loc)
            fit.want(compare(walrus(entries, found, loc), ast.IsNot(), const(None, loc), loc))
        for key, wanted in asked:
            self.want_literal(fit, ("entry", key), name(fetched[key], loc), wanted)
        if not path and not asked:  # what was fetched is in a map for sure
            fit.want(compare(name(entries, loc), ast.IsNot(), const(None, loc), loc), "map")
        for key, part, required in pattern.entries:
            if not (required and type(part) is LiteralPattern and key in fetched):
                self.entry(fit, entries, key, part, required)

    def entry(self, fit: Fit, entries: str, key: Any, part: Pattern, required: bool) -> None:
        c, loc = self.c, self.c.current
        inside = ("part", next(self.numbers))  # such parts of maps are never the same
        get = attribute(name(entries, loc), "get", loc)
        if not required:
            self.tests(fit, part, inside, lambda: call(get, [stored_key(c, key, loc)], loc))
            return
        missing = c.runtime(MAPS + "MISSING", loc)
        got = call(get, [stored_key(c, key, loc), missing], loc)
        if type(part) is LiteralPattern:
            self.want_literal(fit, inside, got, part.value)
            return
        var = part.var if type(part) is VarPattern and not part.var.captured else None
        held = c.bound(var) if var is not None else c.names.temporary("entry")
        fit.want(compare(walrus(held, got, loc), ast.IsNot(), missing, loc))
        if var is None:
            self.tests(fit, part, inside, lambda: name(held, loc))


def fresh(value: ast.expr, loc: Any) -> ast.expr:
    """A name or constant once more."""
    return name(value.id, loc) if isinstance(value, ast.Name) else value
