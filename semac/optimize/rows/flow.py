"""How values flow between the places of a unit, operation by operation.

What isn't listed here shows its operands to others, and what it gives comes from there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sema_runtime.values.atoms import Keyword
from sema_runtime.values.lists import List
from semac.anf import nodes as anf
from semac.anf.nodes import Block, CallBuiltin, CallRuntime, Closure, Expr, Jump, Let, Lit, Op, Ref, Result
from semac.anf.pattern_nodes import AnyPattern, MapPattern, Pattern, SequencePattern, VarPattern
from semac.anf.walk import all_blocks, blocks, exit_operands, operands, params_of, pattern_vars
from semac.ir.intrinsics import KEYWORD_GET
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.calls import function_of
from semac.optimize.fields.carriers import is_keyword
from semac.optimize.loops.cursors import FIRSTS
from semac.optimize.rows.places import Place, found, inside, join, keys_of, part_of, spread_depth
from semac.optimize.tails import functions
from semac.types.signatures import ATOMS, Name, TypeExpr, signature_for
from semac.types.signatures import Union as UnionType

SAME = frozenset(
    ("append", "reverse", "cdr", "rest", "cddr", "cdddr", "list->vector", "vector->list")
)  # have the items
FEWER = frozenset(("take", "drop"))  # of the second argument
ASKS = frozenset(("nil?", "not", "null?", "empty?", "length", "count"))  # what a list answers as a tuple does
SELECTING = frozenset(("find", "sort-by", "group-by", "key-by"))  # comprehensions that give the items
ATOMIC = ATOMS | {"other"}


def is_atomic(expr: TypeExpr) -> bool:
    """Whether no value of a type holds others."""
    if type(expr) is UnionType:
        return all(map(is_atomic, expr.parts))
    return type(expr) is Name and expr.name in ATOMIC


def holds_atoms(expr: TypeExpr) -> bool:
    """Whether values of a type hold nothing but atoms."""
    if type(expr) is UnionType:
        return all(map(holds_atoms, expr.parts))
    return is_atomic(expr) or (type(expr) is Name and bool(expr.args) and all(map(holds_atoms, expr.args)))


class Flows:
    """The places of a unit."""

    def __init__(self, unit: Unit) -> None:
        self.places: dict[Any, Place] = {}  # of variables, and of the results of functions
        self.all: list[Place] = []
        self.is_closed = unit.is_sealed
        self.defined: set[Var] = set()  # globals
        self.read: set[Var] = set()
        for block in unit.blocks:
            self.block(block, None)
            for value in exit_operands(block.exit):
                self.show(value)
        for function in functions(unit):
            self.function(function)
        for var in self.defined - self.read:  # it is there for who looks at the program
            self.of(var).is_deep = True
        spread_depth(self.all)

    def new(self) -> Place:
        place = Place()
        self.all.append(place)
        return place

    def of(self, key: Any) -> Place:
        if key not in self.places:
            self.places[key] = self.new()
            if type(key) is Var and key.is_global and not self.is_closed and key.known_function is None:
                self.places[key].is_deep = True
        return found(self.places[key])

    def value(self, expr: Expr) -> Place:
        """The place of an operand."""
        if type(expr) is Ref:
            function = function_of(expr.var)
            if function is not None:
                self.open(function)
            self.read.add(expr.var)
            return self.of(expr.var)
        place = self.new()
        if type(expr) is Lit and type(expr.value) is List:
            place.is_seen = True
            place.is_deep = bool(expr.value.items)
        elif type(expr) is not Lit or type(expr.value) is tuple or hasattr(expr.value, "pairs"):
            place.is_deep = True
        return place

    def show(self, expr: Expr) -> None:
        """Whoever gets a value may see all of it."""
        self.value(expr).is_deep = True

    def listed(self, expr: Expr) -> Place:
        """The items of a list that an operation takes apart as such."""
        place = self.value(expr)
        place.is_seen = True
        return inside(place)

    def open(self, function: Function) -> None:
        """A function that is a value is called by anybody."""
        for var in [*function.params, *([function.rest] if function.rest is not None else [])]:
            self.of(var).is_deep = True
        self.of(function).is_deep = True

    # Functions and blocks

    def made(self, function: Function, var: Var | None) -> None:
        """A closure, which is seen where it is used; at once where its variable doesn't tell what it holds."""
        if var is None or function_of(var) is not function:
            self.open(function)

    def function(self, function: Function) -> None:
        self.block(function.code, self.of(function))
        if function.rest is not None:
            self.of(function.rest).is_deep = True
        if not self.is_closed and (function.var is None or function.var.is_global):
            self.open(function)

    def block(self, block: Block, result: Place | None) -> None:
        for instr in block.instrs:
            self.instruction(instr)
        exit_ = block.exit
        if type(exit_) is Result:
            if result is not None:
                join(result, self.value(exit_.value))
        elif type(exit_) is Jump:
            for param, arg in zip(params_of(exit_.target), exit_.args, strict=False):
                join(self.of(param), self.value(arg))

    def instruction(self, instr: Let) -> None:
        op = instr.op
        result = self.of(instr.var) if instr.var is not None else self.new()
        rule = RULES.get(type(op))
        if type(op) is CallBuiltin:
            self.builtin(instr, op, result)
        elif type(op) is Closure:
            self.made(op.function, instr.var)
        elif rule is not None:
            rule(self, op, result)
        else:
            self.unknown(op, result)

    def unknown(self, op: Op, result: Place) -> None:
        result.is_deep = True
        for value in operands(op):
            self.show(value)
        for inner in blocks(op):
            shown = self.new()
            shown.is_deep = True
            self.block(inner, shown)
            for each in all_blocks(inner, into_functions=False):
                for instr in each.instrs:
                    if instr.var is not None:
                        self.of(instr.var).is_deep = True

    # Builtins

    def builtin(self, instr: Let, op: CallBuiltin, result: Place) -> None:
        name, args = op.name, op.args
        if name == "list" and args:
            self.row(instr, args, result)
        elif name in FIRSTS and len(args) == 1:
            self.item(args[0], FIRSTS[name], result)
        elif name == "nth" and len(args) == 2:
            index = args[1].value if type(args[1]) is Lit else None
            self.value(args[1]).is_seen = True
            self.item(args[0], index if type(index) is int and index >= 0 else None, result)
        elif name == "last" and len(args) == 1:
            join(result, self.listed(args[0]))
        elif name in ASKS and len(args) == 1:
            self.value(args[0])
        elif name == "cons" and len(args) == 2:
            result.is_seen = True
            join(inside(result), self.value(args[0]))
            join(inside(result), self.listed(args[1]))
        elif name in SAME:
            result.is_seen = True
            for arg in args:
                join(inside(result), self.listed(arg))
        elif name in FEWER and len(args) == 2:
            result.is_seen = self.value(args[0]).is_seen = True
            join(inside(result), self.listed(args[1]))
        elif not self.on_map(instr, op, result):
            self.by_signature(op, result)

    def row(self, instr: Let, items: list[Expr], result: Place) -> None:
        result.sites.append(instr)
        result.sizes.add(len(items))
        for index, item in enumerate(items):
            join(part_of(result, index), self.value(item))

    def item(self, subject: Expr, index: int | None, result: Place) -> None:
        place = self.value(subject)
        if index is None:
            place.is_seen = True
            join(result, inside(place))
        else:
            place.most = max(place.most, index)
            join(result, part_of(place, index))

    def on_map(self, instr: Let, op: CallBuiltin, result: Place) -> bool:
        """The builtins on maps. Whether the call is one of these."""
        name, args = op.name, op.args
        if name == "assoc" and len(args) > 2 and len(args) % 2:
            join(result, self.value(args[0]))
            self.put(result, args[1:])
        elif name == "dissoc" and len(args) > 1:
            join(result, self.value(args[0]))
            found(result).is_seen = True
            for key in args[1:]:
                self.show(key)
        elif name == "get" and len(args) in (2, 3):
            self.look_up(self.value(args[0]), args[1], result)
            if len(args) == 3:
                join(result, self.value(args[2]))
        elif name == "contains?" and len(args) == 2:
            self.value(args[0]).is_seen = True
            self.show(args[1])
        elif name in ("vals", "keys") and len(args) == 1:
            place = self.value(args[0])
            result.is_seen = place.is_seen = True
            join(inside(result), inside(place) if name == "vals" else keys_of(place))
        elif name == "map/entries" and len(args) == 1:
            place = self.value(args[0])
            result.is_seen = place.is_seen = True
            entry = inside(result)
            entry.sites.append(instr)
            entry.sizes.add(2)
            join(part_of(entry, 0), keys_of(place))
            join(part_of(entry, 1), inside(place))
        else:
            return False
        return True

    def put(self, place: Place, items: list[Expr]) -> None:
        """Entries, as keys and values in turn."""
        found(place).is_seen = True
        for key, value in zip(items[0::2], items[1::2], strict=True):
            if is_keyword(key):
                join(part_of(place, key.value), self.value(value))  # type: ignore[union-attr]
            else:
                self.show(key)
                join(keys_of(place), self.value(key))
                join(inside(place), self.value(value))

    def look_up(self, place: Place, key: Expr, result: Place) -> None:
        place.is_seen = True
        if is_keyword(key):
            join(result, part_of(place, key.value))  # type: ignore[union-attr]
        else:
            self.show(key)
            join(result, inside(place))

    def by_signature(self, op: CallBuiltin, result: Place) -> None:
        """Atoms are taken and given as such; everything else is seen."""
        signature = signature_for(op.name, len(op.args))
        if signature is None:
            self.unknown(op, result)
            return
        for index, arg in enumerate(op.args):
            if is_atomic(signature.param(index).type):
                self.value(arg).is_seen = True
            else:
                self.show(arg)
        if not holds_atoms(signature.result):
            result.is_deep = True

    # Patterns

    def bind(self, pattern: Pattern, place: Place) -> None:
        if type(pattern) is VarPattern:
            join(self.of(pattern.var), place)
        elif type(pattern) is SequencePattern and pattern.rest is None:
            found(place).sizes.add(len(pattern.parts))
            for index, part in enumerate(pattern.parts):
                self.bind(part, part_of(place, index))
        elif type(pattern) is MapPattern:
            found(place).is_seen = True
            for key, part, _ in pattern.entries:
                self.bind(part, part_of(place, key) if type(key) is Keyword else inside(place))
        elif type(pattern) is not AnyPattern:
            found(place).is_deep = True
            for var in pattern_vars(pattern):
                self.of(var).is_deep = True


