"""Ownership: maps that are built up by one variable and can be a plain dict that is changed in place.

    (foldl (fn (counts word) (assoc counts word ...)) (hashmap/new) words)     →     counts[word] = ...

A variable owns its map when every value it gets is freshly made (a map literal, `(hashmap/new)`, `assoc` on an owned
variable that is dead afterwards), and when on every way through its scope it is first only read and then at most once
handed on: changed by `assoc` in result position, passed to the next round of a loop or fold, or given away. Such a
variable is a raw dict of stored keys (`Var.owned`). Where it is given away, an `ir.Box` makes a Map of it, bound to a
variable of its own; no other code ever sees the dict.

Only variables whose every use stands in one function qualify: those of `let`, of named lets that are loops, and the
accumulators of folds over a lambda. Parameters and results of functions never do, since a function is also called by
name, through `map`, and from data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from semac.ir import nodes as ir
from semac.ir.facts import is_owned_assoc
from semac.ir.intrinsics import KEYWORD_GET
from semac.ir.nodes import Var
from semac.ir.types import PLAIN_KEYS, only
from semac.ir.unit import Unit
from semac.passes.raw_lists import find_raw_lists

READERS = frozenset(("get", "contains?", "count", "length", "map/count"))


def find_owned_maps(unit: Unit) -> None:
    """Marks the owned variables of a unit (`Var.owned`), what makes raw dicts for them (`unit.raw`), and puts a Box
    where a map leaves its owner."""
    nodes = list(ir.walk(unit.tree))
    find_raw_lists(nodes)
    if not any(type(node) is ir.CallBuiltin and node.name == "assoc" for node in nodes):
        return
    candidates = Candidates(nodes)
    candidates.settle()
    candidates.apply(unit)


class Place:
    """Where a node stands: an attribute of an object, or an item of a list."""

    __slots__ = ("holder", "key")

    def __init__(self, holder: Any, key: str | int) -> None:
        self.holder = holder
        self.key = key

    @property
    def node(self) -> Any:
        return getattr(self.holder, self.key) if isinstance(self.key, str) else self.holder[self.key]

    def put(self, node: Any) -> None:
        if isinstance(self.key, str):
            setattr(self.holder, self.key, node)
        else:
            self.holder[self.key] = node


class Binding:
    """The value of one variable in a `let`, as a place."""

    __slots__ = ("index", "let")

    def __init__(self, let: Any, index: int) -> None:
        self.let = let
        self.index = index

    @property
    def node(self) -> Any:
        return self.let.bindings[self.index][1]

    def put(self, node: Any) -> None:
        self.let.bindings[self.index] = (self.let.bindings[self.index][0], node)


class Scope:
    """Where a variable lives: the body of a loop or fold, or what follows its binding in a `let`."""

    __slots__ = ("after", "body")

    def __init__(self, body: Place, after: tuple[Any, int] | None = None) -> None:
        self.body = body
        self.after = after  # (let, index of the first later binding)


class Misused(Exception):
    """A variable is used in a way that its owner must not."""


class Candidates:
    """Optimistic search: start with every variable that could be owned, drop those for which something is wrong."""

    def __init__(self, nodes: list[Any]) -> None:
        self.kinds: dict[Var, str] = {}  # what is still believed: variable → "Map", "HashMap", or "" while that is open
        self.scopes: dict[Var, Scope] = {}
        self.sources: dict[Var, list[Any]] = {}  # variable → the expressions whose values it gets
        self.receivers: dict[Any, list[Var]] = {}  # the same, the other way round
        for node in nodes:
            self.collect(node)
        for var in self.scopes:
            if not var.assigned and not var.is_global:
                self.kinds[var] = ""

    def collect(self, node: Any) -> None:
        kind = type(node)
        if kind is ir.Let:
            for index, (var, value) in enumerate(node.bindings):
                self.source(var, value)
                self.scopes[var] = Scope(Place(node, "body"), (node, index + 1))
        elif kind is ir.NamedLet and node.is_loop:
            for var, init in zip(node.function.params, node.inits, strict=True):
                self.source(var, init)
                self.scopes[var] = Scope(Place(node.function, "body"))
        elif kind is ir.Call and type(node.recur) is ir.NamedLet:
            for var, arg in zip(node.recur.function.params, node.args, strict=True):
                self.source(var, arg)
        elif kind is ir.CallBuiltin and is_loop_fold(node):
            function = node.inlined
            accumulator = function.params[0]
            self.source(accumulator, node.args[1 if node.name == "foldl" else 2])
            for result in results(function.body):
                self.source(accumulator, result)
            self.scopes[accumulator] = Scope(Place(function, "body"))

    def source(self, var: Var, value: Any) -> None:
        self.sources.setdefault(var, []).append(value)
        self.receivers.setdefault(value, []).append(var)

    # Deciding

    def settle(self) -> None:
        """Drops variables until what is believed of the rest holds together."""
        changed = True
        while changed:
            changed = False
            for var in list(self.kinds):
                kind = self.kind_of_sources(self.sources[var])
                if kind is None or not self.is_handed_on(var):
                    del self.kinds[var]
                    changed = True
                elif kind and self.kinds[var] != kind:
                    self.kinds[var] = kind
                    changed = True
        self.kinds = {var: kind for var, kind in self.kinds.items() if kind}

    def kind_of_sources(self, sources: list[Any]) -> str | None:
        """The kind of map that all sources agree on; "" while none is known, None when one isn't owned."""
        kind = ""
        for value in sources:
            kind_of_value = self.owned_kind(value)
            if kind_of_value is None or (kind_of_value and kind and kind_of_value != kind):
                return None
            kind = kind or kind_of_value
        return kind

    def owned_kind(self, value: Any) -> str | None:
        """ "Map" or "HashMap" for an expression that yields a map nobody else has; None for others; "" if open."""
        kind = type(value)
        if kind is ir.MapLit:
            plain = all(type(key) is ir.Const and only(key.type, PLAIN_KEYS) for key in value.keys)
            return "Map" if plain else None
        if kind is ir.CallBuiltin:
            if value.name == "hashmap/new" and not value.args:
                return "HashMap"
            if is_owned_assoc(value) and is_handover(value, value.args[0].var):
                return self.kinds.get(value.args[0].var)
            return None
        return self.kinds.get(value.var) if kind is ir.Ref else None

    def is_handed_on(self, var: Var) -> bool:
        try:
            for place in self.ends(var):
                if not is_handover(place.node, var) and not self.may_leave(place.node, var):
                    return False
        except Misused:
            return False
        return True

    def ends(self, var: Var) -> Iterator[Any]:
        """The places at which a variable's life ends: the last expressions that use it otherwise than by reading.

        Raises Misused where it is used in another way before.
        """
        scope = self.scopes[var]
        if scope.after is None:
            return self.ends_in(scope.body, var)
        let, first = scope.after
        return self.ends_in_let(let, first, var)

    def ends_in(self, place: Any, var: Var) -> Iterator[Any]:
        node = place.node
        kind = type(node)
        if only_read(node, var):
            return
        if kind is ir.Let:
            yield from self.ends_in_let(node, 0, var)
        elif kind is ir.If:
            require(only_read(node.test, var))
            yield from self.ends_in(Place(node, "then"), var)
            yield from self.ends_in(Place(node, "otherwise"), var)
        elif kind is ir.Seq:
            require(all(only_read(item, var) for item in node.items[:-1]))
            yield from self.ends_in(Place(node.items, len(node.items) - 1), var)
        elif kind is ir.Bind:
            require(only_read(node.value, var))
            yield from self.ends_in(Place(node, "body"), var)
        elif kind is ir.NamedLet and node.is_loop:
            require(only_read(node.function.body, var))
            yield from self.ends_in_arguments(node.inits, var, mentions(node.function.body, var))
        elif kind is ir.Call and node.recur is not None:
            yield from self.ends_in_arguments(node.args, var, False)
        else:
            yield place

    def ends_in_let(self, let: Any, first: int, var: Var) -> Iterator[Any]:
        for index in range(first, len(let.bindings)):
            value = let.bindings[index][1]
            if only_read(value, var):
                continue
            later = [value for _, value in let.bindings[index + 1 :]]
            require(is_handover(value, var) and not any(mentions(node, var) for node in [*later, let.body]))
            yield Binding(let, index)
            return
        yield from self.ends_in(Place(let, "body"), var)

    def ends_in_arguments(self, args: list[Any], var: Var, used_later: bool) -> Iterator[Any]:
        """Where a variable is handed to a loop: in one argument, and not mentioned in what is evaluated after it."""
        taking = [index for index, arg in enumerate(args) if not only_read(arg, var)]
        for index in taking:
            later = args[index + 1 :]
            require(is_handover(args[index], var) and not used_later and not any(mentions(arg, var) for arg in later))
            yield Place(args, index)

    def may_leave(self, node: Any, var: Var) -> bool:
        """Whether var may be boxed before this last expression: it doesn't jump, and nothing in it keeps the dict."""
        for part in ir.walk(node):
            if type(part) is ir.Call and part.recur is not None:
                return False
            if type(part) in (ir.Lambda, ir.NamedLet) and mentions(part, var):
                return False
            if any(owner in self.kinds for owner in self.receivers.get(part, ())) and mentions(part, var):
                return False
        return True

    # Marking

    def apply(self, unit: Unit) -> None:
        for var, kind in self.kinds.items():
            var.owned = kind
        consumed = {value for var in self.kinds for value in self.sources[var]}
        unit.raw |= consumed
        for var in self.kinds:
            for place in list(self.ends(var)):
                self.end(place, var, consumed, unit)

    def end(self, place: Any, var: Var, consumed: set[Any], unit: Unit) -> None:
        """Boxes the map of a variable where its life ends, unless another owner takes the dict over."""
        node = place.node
        if is_handover(node, var):
            if node not in consumed:
                unit.raw.add(node)
                place.put(boxed(node, var))
            return
        given_away = Var(var.name, var.owner)
        given_away.type = var.type
        given_away.defined = 1
        if var.owner is not None:
            var.owner.locals.append(given_away)
        first = None
        for part in ir.walk(node):
            if type(part) is ir.Ref and part.var is var:
                part.var = given_away
                first = part
        assert first is not None
        source = ir.Ref(var, span=first.span)
        source.type = var.type
        leave = ir.Let([(given_away, boxed(source, var))], node, span=node.span)
        leave.type = node.type
        place.put(leave)


