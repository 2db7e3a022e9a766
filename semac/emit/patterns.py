"""Patterns: `match` as a chain of tests on the items of the subject, destructuring as tuple assignment."""

from __future__ import annotations

import ast
from typing import Any

from sema_runtime.values.atoms import Char, Keyword, Symbol
from sema_runtime.values.maps import PLAIN
from semac.emit.destination import Dest
from semac.emit.emitter import Emitter
from semac.emit.pyast import (
    assign,
    attribute,
    boolop,
    call,
    compare,
    const,
    name,
    negate,
    subscript,
    terminates,
    walrus,
)  # fmt: skip
from semac.ir import nodes as ir
from semac.ir.facts import has_effects
from semac.ir.identifiers import mangle

MATCHING = "sema_runtime.values.matching:"
MAPS = "sema_runtime.values.maps:"


class Matches(Emitter):
    """How `match` and destructuring are emitted."""

    def stmt_match(self, node: Any, dest: Dest) -> None:
        loc = self.loc(node)
        value = self.expr(node.subject)
        is_known = isinstance(value, ast.Name) and not has_effects(node.subject)  # an unbound name fails here
        subject = value if is_known else self.save(value, "subject", loc)
        assert isinstance(subject, ast.Name)
        clauses = Clauses(self, node, subject.id)
        if dest.kind == "return" or dest.after or not any(guard is not None for _, guard, _ in node.clauses):
            clauses.emit(0, dest)
            return
        self.loops.append(None)
        _, body = self.in_block(lambda: clauses.emit(0, Dest(dest.kind, dest.target, after=True)))
        self.loops.pop()
        self.append(ast.While(const(True, loc), body, [], **loc))

    # Destructuring

    def stmt_bind(self, node: Any, dest: Dest) -> None:
        self.bind_pattern(node)
        self.stmt(node.body, dest)

    def expr_bind(self, node: Any) -> ast.expr:
        self.bind_pattern(node)
        return self.expr(node.body)

    def bind_pattern(self, node: Any) -> None:
        if self.bind_known_shape(node):
            return
        value = self.expr(node.value)
        self.take_apart(node.pattern, value)

    def bind_known_shape(self, node: Any) -> bool:
        """Destructuring of a list, vector or map written out on the spot: plain assignments."""
        pattern, value = node.pattern, node.value
        if pattern[0] == "sequence" and (
            type(value) is ir.Vector or (type(value) is ir.CallBuiltin and value.name == "list")
        ):
            items = value.items if type(value) is ir.Vector else value.args
            _, parts, rest = pattern
            flat = all(part[0] in ("var", "any") for part in parts) and (rest is None or rest[0] == "var")
            if not flat or len(items) < len(parts) or (rest is None and len(items) != len(parts)):
                return False
            values = self.exprs(items)
            loc = self.current
            for part, item in zip(parts, values, strict=False):
                self.assign_part(part, item)
            if rest is not None:
                more = ast.List(values[len(parts) :], ast.Load(), **loc)
                self.assign_part(rest, call(self.runtime("sema_runtime.values.lists:List", loc), [more], loc))
            return True
        if pattern[0] == "map" and type(value) is ir.MapLit and all(type(key) is ir.Const for key in value.keys):
            if not all(part[0] in ("var", "any") for _, part, _ in pattern[1]):
                return False
            entries = dict(zip([key.value for key in value.keys], self.exprs(value.values), strict=True))
            for key, part, _ in pattern[1]:
                self.assign_part(part, entries.get(key, const(None, self.current)))
            return True
        return False

    def assign_part(self, part: Any, value: ast.expr) -> None:
        if part[0] == "any":
            if not isinstance(value, ast.Name | ast.Constant):
                self.append(ast.Expr(value, **self.current))
        elif part[0] == "var":
            self.append(assign(self.bind(part[1]), value, self.current))
        elif part[0] == "malformed":
            self.append(ast.Expr(self.malformed(part), **self.current))
        else:
            self.take_apart(part, value)

    def malformed(self, pattern: Any) -> ast.expr:
        """A call that raises what is wrong with a pattern."""
        loc = self.current
        texts: list[ast.expr] = [const(text, loc) for text in pattern[1:] if text is not None]
        return call(self.runtime(MATCHING + "malformed", loc), texts, loc)

    def take_apart(self, pattern: Any, value: ast.expr) -> None:
        loc = self.current
        if pattern[0] == "sequence":
            _, parts, rest = pattern
            fits = self.module.unit.fitting.get(id(pattern))
            source = value if fits else self.of_length(value, len(parts), rest, loc)
            targets: list[ast.expr] = []
            later: list[tuple[Any, str]] = []
            for part in [*parts, *([rest] if rest is not None else [])]:
                target = (
                    self.bind(part[1])
                    if part[0] == "var"
                    else self.names.temporary("unused" if part[0] == "any" else "part")
                )
                if part[0] not in ("var", "any") or part is rest:
                    later.append((part, target))
                stored: ast.expr = ast.Name(target, ast.Store(), **loc)
                targets.append(ast.Starred(stored, ast.Store(), **loc) if part is rest else stored)
            if targets:
                self.append(ast.Assign([ast.Tuple(targets, ast.Store(), **loc)], source, **loc))
            else:
                self.append(ast.Expr(source, **loc))
            for part, target in later:
                if part is rest:
                    wrapped = call(self.runtime("sema_runtime.values.lists:List", loc), [name(target, loc)], loc)
                    self.append(assign(target, wrapped, loc))
                if part[0] not in ("var", "any"):
                    self.take_apart(part, name(target, loc))
            return
        if pattern[0] == "map":
            source = call(self.runtime(MATCHING + "destructure_map", loc), [value], loc)
            entries = self.save(source, "entries", loc)
            for key, part, _ in pattern[1]:
                got = call(attribute(entries, "get", loc), [self.stored_key(key)], loc)
                self.assign_part(part, got)
            return
        self.assign_part(pattern, value)

    def of_length(self, value: ast.expr, size: int, rest: Any, loc: Any) -> ast.expr:
        """A value to destructure, checked to be a sequence of size items, or of at least as many with a rest."""
        if rest is not None:
            return call(self.runtime(MATCHING + "destructure_rest", loc), [value, const(size, loc)], loc)
        checked = call(self.runtime(MATCHING + "destructure", loc), [value, const(size, loc)], loc)
        if not isinstance(value, ast.Name):
            return checked
        fits = compare(call(name("len", loc), [value], loc), ast.Eq(), const(size, loc), loc)
        kind = compare(call(name("type", loc), [value], loc), ast.Is(), name("tuple", loc), loc)
        return ast.IfExp(boolop(ast.And(), [kind, fits], loc), value, checked, **loc)

    def stored_key(self, key: Any) -> ast.expr:
        """A constant map key in the form in which maps store it."""
        constant = self.constant_data(key, self.current)
        if type(key) in PLAIN:
            return constant
        return call(self.runtime(MAPS + "stored", self.current), [constant], self.current)


