"""Ownership: maps that are built up by one variable and can be a plain dict that is changed in place.

    (foldl (fn (counts word) (assoc counts word ...)) (hashmap/new) words)     →     counts[word] = ...

A variable owns its map when every value it gets is freshly made (a map literal, `(hashmap/new)`, `assoc` on an owned
variable that is dead afterwards, a function that returns an owned map), and when on every way through its scope it is
first only read and then at most once handed on: changed by `assoc` in result position, returned, or passed to the next
round. Such a variable is a raw dict of stored keys (`Var.owned`); where it leaves for other code, a Map wraps it.

Parameters and results of functions can be owned too, when all callers are known (closed programs).
"""

from __future__ import annotations

from typing import Any

from semac import ir
from semac.analyze import Unit
from semac.ir import Function, NamedLet, Var
from semac.tails import inlined_function
from semac.types import CHAR, INT, KEYWORD, NIL, STR, SYMBOL, only

PLAIN_KEYS = INT | STR | KEYWORD | SYMBOL | CHAR | NIL
READERS = frozenset(("get", "contains?", "count", "length", "map/count"))
KEYWORD_GET = "sema_runtime.values.lookup:keyword_get"


class Facts:
    """What is still believed: candidates that own their maps, functions that return owned ones, and of which kind."""

    def __init__(self) -> None:
        self.vars: dict[Var, str] = {}  # variable → "Map" or "HashMap"
        self.returns: dict[Function, str] = {}


def find(unit: Unit, closed: bool) -> None:
    """Marks the owned variables and functions of a unit (`Var.owned`, `Function.owned`)."""
    candidates = Candidates(unit, closed)
    find_raw_lists(candidates.nodes)
    if not any(type(node) is ir.CallBuiltin and node.name == "assoc" for node in candidates.nodes):
        return
    facts = candidates.settle()
    for var, kind in facts.vars.items():
        var.owned = kind
        unit.raw.update(value for value in candidates.sources[var] if type(value) is not Result)
        for scope in candidates.scopes[var]:
            candidates.handed_on(scope, var)
    for leaf, variables in candidates.leaving.items():
        found = [var for var in variables if var.owned]
        if found:
            unit.leaving[leaf] = list(dict.fromkeys(found))
            unit.wrapped.update(here for here in ir.walk(leaf) if type(here) is ir.Ref and here.var in found)
    for function, kind in facts.returns.items():
        function.owned = kind
        unit.raw.update(results(function.body))


def find_raw_lists(nodes: list[Any]) -> None:
    """Marks variables that hold the pieces of a split string and are only looked at piece by piece."""
    pieces = {
        var: value
        for node in nodes
        if type(node) is ir.Let
        for var, value in node.bindings
        if is_plain_split(value) and not var.assigned and not var.captured
    }
    if not pieces:
        return
    looked: set[Any] = set()
    for node in nodes:
        if is_piece_access(node):
            looked.add(node.args[0])
    for node in nodes:
        if type(node) is ir.Ref and node.var in pieces and node not in looked:
            pieces.pop(node.var, None)
    for var in pieces:
        var.raw_list = True


def is_plain_split(node: Any) -> bool:
    """`(string/split text "x")` of a string with a separator that isn't empty: Python's own split."""
    if type(node) is not ir.CallBuiltin or node.name != "string/split" or len(node.args) != 2:
        return False
    text, separator = node.args
    return (
        only(text.type, STR) and type(separator) is ir.Const and type(separator.value) is str and separator.value != ""
    )


def is_piece_access(node: Any) -> bool:
    """`(first v)`, `(length v)`, `(nth v 2)`."""
    if type(node) is not ir.CallBuiltin or not node.args or type(node.args[0]) is not ir.Ref:
        return False
    if node.name in ("first", "car", "length", "count"):
        return len(node.args) == 1
    return (
        node.name == "nth" and len(node.args) == 2 and type(node.args[1]) is ir.Const and is_index(node.args[1].value)
    )


def is_index(value: Any) -> bool:
    return type(value) is int and value >= 0