def boxed(node: Any, var: Var) -> Any:
    box = ir.Box(node, var.owned, span=node.span)
    box.type = node.type
    return box


def require(condition: bool) -> None:
    if not condition:
        raise Misused


def is_loop_fold(node: Any) -> bool:
    """Whether a call comes out as a loop over an accumulator: a fold over a lambda of two plain parameters."""
    if node.name not in ("foldl", "file/fold-lines") or node.inlined is None:
        return False
    head = node.args[0 if node.name == "foldl" else 1]
    return type(head) is ir.Lambda and not node.inlined.has_closures and not node.inlined.self_tail


def is_handover(node: Any, var: Var) -> bool:
    """`var` itself, or `(assoc var ...)` whose values only read it."""
    if type(node) is ir.Ref:
        return bool(node.var is var)
    return (
        type(node) is ir.CallBuiltin
        and is_owned_assoc(node)
        and node.args[0].var is var
        and all(only_read(arg, var) for arg in node.args[1:])
    )


def only_read(node: Any, var: Var) -> bool:
    """Whether node uses var in nothing but look-ups."""
    stack = [node]
    while stack:
        part = stack.pop()
        kind = type(part)
        if kind is ir.Ref and part.var is var:
            return False
        if kind is ir.Lambda or (kind is ir.NamedLet and not part.is_loop):
            if mentions(part.function.body, var):
                return False
        if is_read(part, var):
            stack += part.args[1:]
        else:
            stack += ir.children(part)
    return True