def held_function(value: Expr) -> Function | None:
    return function_of(value.var) if type(value) is Ref else None


Rule = Callable[[Flows, Any, Place], None]


def move(flows: Flows, op: Any, result: Place) -> None:
    join(result, flows.value(op.value))


def read(flows: Flows, op: anf.Read, result: Place) -> None:
    function = op.var.known_function
    if function is not None:
        flows.open(function)
    flows.read.add(op.var)
    join(result, flows.of(op.var))


def assign(flows: Flows, op: anf.Assign, result: Place) -> None:
    if op.define and held_function(op.value) is op.var.known_function is not None:
        return  # the variable is the function's name
    if op.var.is_global:
        flows.defined.add(op.var)
    join(flows.of(op.var), flows.value(op.value))
    join(result, flows.of(op.var))


def nothing(flows: Flows, op: Op, result: Place) -> None:
    """A declaration."""


def call(flows: Flows, op: anf.Call, result: Place) -> None:
    function = held_function(op.head)
    if function is None or function.rest is not None or len(function.params) != len(op.args):
        flows.unknown(op, result)
        return
    for param, arg in zip(function.params, op.args, strict=True):
        join(flows.of(param), flows.value(arg))
    join(result, flows.of(function))


def call_runtime(flows: Flows, op: CallRuntime, result: Place) -> None:
    if op.path == KEYWORD_GET:
        flows.look_up(flows.value(op.args[0]), op.args[1], result)
    else:
        flows.unknown(op, result)


