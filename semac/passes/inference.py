"""Type inference: what each variable can hold, over the whole unit, until nothing changes.

Facts only grow, and a top-level form is visited again when a fact that it has read has grown. So a chain of functions
costs two visits for each, in whatever order they stand. Should the visits exceed a budget in proportion to the unit,
a fact that still grows becomes ANY, one variable at a time.

In a closed unit (a program: nobody else calls its functions) the parameters of a function that is only ever called by
name take the types of its call sites. In a module, and for functions that are passed around, parameters are ANY.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import Any

from sema_runtime.catalogue_index import INDEX
from sema_runtime.values.atoms import Char, Keyword, Symbol
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from semac.ir import nodes as ir
from semac.ir.facts import read_early
from semac.ir.intrinsics import KEYWORD_GET
from semac.ir.types import (
    ANY,
    ANY_ELEMENTS,
    BOOL,
    CHAR,
    ELEMENTS,
    FIRST_ROW,
    FLOAT,
    FUNCTION,
    INT,
    KEYWORD,
    LIST,
    MAP,
    MOST_ROWS,
    NIL,
    NUMBER,
    OTHER,
    OTHER_NUMBER,
    STR,
    SYMBOL,
    TAGS,
    VECTOR,
    VECTOR_TAG,
    element,
    only,
    parse,
    rows,
    sequence_of,
)  # fmt: skip
from semac.ir.unit import Unit
from semac.passes.builtin_types import BUILTIN_RULES, looked_up

Variables = set[ir.Var]
VISITS = 20  # for each top-level form, before facts that still grow become ANY
CONSTANT_TYPES: dict[type, int] = {
    int: INT, float: FLOAT, str: STR, bool: BOOL, type(None): NIL, Keyword: KEYWORD, Symbol: SYMBOL, Char: CHAR,
}  # fmt: skip


def infer_types(unit: Unit) -> None:
    """Fills in the types of a unit's nodes and variables."""
    Inference(unit, closed=unit.is_program and not unit.is_open).run()


def leave_types_open(unit: Unit) -> None:
    """Says of every variable that it may hold anything; the nodes of a fresh tree say so already."""
    variables = list(unit.globals.values())
    for function in [unit.main, *unit.functions]:
        variables += [*function.params, *function.locals]
        if function.rest is not None:
            variables.append(function.rest)
        function.returns = ANY
    for var in variables:
        var.type = ANY