def is_read(node: Any, var: Var) -> bool:
    """A look-up in var: `(get var k)`, `(:k var)`, `(contains? var k)`, `(count var)`."""
    kind = type(node)
    if kind is ir.Runtime and node.path == KEYWORD_GET:
        return type(node.args[0]) is ir.Ref and node.args[0].var is var
    if kind is ir.CallBuiltin and node.name in READERS and node.args and type(node.args[0]) is ir.Ref:
        if node.args[0].var is not var:
            return False
        if node.name in ("get", "contains?"):
            most = 3 if node.name == "get" else 2
            return 2 <= len(node.args) <= most
        return len(node.args) == 1
    return False


def results(node: Any) -> list[Any]:
    """The expressions whose values a body may return."""
    values = []
    stack = [node]
    while stack:
        part = stack.pop()
        kind = type(part)
        if kind is ir.If:
            stack += [part.then, part.otherwise]
        elif kind in (ir.Let, ir.Bind):
            stack.append(part.body)
        elif kind is ir.Seq:
            stack.append(part.items[-1])
        elif kind is ir.NamedLet and part.is_loop:
            stack.append(part.function.body)
        elif kind is not ir.Throw and not (kind is ir.Call and part.recur is not None):
            values.append(part)
    return values


def mentions(node: Any, var: Var) -> bool:
    return any(type(part) in (ir.Ref, ir.Set) and part.var is var for part in ir.walk(node))