def make_vector(flows: Flows, op: anf.MakeVector, result: Place) -> None:
    result.sizes.add(len(op.items))
    for index, item in enumerate(op.items):
        join(part_of(result, index), flows.value(item))


def make_map(flows: Flows, op: anf.MakeMap, result: Place) -> None:
    flows.put(result, op.items)


def branches(flows: Flows, op: anf.If, result: Place) -> None:
    flows.value(op.test)
    flows.block(op.then, result)
    flows.block(op.otherwise, result)


def logic(flows: Flows, op: anf.Logic, result: Place) -> None:
    join(result, flows.value(op.first))
    flows.block(op.rest, result)


def loop(flows: Flows, op: anf.Loop, result: Place) -> None:
    for param, init in zip(op.params, op.inits, strict=True):
        join(flows.of(param), flows.value(init))
    flows.block(op.body, result)


def while_(flows: Flows, op: anf.While, result: Place) -> None:
    flows.block(op.test, flows.new())
    flows.block(op.body, flows.new())


def destructure(flows: Flows, op: anf.Destructure, result: Place) -> None:
    flows.bind(op.pattern, flows.value(op.value))
    join(result, flows.value(op.value))


def match(flows: Flows, op: anf.Match, result: Place) -> None:
    flows.show(op.subject)
    for clause in op.clauses:
        for var in pattern_vars(clause.pattern):
            flows.of(var).is_deep = True
        if clause.guard is not None:
            flows.block(clause.guard, flows.new())
        flows.block(clause.body, result)