class Inference:
    def __init__(self, unit: Unit, closed: bool) -> None:
        self.unit = unit
        self.closed = closed
        self.pending: dict[int, None] = {}  # top-level forms to visit, by position
        self.current = 0  # the one that is being visited
        self.readers: dict[Any, dict[int, None]] = {}  # variable, function or row → the forms that have read its fact
        self.is_widening = False
        self.noted: Variables = set()  # parameters of lambdas whose caller is known
        self.started: set[Any] = set()
        self.rows: dict[Any, int] = {}  # vectors written out, numbered
        self.columns: list[list[int]] = []  # the types of their items
        self.limits: dict[ir.Var, int] = {}  # what a test around the current node says of a variable
        self.filled: Variables = set()  # variables whose lists are surely not empty at the current node
        for var in unit.globals.values():
            if (not closed and (var.assigned or var.known_function is None)) or (not var.defined and not var.assigned):
                var.type = ANY
        for function in unit.functions:
            self.open_parameters(function)

    def open_parameters(self, function: ir.Function) -> None:
        var = function.var
        known = var is not None and var.known_function is function and not var.escapes
        if known and var is not None and (self.closed or not var.is_global):
            pass
        elif not known or var is None or var.is_global:
            for param in function.params:
                param.type = ANY
        if function.rest is not None:
            function.rest.type = LIST | ANY_ELEMENTS

    def run(self) -> None:
        """Visits the top-level forms until no fact grows any more."""
        forms = self.unit.tree.items if type(self.unit.tree) is ir.TopLevel else [self.unit.tree]
        self.pending.update(dict.fromkeys(range(len(forms))))
        visits = 0
        while self.pending:
            self.current = next(iter(self.pending))
            del self.pending[self.current]
            self.visit(forms[self.current])
            visits += 1
            self.is_widening = visits > VISITS * (len(forms) + 1)

    def read(self, fact: Any) -> None:
        """Notes that the current form depends on what is known of a variable, function or row."""
        self.readers.setdefault(fact, {})[self.current] = None

    def grown(self, fact: Any, known: int, mask: int) -> int:
        """What is known of a fact after a value of type mask reached it; if it has grown, its readers come again."""
        if not mask & ~known:
            return known
        self.pending.update(self.readers.get(fact, ()))
        return ANY if self.is_widening else known | mask

    def widen(self, var: ir.Var, mask: int) -> None:
        var.type = self.grown(var, var.type, mask)

    def visit(self, node: Any) -> int:
        """Computes and stores the type of a node and of everything below it."""
        rule = RULES.get(type(node))
        if rule is not None:
            mask = rule(self, node)
        else:
            for child in ir.children(node):
                self.visit(child)
            mask = ANY
        node.type = mask
        return int(mask)

    def function(self, function: ir.Function) -> int:
        """The type of what a function returns."""
        function.returns = self.grown(function, function.returns, self.visit(function.body))
        return function.returns

    def returned(self, function: ir.Function) -> int:
        """The type of what calls of a function give."""
        self.read(function)
        return function.returns

    # Rules

    def const(self, node: Any) -> int:
        return CONSTANT_TYPES.get(type(node.value), OTHER | OTHER_NUMBER)

    def quote(self, node: Any) -> int:
        return quoted_type(node.value)

    def ref(self, node: Any) -> int:
        var: ir.Var = node.var
        if var.known_function is not None:
            return FUNCTION
        self.read(var)
        limit = self.limits.get(var)
        if limit is not None and limit != TAGS:
            return int(var.type & (limit | ~TAGS))
        return int(var.type)

    def builtin(self, node: Any) -> int:
        return FUNCTION

    def set(self, node: Any) -> int:
        mask = self.visit(node.value)
        self.widen(node.var, mask)
        return NIL if node.define == "global" else mask

    def if_(self, node: Any) -> int:
        self.visit(node.test)
        var, then, otherwise = tested(node.test)
        filled = filled_by(node.test)
        with_then = self.after(filled[True], lambda: self.narrowed(var, then, node.then))
        return with_then | self.after(filled[False], lambda: self.narrowed(var, otherwise, node.otherwise))

    def after(self, filled: Variables, visit: Callable[[], int]) -> int:
        """Visits what is evaluated only where some lists turned out not to be empty."""
        before = self.filled
        self.filled = before | filled
        try:
            return visit()
        finally:
            self.filled = before

    def in_turn(self, items: list[Any], outcome: bool) -> list[int]:
        """The types of the items of an `and` or `or`: each is evaluated where those before it had the outcome."""
        masks = []
        filled: Variables = set()
        for item in items:
            masks.append(self.after(filled, lambda item=item: self.visit(item)))  # type: ignore[misc]
            filled = filled | filled_by(item)[outcome]
        return masks

    def narrowed(self, var: ir.Var | None, allowed: int, node: Any) -> int:
        """Visits a branch in which a variable surely has one of the allowed tags."""
        if var is None or allowed == TAGS or var.assigned or var.is_global:
            return self.visit(node)
        before = self.limits.get(var, TAGS)
        self.limits[var] = before & allowed
        try:
            return self.visit(node)
        finally:
            self.limits[var] = before

    def and_(self, node: Any) -> int:
        masks = self.in_turn(node.items, True)
        result = masks[-1]
        for mask in masks[:-1]:
            result |= mask & (NIL | BOOL)
        return result

    def or_(self, node: Any) -> int:
        masks = self.in_turn(node.items, False)
        result = masks[-1]
        for mask in masks[:-1]:
            result |= mask & ~NIL
        return result

    def seq(self, node: Any) -> int:
        mask = NIL
        for item in node.items:
            mask = self.visit(item)
        return mask

    def let(self, node: Any) -> int:
        for var, value in node.bindings:
            self.widen(var, self.visit(value))
        return self.visit(node.body)

    def define(self, node: Any) -> int:
        if node not in self.started:
            self.started.add(node)
            for var in read_early(node.vars, node.body):
                self.widen(var, NIL)
        return self.visit(node.body)

    def lambda_(self, node: Any) -> int:
        self.function(node.function)
        return FUNCTION

    def named_let(self, node: Any) -> int:
        function = node.function
        for var, init in zip(function.params, node.inits, strict=True):
            self.widen(var, self.visit(init))
        if node.var.escapes:
            for var in function.params:
                self.widen(var, ANY)
        return self.function(function)

    def while_(self, node: Any) -> int:
        self.visit(node.test)
        self.visit(node.body)
        return NIL

    def call(self, node: Any) -> int:
        masks = [self.visit(arg) for arg in node.args]
        head = node.head
        self.visit(head)
        if type(head) is ir.Ref:
            target = head.var.known_function
            if target is not None:
                for var, mask in zip(target.params, masks, strict=False):
                    self.widen(var, mask)
                if node.recur is not None:
                    return 0
                return self.returned(target)
        return ANY

    def call_builtin(self, node: Any) -> int:
        rule = BUILTIN_RULES.get(node.name)
        if rule is not None:
            return rule(self, node)
        for arg in node.args:
            self.visit(arg)
        return returns_of(node.name)

    def vector(self, node: Any) -> int:
        masks = [self.visit(item) for item in node.items]
        number = self.rows.setdefault(node, len(self.rows))
        if number == len(self.columns):
            self.columns.append([0] * len(masks))
        columns = self.columns[number]
        joined = 0
        for index, mask in enumerate(masks):
            joined |= mask
            columns[index] = self.grown(number, columns[index], mask)
        return sequence_of(VECTOR_TAG | 1 << FIRST_ROW + number if number < MOST_ROWS else VECTOR, joined)

    def row(self, mask: int) -> list[int] | None:
        """The types of the items of a vector, where it surely comes from vectors of one length written in this unit."""
        numbers = rows(mask) or ()
        for number in numbers:
            self.read(number)
        vectors = [self.columns[number] for number in numbers]
        if not vectors or any(len(columns) != len(vectors[0]) for columns in vectors):
            return None
        return [reduce(or_, masks) for masks in zip(*vectors, strict=True)]

    def map_lit(self, node: Any) -> int:
        for key in node.keys:
            self.visit(key)
        mask = 0
        for item in node.values:
            mask |= self.visit(item)
        return sequence_of(MAP, mask)

    def runtime(self, node: Any) -> int:
        masks = [self.visit(arg) for arg in node.args]
        if node.path == KEYWORD_GET:
            return looked_up(masks[0], NIL)
        return ANY

    def try_(self, node: Any) -> int:
        mask = self.visit(node.body)
        self.widen(node.var, MAP | ANY)
        return mask | self.visit(node.handler)

    def throw(self, node: Any) -> int:
        self.visit(node.value)
        return 0

    def match(self, node: Any) -> int:
        subject = self.visit(node.subject)
        mask = NIL if node.lenient else 0
        for pattern, guard, body in node.clauses:
            self.pattern(pattern, subject)
            if guard is not None:
                self.visit(guard)
            mask |= self.visit(body)
        return mask

    def bind(self, node: Any) -> int:
        mask = self.visit(node.value)
        pattern, value = node.pattern, node.value
        if (
            pattern[0] == "sequence"
            and type(value) in (ir.Vector, ir.CallBuiltin)
            and (type(value) is ir.Vector or value.name == "list")
        ):
            items = value.items if type(value) is ir.Vector else value.args
            for part, item in zip(pattern[1], items, strict=False):
                self.pattern(part, item.type)
            if pattern[2] is not None:
                self.pattern(pattern[2], sequence_of(LIST, mask >> ELEMENTS))
        elif pattern[0] == "map" and type(value) is ir.MapLit:
            known = {
                key.value: item.type
                for key, item in zip(value.keys, value.values, strict=True)
                if type(key) is ir.Const
            }
            for key, part, _ in pattern[1]:
                self.pattern(part, known.get(key, ANY))
        else:
            self.pattern(pattern, mask)
        return self.visit(node.body)

    def pattern(self, pattern: Any, mask: int) -> None:
        kind = pattern[0]
        if kind == "var":
            self.widen(pattern[1], mask)
        elif kind == "sequence":
            inner = element(mask) if only(mask, LIST | VECTOR) else ANY if mask & TAGS else 0
            row = self.row(mask)
            fits = row is not None and len(row) == len(pattern[1]) and pattern[2] is None
            self.unit.fitting[id(pattern)] = fits
            for part, item in zip(pattern[1], row if fits and row else [inner] * len(pattern[1]), strict=True):
                self.pattern(part, item)
            if pattern[2] is not None:
                self.pattern(pattern[2], sequence_of(LIST, inner))
        elif kind == "map":
            for _, part, _ in pattern[1]:
                self.pattern(part, ANY)

    def with_(self, node: Any) -> int:
        self.visit(node.context)
        if node.target is not None:
            self.widen(node.target, ANY)
        return self.visit(node.body)