class Candidates:
    """Optimistic search: start with every variable that could be owned, drop those for which something is wrong."""

    def __init__(self, unit: Unit, closed: bool) -> None:
        self.unit = unit
        self.closed = closed
        self.nodes = list(ir.walk(unit.tree))
        self.facts = Facts()
        self.scopes: dict[Var, list[Any]] = {}  # variable → the expressions in which it lives
        self.sources: dict[Var, list[Any]] = {}  # variable → the expressions whose values it gets
        self.receivers: dict[Any, list[Var]] = {}  # the same, the other way round
        self.callers: dict[Function, list[Any]] = {}
        self.leaving: dict[Any, list[Var]] = {}  # last expressions before which variables are wrapped in a Map
        self.collect()

    def collect(self) -> None:
        for node in self.nodes:
            kind = type(node)
            if kind is ir.Let:
                for index, (var, value) in enumerate(node.bindings):
                    self.source(var, value)
                    self.scopes[var] = [LetRest(node, index)]
            elif kind is ir.NamedLet and node.is_loop:
                for var, init in zip(node.function.params, node.inits, strict=True):
                    self.source(var, init)
                    self.scopes[var] = [node.function.body]
            elif kind is ir.Call:
                self.collect_call(node)
            elif kind is ir.CallBuiltin:
                self.collect_fold(node)
        for function in self.unit.functions:
            var = function.var
            if (
                var is not None
                and var.known_function is function
                and not var.escapes
                and self.closed
                and not function.rest
            ):
                for param in function.params:
                    self.scopes.setdefault(param, [function.body])

    def collect_call(self, node: Any) -> None:
        target = node.recur
        if type(target) is NamedLet:
            target = target.function
        elif target is None and type(node.head) is ir.Ref:
            target = node.head.var.known_function
        if target is None:
            return
        self.callers.setdefault(target, []).append(node)
        for var, arg in zip(target.params, node.args, strict=False):
            self.source(var, arg)

    def collect_fold(self, node: Any) -> None:
        function = inlined_function(node)
        if function is None or node.name not in ("foldl", "file/fold-lines"):
            return
        start = node.args[1] if node.name == "foldl" else node.args[2]
        accumulator = function.params[0]
        self.source(accumulator, start)
        self.source(accumulator, Result(function))
        self.callers.setdefault(function, []).append(node)
        self.scopes[accumulator] = [function.body]

    def source(self, var: Var, value: Any) -> None:
        self.sources.setdefault(var, []).append(value)
        self.receivers.setdefault(value, []).append(var)

    # Deciding

    def settle(self) -> Facts:
        facts = self.facts
        for var in self.scopes:
            if not var.assigned and var in self.sources:
                facts.vars[var] = ""
        for function in self.unit.functions:
            if function.var is None or function.var.loop is None:  # a named let is no call: its result is wrapped
                facts.returns[function] = ""
        changed = True
        while changed:
            changed = False
            for var in list(facts.vars):
                kind = self.kind_of_sources(self.sources[var])
                if kind is None or not all(self.handed_on(scope, var) for scope in self.scopes[var]):
                    del facts.vars[var]
                    changed = True
                elif kind and facts.vars[var] != kind:
                    facts.vars[var] = kind
                    changed = True
            for function in list(facts.returns):
                found = self.result_kind(function.body, function)
                known = (
                    function.var is not None and function.var.known_function is function and not function.var.escapes
                )
                fold = any(type(node) is ir.CallBuiltin for node in self.callers.get(function, ()))
                if found is None or not ((known and self.closed) or (fold and function.var is None)):
                    del facts.returns[function]
                    changed = True
                elif found and facts.returns[function] != found:
                    facts.returns[function] = found
                    changed = True
        facts.vars = {var: kind for var, kind in facts.vars.items() if kind}
        facts.returns = {function: kind for function, kind in facts.returns.items() if kind}
        return facts

    def kind_of_sources(self, sources: list[Any]) -> str | None:
        """The kind of map that all sources agree on; "" while none is known, None when one isn't owned."""
        kind = ""
        for value in sources:
            found = self.owned_kind(value)
            if found is None or (found and kind and found != kind):
                return None
            kind = kind or found
        return kind

    def owned_kind(self, value: Any) -> str | None:
        """ "Map" or "HashMap" for an expression that yields a map nobody else has; None for others; "" if open."""
        facts = self.facts
        kind = type(value)
        if kind is Result:
            return facts.returns.get(value.function)
        if kind is ir.MapLit:
            plain = all(type(key) is ir.Const and only(key.type, PLAIN_KEYS) for key in value.keys)
            return "Map" if plain else None
        if kind is ir.CallBuiltin:
            if value.name == "hashmap/new" and not value.args:
                return "HashMap"
            if is_owned_assoc(value) and self.is_handover(value, value.args[0].var):
                return facts.vars.get(value.args[0].var)
            return None
        if kind is ir.Ref:
            return facts.vars.get(value.var)
        if kind is ir.Call and value.recur is None and type(value.head) is ir.Ref:
            target = value.head.var.known_function
            return facts.returns.get(target) if target is not None else None
        return None

    def result_kind(self, node: Any, function: Function) -> str | None:
        """The kind of map that a body returns as its owner, on all ways that return at all."""
        kinds: set[str] = set()
        for here in results(node):
            found = self.owned_kind(here)
            if found is None:
                return None
            if found:
                kinds.add(found)
        return kinds.pop() if len(kinds) == 1 else "" if not kinds else None

    def handed_on(self, node: Any, var: Var) -> bool:
        """Whether var is only read on every way through node until it is handed on at most once, at its end."""
        kind = type(node)
        if kind is LetRest:
            return self.handed_on_in_let(node.let.bindings[node.index + 1 :], node.let.body, var)
        if kind is ir.Let:
            return self.handed_on_in_let(node.bindings, node.body, var)
        if kind is ir.If:
            return (
                self.only_read(node.test, var)
                and self.handed_on(node.then, var)
                and self.handed_on(node.otherwise, var)
            )
        if kind is ir.Seq:
            return all(self.only_read(item, var) for item in node.items[:-1]) and self.handed_on(node.items[-1], var)
        if kind is ir.Bind:
            return self.only_read(node.value, var) and self.handed_on(node.body, var)
        if kind is ir.NamedLet and node.is_loop:
            mentioned = mentions(node.function.body, var)
            if not mentioned:
                handed = [init for init in node.inits if not self.only_read(init, var)]
                return len(handed) == 0 or (len(handed) == 1 and self.is_handover(handed[0], var))
            return all(self.only_read(init, var) for init in node.inits) and self.only_read(node.function.body, var)
        if self.is_handover(node, var):
            return True
        if kind is ir.Call:
            return self.call_hands_on(node, var)
        if self.only_read(node, var):
            return True
        if has_loop_jump(node) or not self.may_leave(node, var):
            return False
        self.leaving.setdefault(node, []).append(var)
        return True

    def handed_on_in_let(self, bindings: list[Any], body: Any, var: Var) -> bool:
        for index, (_, value) in enumerate(bindings):
            if self.only_read(value, var):
                continue
            later = [one for _, one in bindings[index + 1 :]] + [body]
            taken = self.is_handover(value, var) and bindings[index][0] in self.facts.vars
            return taken and not any(mentions(one, var) for one in later)
        return self.handed_on(body, var)

    def is_handover(self, node: Any, var: Var) -> bool:
        """`var` itself, `(assoc var ...)` whose values only read it, or a known call that takes it over."""
        if type(node) is ir.Ref:
            return bool(node.var is var)
        if type(node) is ir.CallBuiltin and is_owned_assoc(node) and node.args[0].var is var:
            return all(self.only_read(arg, var) for arg in node.args[1:])
        return (
            type(node) is ir.Call
            and node.recur is None
            and self.call_hands_on(node, var)
            and self.owned_kind(node) is not None
        )

    def call_hands_on(self, node: Any, var: Var) -> bool:
        """A call or jump that takes var over in one argument, owned on the other side, and reads it elsewhere."""
        target = node.recur.function if type(node.recur) is NamedLet else node.recur
        if target is None and type(node.head) is ir.Ref:
            target = node.head.var.known_function
        taken = 0
        for index, arg in enumerate(node.args):
            if self.only_read(arg, var):
                continue
            owner = target.params[index] if target is not None and index < len(target.params) else None
            if owner is None or owner not in self.facts.vars or not self.is_handover(arg, var):
                return False
            if any(mentions(later, var) for later in node.args[index + 1 :]):
                return False
            taken += 1
        return taken <= 1 and self.only_read(node.head, var)

    def only_read(self, node: Any, var: Var) -> bool:
        """Whether node uses var in nothing but look-ups."""
        stack = [node]
        while stack:
            here = stack.pop()
            kind = type(here)
            if kind is ir.Ref and here.var is var:
                return False
            if kind is ir.Lambda or (kind is ir.NamedLet and not here.is_loop):
                if mentions(here.function.body, var):
                    return False
            if is_read(here, var):
                stack += here.args[1:]
            else:
                stack += ir.children(here)
        return True

    def may_leave(self, node: Any, var: Var) -> bool:
        """Whether var may be wrapped in a Map for this last expression: no other owner takes the dict or keeps it."""
        for here in ir.walk(node):
            if type(here) in (ir.Lambda, ir.NamedLet) and mentions(here, var):
                return False
            if any(owner in self.facts.vars for owner in self.receivers.get(here, ())) and mentions(here, var):
                return False
        return True