def try_(flows: Flows, op: anf.Try, result: Place) -> None:
    flows.of(op.var).is_deep = True
    flows.block(op.body, result)
    flows.block(op.handler, result)


def item_of(flows: Flows, op: Any) -> Place:
    """The place of what an iteration goes through."""
    sources = [flows.value(source) for source in op.sources]
    item = flows.new()
    if op.how in ("items", "reversed", "rest"):
        join(item, inside(sources[0]))
    elif op.how == "indexed":
        join(part_of(item, 1), inside(sources[0]))
        item.sizes.add(2)
    elif op.how == "zip":
        item.sizes.add(len(sources))
        for index, source in enumerate(sources):
            join(part_of(item, index), inside(source))
    elif op.how == "pairs":
        item.sizes.add(2)
        sources[0].is_seen = True
        join(part_of(item, 0), keys_of(sources[0]))
        join(part_of(item, 1), inside(sources[0]))
    else:
        for source in sources:
            source.is_deep = True
        found(item).is_deep = op.how not in ("lines", "range", "times", "text")
    return found(item)


def for_(flows: Flows, op: anf.For, result: Place) -> None:
    item = item_of(flows, op)
    flows.bind(op.target, item)
    for param, init in zip(op.params, op.inits, strict=False):
        join(flows.of(param), flows.value(init))
    if op.how == "rest":
        for param in op.params:
            join(flows.of(param), item)
    flows.block(op.body, result)
    flows.block(op.after, result)


def comprehension(flows: Flows, op: anf.Comprehension, result: Place) -> None:
    item = item_of(flows, op)
    flows.bind(op.target, item)
    for stage in op.stages:
        staged = flows.new()
        flows.block(stage.block, staged)
        if stage.how != "if":
            found(staged).is_deep = True
        if stage.var is not None:
            join(flows.of(stage.var), staged)
    value = flows.new()
    flows.block(op.body, value)
    if op.kind == "list":
        found(result).is_seen = True
        join(inside(result), value)
    elif op.kind not in ("any", "every") or op.stages:
        found(value).is_deep = True
    if op.kind in SELECTING and op.stages:
        found(result).is_deep = found(item).is_deep = True
    elif op.kind == "find":
        join(result, item)
    elif op.kind == "sort-by":
        found(result).is_seen = True
        join(inside(result), item)
    elif op.kind == "group-by":
        found(result).is_seen = True
        inside(result).is_seen = True
        join(inside(inside(result)), item)
        join(keys_of(result), value)
    elif op.kind == "key-by":
        found(result).is_seen = True
        join(inside(result), item)
        join(keys_of(result), value)


RULES: dict[type, Rule] = {
    anf.Move: move, anf.Read: read, anf.Assign: assign, anf.Declare: nothing, anf.Call: call,
    CallRuntime: call_runtime, anf.MakeVector: make_vector, anf.MakeMap: make_map, anf.If: branches, anf.Logic: logic,
    anf.Loop: loop, anf.While: while_, anf.Destructure: destructure, anf.Match: match, anf.Try: try_, anf.For: for_,
    anf.Comprehension: comprehension,
}  # fmt: skip