def quoted_type(value: Any) -> int:
    kind = type(value)
    if kind is List or kind is tuple:
        mask = 0
        for item in value:
            mask |= quoted_type(item)
        return sequence_of(LIST if kind is List else VECTOR, mask)
    if kind is Map:
        mask = 0
        for _, item in value.pairs():
            mask |= quoted_type(item)
        return sequence_of(MAP, mask)
    return CONSTANT_TYPES.get(kind, OTHER | OTHER_NUMBER)


_returns: dict[str, int] = {}


def returns_of(name: str) -> int:
    """What the catalogue says a builtin returns."""
    mask = _returns.get(name)
    if mask is None:
        mask = _returns[name] = parse(INDEX[name][4])
    return mask


NARROWING = {
    "number?": NUMBER, "string?": STR, "keyword?": KEYWORD, "symbol?": SYMBOL, "list?": LIST, "vector?": VECTOR,
}  # fmt: skip


def tested(test: Any) -> tuple[ir.Var | None, int, int]:
    """(variable, tags it has where the test holds, tags it has where it doesn't) of a test of one variable."""
    if type(test) is ir.Ref:
        return test.var, TAGS & ~NIL, TAGS
    if type(test) is not ir.CallBuiltin or len(test.args) != 1:
        return None, TAGS, TAGS
    if test.name == "not":
        var, then, otherwise = tested(test.args[0])
        return var, otherwise, then
    if type(test.args[0]) is not ir.Ref:
        return None, TAGS, TAGS
    if test.name == "nil?":
        return test.args[0].var, NIL, TAGS & ~NIL
    return test.args[0].var, NARROWING.get(test.name, TAGS), TAGS