class LetRest:
    """What follows the binding of one variable in a Let: the later bindings and the body."""

    __slots__ = ("index", "let")

    def __init__(self, let: Any, index: int) -> None:
        self.let = let
        self.index = index


class Result:
    """The result of a function, as a source of a fold's accumulator."""

    __slots__ = ("function",)

    def __init__(self, function: Function) -> None:
        self.function = function


def is_owned_assoc(node: Any) -> bool:
    """`(assoc variable key value ...)`."""
    args = node.args
    return node.name == "assoc" and len(args) >= 3 and len(args) % 2 == 1 and type(args[0]) is ir.Ref


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
    found = []
    stack = [node]
    while stack:
        here = stack.pop()
        kind = type(here)
        if kind is ir.If:
            stack += [here.then, here.otherwise]
        elif kind in (ir.Let, ir.Bind):
            stack.append(here.body)
        elif kind is ir.Seq:
            stack.append(here.items[-1])
        elif kind is ir.NamedLet and here.is_loop:
            stack.append(here.function.body)
        elif kind is not ir.Throw and not (kind is ir.Call and here.recur is not None):
            found.append(here)
    return found


def mentions(node: Any, var: Var) -> bool:
    return any(type(here) in (ir.Ref, ir.Set) and here.var is var for here in ir.walk(node))


def has_loop_jump(node: Any) -> bool:
    return any(type(here) is ir.Call and here.recur is not None for here in ir.walk(node))
