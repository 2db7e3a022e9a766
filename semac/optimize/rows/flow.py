"""How values flow between the places of a unit, operation by operation.

What isn't listed here shows its operands to others, and what it gives comes from there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any

from sema_runtime.values.atoms import Char, Keyword, Symbol
from sema_runtime.values.lists import List
from semac.anf.nodes import Block, BuiltinRef, CallBuiltin, Closure, Expr, Jump, Let, Lit, Op, Ref, Result
from semac.anf.pattern_nodes import AnyPattern, LiteralPattern, MapPattern, Pattern, SequencePattern, VarPattern
from semac.anf.walk import all_blocks, blocks, exit_operands, operands, params_of, pattern_vars
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.calls import function_of
from semac.optimize.fields.carriers import is_keyword
from semac.optimize.loops.suffixes import FIRSTS
from semac.optimize.rows.places import (
    Place,
    Signature,
    call_place,
    found,
    hold_function,
    inside,
    join,
    keys_of,
    part_of,
    spread_depth,
    spread_exports,
)
from semac.optimize.tails import functions
from semac.types.signatures import ATOMS, Name, TypeExpr, signature_for
from semac.types.signatures import Union as UnionType

SAME = frozenset(
    ("append", "reverse", "cdr", "rest", "cddr", "cdddr", "list->vector", "vector->list")
)  # have the items
EQUALITY = frozenset(("=", "equal?", "eq?"))
FEWER = frozenset(("take", "drop"))  # of the second argument
ASKS = frozenset(("nil?", "not", "null?", "empty?", "length", "count"))  # what a list answers as a tuple does
PRINTING = frozenset(("println", "print", "display", "str"))  # show lists and maps as such, and give atoms
SELECTING = frozenset(("find", "sort-by", "group-by", "key-by"))  # comprehensions that give the items
MOST_ITEMS = 100  # of a literal list
TESTS = frozenset(("nil?", "not"))  # what a map answers as a tuple does
ATOM_CLASSES = frozenset((Keyword, Symbol, Char, str, int, float, bool, type(None)))
PLAIN = ATOM_CLASSES - {Keyword}  # a keyword may be called
ATOMIC = ATOMS | {"other"}


def names_fields(pattern: MapPattern) -> bool:
    """Whether a pattern only gives variables what is under keywords, as `{:keys [...]}` does."""
    entries = pattern.entries
    is_plain = all(type(key) is Keyword and type(part) is VarPattern and not must for key, part, must in entries)
    return is_plain and bool(entries)


@cache
def is_atomic(expr: TypeExpr) -> bool:
    """Whether no value of a type holds others."""
    if type(expr) is UnionType:
        return all(map(is_atomic, expr.parts))
    return type(expr) is Name and expr.name in ATOMIC


@cache
def holds_atoms(expr: TypeExpr) -> bool:
    """Whether values of a type hold nothing but atoms."""
    if type(expr) is UnionType:
        return all(map(holds_atoms, expr.parts))
    return is_atomic(expr) or (type(expr) is Name and bool(expr.args) and all(map(holds_atoms, expr.args)))


Rule = Callable[["Flows", Any, Place], None]


class Flows:
    """The places of a unit. private: functions that only the unit calls. exports: variables whose values others get as
    lists and maps. edges: operands that are shown as such: (instruction, index)."""

    def __init__(
        self,
        unit: Unit,
        rules: Mapping[type, Rule],
        private: Collection[Function] = (),
        exports: Collection[Var] = (),
    ) -> None:
        self.rules = rules
        self.private = private
        self.exports = exports
        self.edges: list[tuple[Let, int]] = []
        self.places: dict[Any, Place] = {}  # of variables, and of the results of functions
        self.literals: dict[int, tuple[Lit, Place]] = {}  # lists that are written out
        self.makes_any = False  # lists that aren't written out, or maps
        self.all: list[Place] = []
        self.atom = Place(is_atom=True)  # of all literals that hold nothing
        self.is_closed = unit.is_sealed
        self.defined: set[Var] = set()  # globals
        self.read: set[Var] = set()
        self.bound: set[Var] = set()  # those whose values come from here
        for block in unit.blocks:
            self.block(block, None)
            for value in exit_operands(block.exit):
                self.show(value)
        for function in functions(unit):
            self.function(function)
        for var in self.defined - self.read:  # it is there for who looks at the program
            self.of(var).is_deep |= not var.is_private
        for var in self.read - self.bound:  # from elsewhere: an import
            self.of(var).is_deep |= function_of(var) is None
        for var in exports:
            self.of(var).is_exported = True
        spread_exports(self.all)
        spread_depth(self.all)

    def new(self) -> Place:
        place = Place()
        self.all.append(place)
        return place

    def of(self, key: Any) -> Place:
        place = self.places.get(key)
        if place is None:
            place = self.places[key] = self.new()
            if type(key) is Var and key.is_global and not self.is_closed and key.known_function is None:
                place.is_deep = not key.is_private
        return place if place.forward is None else found(place)

    def value(self, expr: Expr) -> Place:
        """The place of an operand."""
        if type(expr) is Ref:
            var = expr.var
            self.read.add(var)
            if var.function is not None or type(var.op) is Closure:
                self.hold(var)
            return self.of(var)
        if type(expr) is Lit and type(expr.value) in PLAIN:
            return self.atom
        if type(expr) is Lit and type(expr.value) is List:
            return self.literal(expr)
        place = self.new()
        if type(expr) is not Lit or type(expr.value) is tuple or hasattr(expr.value, "pairs"):
            place.is_deep = True
        elif type(expr.value) is Keyword:
            place.is_called = True
        return place

    def literal(self, expr: Lit) -> Place:
        """The place of a list that is written out."""
        known = self.literals.get(id(expr))
        if known is None:
            place = self.new()
            self.hold_data(place, expr.value, expr)
            known = self.literals[id(expr)] = expr, place
        return found(known[1])

    def hold_data(self, place: Place, value: Any, site: Lit) -> None:
        """A place has a literal list with all that is inside."""
        items = value.items
        if not items or len(items) > MOST_ITEMS:
            place.hide_nothing()
            place.is_deep = bool(items)
            return
        place.is_open = True
        place.sites += (site,)
        place.sizes |= {len(items)}
        for index, item in enumerate(items):
            if type(item) is List:
                self.hold_data(part_of(place, index), item, site)
            elif type(item) is Keyword:
                part_of(place, index).is_called = True
            elif type(item) not in PLAIN:
                part_of(place, index).is_deep = True

    def show(self, expr: Expr) -> None:
        """Whoever gets a value may see all of it."""
        self.value(expr).is_deep = True

    def listed(self, expr: Expr) -> Place:
        """The items of a list that an operation takes apart as such."""
        place = self.value(expr)
        place.hide_nothing()
        return inside(place)

    def hold(self, var: Var) -> None:
        """The place of a variable has the function that it holds."""
        function = function_of(var)
        if function is not None:
            place = self.of(var)
            if function not in place.functions:
                hold_function(place, function, self.signature(function))

    def signature(self, function: Function) -> Signature:
        rest = self.of(function.rest) if function.rest is not None else None
        return Signature([self.of(param) for param in function.params], rest, self.of(function))

    def call(self, head: Place, args: list[Expr], result: Place) -> None:
        values = [self.value(arg) for arg in args]
        call_place(head, Signature([self.new() if each is self.atom else each for each in values], None, result))

    # Functions and blocks

    def made(self, function: Function, result: Place) -> None:
        """A closure: what gets its value may call it."""
        hold_function(result, function, self.signature(function))

    def function(self, function: Function) -> None:
        self.block(function.code, self.of(function))
        self.bound.update(function.params)
        if function.rest is not None:
            self.bound.add(function.rest)
            self.of(function.rest).hide_nothing()
        if self.is_closed or function in self.private:
            return
        if function.var is not None and function.var.is_global:  # anybody calls it
            for place in self.signature(function).places():
                found(place).is_deep = True

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
        if instr.var is not None:
            self.bound.add(instr.var)
        rule = self.rules.get(type(op))
        if type(op) is CallBuiltin:
            self.builtin(instr, op, result)
        elif type(op) is Closure:
            self.made(op.function, result)
        elif rule is not None:
            rule(self, op, result)
        else:
            self.unknown(op, result)

    def unknown(self, op: Op, result: Place) -> None:
        result.is_deep = True
        for value in operands(op):
            self.show(value)
        for var in getattr(op, "vars", ()):
            self.of(var).is_deep = True
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
        self.makes_any |= name in ("list", "map/entries")
        if name == "list" and args:
            self.row(instr, args, result)
        elif name in FIRSTS and len(args) == 1:
            self.item(args[0], FIRSTS[name], result)
        elif name == "nth" and len(args) == 2:
            index = args[1].value if type(args[1]) is Lit else None
            self.value(args[1]).hide_nothing()
            self.item(args[0], index if type(index) is int and index >= 0 else None, result)
        elif name == "last" and len(args) == 1:
            join(result, self.listed(args[0]))
        elif name in ASKS and len(args) == 1:
            self.value(args[0]).is_open |= name not in TESTS
        elif name == "cons" and len(args) == 2:
            result.hide_nothing()
            join(inside(result), self.value(args[0]))
            join(inside(result), self.listed(args[1]))
        elif name in SAME:
            result.hide_nothing()
            for arg in args:
                join(inside(result), self.listed(arg))
        elif name in FEWER and len(args) == 2:
            result.hide_nothing()
            self.value(args[0]).hide_nothing()
            join(inside(result), self.listed(args[1]))
        elif name == "apply" and len(args) == 2 and type(args[0]) is BuiltinRef and args[0].name == "append":
            result.hide_nothing()
            inside(self.value(args[1])).hide_nothing()
            join(inside(result), inside(self.listed(args[1])))
        elif name in EQUALITY and len(args) == 2:
            if not any(map(is_keyword, args)):
                self.compare(self.value(args[0]), self.value(args[1]))
        elif name == "sort" and len(args) == 2:
            result.hide_nothing()
            join(inside(result), self.listed(args[0]))
            item = inside(result)
            call_place(self.value(args[1]), Signature([item, item], None, self.new()))
        elif name in PRINTING:
            for index, arg in enumerate(args):
                self.value(arg).is_exported = True
                self.edges.append((instr, index))
        elif not self.on_map(instr, op, result):
            self.by_signature(op, result)

    def row(self, instr: Let, items: list[Expr], result: Place) -> None:
        result.is_open = True
        result.sites += (instr,)
        result.sizes |= {len(items)}
        for index, item in enumerate(items):
            join(part_of(result, index), self.value(item))

    def item(self, subject: Expr, index: int | None, result: Place) -> None:
        place = self.value(subject)
        place.is_open = True
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
            found(result).is_changed = True
            self.put(result, args[1:])
        elif name == "dissoc" and len(args) > 1:
            join(result, self.value(args[0]))
            found(result).hide_nothing()
            for key in args[1:]:
                self.key(result, key)
        elif name == "get" and len(args) in (2, 3):
            self.look_up(self.value(args[0]), args[1], result)
            if len(args) == 3:
                if is_keyword(args[1]):
                    self.value(args[0]).needs |= {args[1].value}  # type: ignore[union-attr]
                join(result, self.value(args[2]))
        elif name == "contains?" and len(args) == 2:
            self.value(args[0]).hide_nothing()
            self.key(self.value(args[0]), args[1])
        elif name in ("vals", "keys") and len(args) == 1:
            place = self.value(args[0])
            result.hide_nothing()
            place.hide_nothing()
            join(inside(result), inside(place) if name == "vals" else keys_of(place))
        elif name == "map/entries" and len(args) == 1:
            place = self.value(args[0])
            result.hide_nothing()
            place.hide_nothing()
            entry = inside(result)
            entry.is_open = True
            entry.sites += (instr,)
            entry.sizes |= {2}
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
                found(place).fields |= {key.value}  # type: ignore[union-attr]
                join(part_of(place, key.value), self.value(value))  # type: ignore[union-attr]
            else:
                found(place).is_open = True
                self.key(place, key)
                join(inside(place), self.value(value))

    def look_up(self, place: Place, key: Expr, result: Place) -> None:
        place.is_seen = True
        if is_keyword(key):
            place.is_read = True
            place.fields |= {key.value}  # type: ignore[union-attr]
            join(result, part_of(place, key.value))  # type: ignore[union-attr]
        else:
            place.is_open = True
            self.key(place, key)
            join(result, inside(place))

    def key(self, place: Place, key: Expr) -> None:
        """A key of a map, which is compared with the others."""
        keys = keys_of(place)
        keys.is_key = True
        join(keys, self.value(key))

    def compare(self, one: Place, other: Place) -> None:
        """Values that are compared with each other: lists in both are of one kind, and so is all inside."""
        if one is not self.atom and other is not self.atom:
            join(one, other)
            found(one).is_key = True

    def by_signature(self, op: CallBuiltin, result: Place) -> None:
        """Atoms are taken and given as such; everything else is seen."""
        signature = signature_for(op.name, len(op.args))
        if signature is None:
            self.unknown(op, result)
            return
        for index, arg in enumerate(op.args):
            type_ = signature.param(index).type
            if is_atomic(type_) and type_ != Name("other"):  # errors of what takes a channel, say, show other values
                self.value(arg).hide_nothing()
            else:
                self.show(arg)
        result.is_deep |= not holds_atoms(signature.result)
        self.given(result, signature.result)

    def given(self, place: Place, type_: TypeExpr) -> None:
        """A builtin gives a value of a type."""
        place.is_called = True
        if not is_atomic(type_):
            place.hide_nothing()
            place.is_mixed = True
            for part in type_.parts if type(type_) is UnionType else (type_,):
                for held in part.args if type(part) is Name else ():
                    self.given(inside(place), held)

    # Patterns

    def take_apart(self, pattern: Pattern, place: Place) -> None:
        """What stands as a `Destructure` of its own, in place of which look-ups can stand."""
        if type(pattern) is not MapPattern or not names_fields(pattern):
            self.bind(pattern, place)
            return
        for key, part, _ in pattern.entries:
            self.bound.add(part.var)  # type: ignore[attr-defined]
            self.look_up(found(place), Lit(key), self.of(part.var))  # type: ignore[attr-defined]

    def bind(self, pattern: Pattern, place: Place, is_asked: bool = False) -> None:
        """is_asked: whether the pattern tests the value, which may be anything."""
        if type(pattern) is VarPattern:
            self.bound.add(pattern.var)
            join(self.of(pattern.var), place)
        elif type(pattern) is SequencePattern and pattern.rest is None:
            found(place).is_open = True
            if not is_asked:
                found(place).asked |= {len(pattern.parts)}
            for index, part in enumerate(pattern.parts):
                self.bind(part, part_of(place, index), is_asked)
        elif type(pattern) is MapPattern:
            found(place).hide_nothing()
            for key, part, _ in pattern.entries:
                self.bind(part, part_of(place, key) if type(key) is Keyword else inside(place), is_asked)
        elif type(pattern) is LiteralPattern and type(pattern.value) in ATOM_CLASSES:
            pass
        elif type(pattern) is not AnyPattern:
            found(place).is_deep = True
            for var in pattern_vars(pattern):
                self.of(var).is_deep = True