def unless_kind(subject: str, kind: str, direct: ast.expr, general: ast.expr, loc: Any) -> ast.IfExp:
    """`direct if type(subject) is kind else general(subject)`: the common case without a call."""
    test = compare(call(name("type", loc), [name(subject, loc)], loc), ast.Is(), name(kind, loc), loc)
    return ast.IfExp(test, direct, call(general, [name(subject, loc)], loc), **loc)


class Clauses:
    """The clauses of one match; the subject is in a variable, its items and entries are fetched when first needed."""

    def __init__(self, emitter: Matches, node: Any, subject: str) -> None:
        self.e = emitter
        self.node = node
        self.subject = subject
        self.items = ""
        self.size = ""
        self.entries = ""
        self.head = ""  # the first item, where several clauses begin with a literal
        self.fetched: dict[Any, str] = {}  # map keys that several clauses compare with literals → their values

    def emit(self, index: int, dest: Dest) -> None:
        """Emits the clauses from index on into the current block."""
        e = self.e
        clauses = self.node.clauses
        if index == len(clauses):
            self.no_match(dest)
            return
        pattern, guard, body = clauses[index]
        loc = e.loc(body) if body.span is not None else e.current
        self.prepare(pattern)
        tests: list[ast.expr] = []
        binds: list[tuple[ir.Var, ast.expr]] = []
        self.tests(pattern, name(self.subject, loc), tests, binds, top=True)

        def inside() -> None:
            for var, value in binds:
                e.append(assign(e.bind(var), value, loc))
            if guard is None:
                e.stmt(body, dest)
                return
            test = e.test(guard)
            _, block = e.in_block(lambda: e.stmt(body, dest))
            e.append(ast.If(test, block or [ast.Pass(**loc)], [], **loc))

        if not tests and guard is None:
            inside()
            return
        if not tests:
            inside()
            self.emit(index + 1, dest)
            return
        _, block = e.in_block(inside)
        test = boolop(ast.And(), tests, loc)
        if guard is not None or terminates(block):
            e.append(ast.If(test, block or [ast.Pass(**loc)], [], **loc))
            self.emit(index + 1, dest)
            return
        saved = (self.items, self.size, self.entries, self.head, dict(self.fetched))
        _, other = e.in_block(lambda: self.emit(index + 1, dest))
        self.items, self.size, self.entries, self.head, self.fetched = saved
        if block or other:
            e.append(ast.If(test if block else negate(test, loc), block or other, other if block else [], **loc))

    def no_match(self, dest: Dest) -> None:
        e = self.e
        loc = e.loc(self.node)
        if self.node.lenient:
            e.finish(const(None, loc), dest, loc, False)
            return
        advice = e.module.unit.match_advice.get(self.node)
        arguments = [name(self.subject, loc), *([const(advice, loc)] if advice else [])]
        error = call(e.runtime(MATCHING + "no_match", loc), arguments, loc)
        e.append(ast.Raise(error, None, **loc))

    def prepare(self, pattern: Any) -> None:
        """Fetches what the tests of a pattern read from the subject."""
        e, loc = self.e, self.e.current
        if pattern[0] == "sequence" and not self.items:
            self.items = e.names.temporary("items")
            fetched = unless_kind(
                self.subject, "tuple", name(self.subject, loc), e.runtime(MATCHING + "sequence_items", loc), loc
            )
            if any(shape[0] == "map" for shape, _, _ in self.node.clauses):
                subject = call(name("type", loc), [name(self.subject, loc)], loc)
                is_map = compare(subject, ast.Is(), e.runtime(MAPS + "Map", loc), loc)
                fetched.orelse = ast.IfExp(is_map, const(None, loc), fetched.orelse, **loc)
            e.append(assign(self.items, fetched, loc))
            if sum(1 for shape, _, _ in self.node.clauses if shape[0] == "sequence") > 1:
                self.size = e.names.temporary("size")
                length = call(name("len", loc), [name(self.items, loc)], loc)
                none = compare(name(self.items, loc), ast.Is(), const(None, loc), loc)
                e.append(assign(self.size, ast.IfExp(none, const(-1, loc), length, **loc), loc))
                self.fetch_head(loc)
        if pattern[0] == "map" and not self.entries:
            self.entries = e.names.temporary("entries")
            kind = e.runtime(MAPS + "Map", loc)
            assert isinstance(kind, ast.Name)
            direct = attribute(name(self.subject, loc), "d", loc)
            fetched = unless_kind(self.subject, kind.id, direct, e.runtime(MATCHING + "map_entries", loc), loc)
            e.append(assign(self.entries, fetched, loc))
            self.fetch_entries(loc)

    def fetch_head(self, loc: Any) -> None:
        """The first item in a variable, when more than one clause asks what it is."""
        shapes = [shape for shape, _, _ in self.node.clauses if shape[0] == "sequence" and shape[1]]
        if sum(1 for shape in shapes if shape[1][0][0] == "literal") < 2:
            return
        e = self.e
        self.head = e.names.temporary("head")
        first = subscript(name(self.items, loc), const(0, loc), loc)
        some = compare(name(self.size, loc), ast.Gt(), const(0, loc), loc)
        e.append(assign(self.head, ast.IfExp(some, first, e.runtime(MAPS + "MISSING", loc), **loc), loc))

    def fetch_entries(self, loc: Any) -> None:
        """Values that several clauses compare with a literal, in variables; MISSING where the subject is no map."""
        asked = [
            key
            for shape, _, _ in self.node.clauses
            if shape[0] == "map"
            for key, part, required in shape[1]
            if required and part[0] == "literal" and type(key) is Keyword
        ]
        e = self.e
        for key in dict.fromkeys(key for key in asked if asked.count(key) > 1):
            missing = e.runtime(MAPS + "MISSING", loc)
            got = call(attribute(name(self.entries, loc), "get", loc), [e.stored_key(key), missing], loc)
            none = compare(name(self.entries, loc), ast.Is(), const(None, loc), loc)
            self.fetched[key] = e.names.temporary(mangle(key.name))
            e.append(assign(self.fetched[key], ast.IfExp(none, missing, got, **loc), loc))

    def tests(self, pattern: Any, value: ast.expr, tests: list[ast.expr], binds: list[Any], top: bool = False) -> None:
        """Appends what has to hold of value, and what is bound when it does."""
        kind = pattern[0]
        if kind == "var":
            binds.append((pattern[1], value))
        elif kind == "literal":
            tests.append(self.literal(value, pattern[1]))
        elif kind == "sequence":
            self.sequence(pattern, value, tests, binds, top)
        elif kind == "map":
            self.map(pattern, value, tests, binds, top)
        elif kind == "malformed":
            tests.append(self.e.malformed(pattern))

    def literal(self, value: ast.expr, wanted: Any) -> ast.expr:
        e, loc = self.e, self.e.current
        kind = type(wanted)
        if kind in (Keyword, Symbol, Char, bool, type(None)):
            return compare(value, ast.Is(), e.constant_data(wanted, loc), loc)
        if kind is str:
            return compare(value, ast.Eq(), const(wanted, loc), loc)
        equal = e.runtime("sema_runtime.values.equality:equal", loc)
        return call(equal, [value, e.constant_data(wanted, loc)], loc)

    def sequence(self, pattern: Any, value: ast.expr, tests: list[ast.expr], binds: list[Any], top: bool) -> None:
        e, loc = self.e, self.e.current
        _, parts, rest = pattern
        op: ast.cmpop = ast.Eq() if rest is None else ast.GtE()
        if top:
            items = self.items
        else:
            items = e.names.temporary("items")
            sequence = call(e.runtime(MATCHING + "sequence_items", loc), [value], loc)
            tests.append(compare(walrus(items, sequence, loc), ast.IsNot(), const(None, loc), loc))
        if top and self.head and parts and parts[0][0] == "literal":
            tests.append(self.literal(name(self.head, loc), parts[0][1]))
        if top and self.size:
            tests.append(compare(name(self.size, loc), op, const(len(parts), loc), loc))
        else:
            if top:
                tests.append(compare(name(items, loc), ast.IsNot(), const(None, loc), loc))
            length = call(name("len", loc), [name(items, loc)], loc)
            tests.append(compare(length, op, const(len(parts), loc), loc))
        for index, part in enumerate(parts):
            if top and self.head and index == 0 and part[0] == "literal":
                continue
            self.tests(part, subscript(name(items, loc), const(index, loc), loc), tests, binds)
        if rest is not None:
            tail = subscript(name(items, loc), ast.Slice(const(len(parts), loc), None, None, **loc), loc)
            rest_list = call(e.runtime("sema_runtime.values.lists:List", loc), [tail], loc)
            self.tests(rest, rest_list, tests, binds)

    def map(self, pattern: Any, value: ast.expr, tests: list[ast.expr], binds: list[Any], top: bool) -> None:
        e, loc = self.e, self.e.current
        entries = self.entries
        if not top:
            entries = e.names.temporary("entries")
            fetched = call(e.runtime(MATCHING + "map_entries", loc), [value], loc)
            tests.append(compare(walrus(entries, fetched, loc), ast.IsNot(), const(None, loc), loc))
        else:
            for key, part, required in pattern[1]:
                if required and part[0] == "literal" and key in self.fetched:
                    tests.append(self.literal(name(self.fetched[key], loc), part[1]))
            if not tests:  # what was fetched is in a map for sure
                tests.append(compare(name(entries, loc), ast.IsNot(), const(None, loc), loc))
        for key, part, required in pattern[1]:
            if top and required and part[0] == "literal" and key in self.fetched:
                continue
            get = attribute(name(entries, loc), "get", loc)
            if not required:
                self.tests(part, call(get, [e.stored_key(key)], loc), tests, binds)
                continue
            missing = e.runtime(MAPS + "MISSING", loc)
            got = call(get, [e.stored_key(key), missing], loc)
            if part[0] == "literal":
                tests.append(self.literal(got, part[1]))
                continue
            held = e.names.temporary("entry")
            tests.append(compare(walrus(held, got, loc), ast.IsNot(), missing, loc))
            self.tests(part, name(held, loc), tests, binds)