NOTHING: dict[bool, Variables] = {True: set(), False: set()}


def filled_by(test: Any) -> dict[bool, Variables]:
    """The variables whose lists have an item where a test holds (True), and where it doesn't (False).

    Lists never change, so that stays so for a variable that is never assigned.
    """
    if type(test) is not ir.CallBuiltin or len(test.args) != 1:
        return NOTHING
    if test.name == "not":
        inner = filled_by(test.args[0])
        return {True: inner[False], False: inner[True]}
    subject = test.args[0]
    if test.name not in ("null?", "empty?", "pair?") or type(subject) is not ir.Ref:
        return NOTHING
    if subject.var.assigned or subject.var.is_global:
        return NOTHING
    return {True: set(), False: {subject.var}} if test.name != "pair?" else {True: {subject.var}, False: set()}


RULES: dict[type, Callable[[Inference, Any], int]] = {
    ir.Const: Inference.const,
    ir.Quote: Inference.quote,
    ir.Ref: Inference.ref,
    ir.Builtin: Inference.builtin,
    ir.Set: Inference.set,
    ir.If: Inference.if_,
    ir.And: Inference.and_,
    ir.Or: Inference.or_,
    ir.Seq: Inference.seq,
    ir.TopLevel: Inference.seq,
    ir.Let: Inference.let,
    ir.Define: Inference.define,
    ir.Lambda: Inference.lambda_,
    ir.NamedLet: Inference.named_let,
    ir.While: Inference.while_,
    ir.Call: Inference.call,
    ir.CallBuiltin: Inference.call_builtin,
    ir.Vector: Inference.vector,
    ir.MapLit: Inference.map_lit,
    ir.Runtime: Inference.runtime,
    ir.Try: Inference.try_,
    ir.Throw: Inference.throw,
    ir.Match: Inference.match,
    ir.Bind: Inference.bind,
    ir.With: Inference.with_,
}
