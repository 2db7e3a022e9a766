"""Functions that return maps of known keywords, or short lists, return the parts where every caller takes them apart.

    (define (spend b n) (if (< (:left b) n) {:status :refused} {:status :ok :left (- (:left b) n)}))

returns a tuple, `(status, left)`, and each call makes the map of it again, in a branch for each shape. Threading
(`threads.py`) and `split.py` then leave nothing of these maps where callers only read them. A shape is told from
others by a field that is a constant of its own in each, else by one more item of the tuple; fields that are the same
constant wherever a shape is made aren't in it. nil stays nil. A call whose value is the result of such a function,
too, hands the tuple on; so functions that call each other in turn agree on one layout.

Sound because every call of such a function is in the unit, by its name, with as many arguments as it has parameters:
nobody else sees what it returns. Where a caller shows the value to others, it is the map again, equal to what the
function made. A tail call stays one if its caller returns the same tuples; others forbid it. Maps have no identity.
Neither where a debugger is at work, nor in text for people.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from semac.anf.build import is_fixed
from semac.anf.literals import literal
from semac.anf.nodes import (
    Assign,
    Block,
    Call,
    CallBuiltin,
    Closure,
    Destructure,
    Expr,
    For,
    If,
    Let,
    Lit,
    Loop,
    MakeMap,
    MakeVector,
    Match,
    Op,
    Read,
    Ref,
    Result,
    SequencePattern,
    Throw,
    Try,
    VarPattern,
    With,
)
from semac.anf.walk import blocks, exit_operands, operands
from semac.fingerprint import is_traced
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.calls import function_of
from semac.optimize.fields.carriers import read_keys
from semac.optimize.fields.known import PLAIN, constant, is_row, parts_of, truth
from semac.optimize.fields.split import again, stops
from semac.optimize.fields.threads import Threader
from semac.optimize.loops.functions import temporary
from semac.optimize.own.code import Code, all_code

NESTED = (If, Match, Loop, For, Try, With)  # operations whose value is that of a block inside
RAISERS = frozenset(("error", "throw", "raise"))
MOST_SHAPES = 3
MOST_FIELDS = 8

Shape = tuple[str, tuple[Any, ...]]  # "map", "list" or "vector", and the keys


class End(NamedTuple):
    """A block whose result is that of its function. part: the function's code."""

    block: Block
    part: Code


class Site(NamedTuple):
    """A call, where it stands."""

    instr: Let
    block: Block
    part: Code


def return_parts(unit: Unit) -> None:
    """Rewrites the functions of a program."""
    if not unit.is_closed or unit.is_text or unit.is_input or unit.is_open or is_traced() or stops(unit):
        return
    Parts(all_code(unit)).run()


class Group:
    """Functions that return the same tuples. made: what each shape is made of, at each place that makes it. has_nil:
    whether some of them return nil, too."""

    def __init__(self) -> None:
        self.made: dict[Shape, list[dict[Any, Expr]]] = {}
        self.has_nil = False

    def add(self, other: Group) -> None:
        self.has_nil = self.has_nil or other.has_nil
        for shape, made in other.made.items():
            self.made.setdefault(shape, []).extend(made)

    def is_small(self) -> bool:
        return 0 < len(self.made) <= MOST_SHAPES and all(len(keys) <= MOST_FIELDS for _, keys in self.made)


class Parts:
    """Finds and rewrites the functions of one unit."""

    def __init__(self, code: list[Code]) -> None:
        self.code = code
        self.part_of = {part.function: part for part in code if part.function is not None}
        self.sites: dict[Function, list[Site]] = {}
        self.uses: dict[Var, list[tuple[Op | None, int]]] = {}  # (operation, position); None: the value of a block
        self.ends: dict[Function, list[End]] = {}
        self.maybe_nil: set[Function] = set()  # functions that end in conditionals without an else
        self.groups: dict[Function, Group] = {}
        self.raw: dict[Var, Var] = {}  # the variable of a call → that of the tuple

    def run(self) -> None:
        self.scan()
        functions = self.candidates()
        if not functions:
            return
        self.join(functions)
        functions = self.that_pay(functions)
        if not functions:
            return
        changed: dict[Code, set[Var]] = {}
        layouts = {
            id(group): Layout(group) for group in {id(g): g for g in map(self.groups.get, functions)}.values() if group
        }
        for function in functions:
            layout = layouts[id(self.groups[function])]
            for site in self.sites.get(function, []):
                self.rebuild(site, layout, changed)
        for function in functions:
            layout = layouts[id(self.groups[function])]
            for end in self.ends[function]:
                self.give(end, layout)
                changed.setdefault(end.part, set())
        for part, true in changed.items():
            Threader(Code(part.block, part.function), frozenset(true)).run()

    # What there is

    def scan(self) -> None:
        escaped: set[Function] = set()
        for part in self.code:
            for block in part.blocks:
                for instr in block.instrs:
                    self.scan_instr(instr, block, part, escaped)
                for value in exit_operands(block.exit):
                    self.note(value, None, 0, escaped)
        for function in escaped:
            self.sites.pop(function, None)

    def scan_instr(self, instr: Let, block: Block, part: Code, escaped: set[Function]) -> None:
        op = instr.op
        values = operands(op)
        if type(op) is Read and op.var.is_global and op.var.function is not None:
            escaped.add(op.var.function)
        if type(op) is Call and type(op.head) is Ref:
            function = function_of(op.head.var) if is_fixed(op.head.var) else None
            if function is not None and is_plain(function) and len(function.params) == len(op.args):
                self.sites.setdefault(function, []).append(Site(instr, block, part))
                values = values[1:]
        if type(op) is Assign and op.define and type(op.value) is Ref and type(op.value.var.op) is Closure:
            return  # the definition of a function
        for position, value in enumerate(values):
            self.note(value, op, position, escaped)

    def note(self, value: Expr, op: Op | None, position: int, escaped: set[Function]) -> None:
        if type(value) is Ref:
            self.uses.setdefault(value.var, []).append((op, position))
            function = function_of(value.var)
            if function is not None:
                escaped.add(function)

    # Which functions

    def candidates(self) -> set[Function]:
        """Functions that give nothing but known shapes, nil, and what such functions give."""
        found: set[Function] = set()
        for function in self.sites:
            part = self.part_of.get(function)
            if part is None:
                continue
            self.ends[function] = [End(block, part) for block in ends_of(part.block)]
            if may_fall_through(part.block):
                self.maybe_nil.add(function)
            if all(self.is_known(end) for end in self.ends[function]):
                found.add(function)
        while True:
            lost = {function for function in found if not self.stays(function, found)}
            if not lost:
                return found
            found -= lost

    def is_known(self, end: End) -> bool:
        value = end.block.exit.value  # type: ignore[union-attr]
        return shape_of(value) is not None or is_nil(value) or is_raised(value) or self.called(value) is not None

    def stays(self, function: Function, found: set[Function]) -> bool:
        given = {self.called(end.block.exit.value) for end in self.ends[function]} - {None}  # type: ignore[union-attr]
        if not given <= found:
            return False
        return all(
            not site.instr.op.tail or (site.part.function in found and self.given(site) > 0)  # type: ignore[attr-defined]
            for site in self.sites[function]
        )

    def called(self, value: Expr) -> Function | None:
        """The function whose result a value is, where that is called by its name."""
        op = value.var.op if type(value) is Ref and is_fixed(value.var) else None
        if type(op) is not Call or type(op.head) is not Ref or not is_fixed(op.head.var):
            return None
        function = function_of(op.head.var)
        return function if function in self.sites and len(function.params) == len(op.args) else None

    def given(self, site: Site) -> int:
        """How often the function around gives the value of a call on."""
        var, function = site.instr.var, site.part.function
        ends = self.ends.get(function, []) if function is not None else []
        values = [end.block.exit.value for end in ends]  # type: ignore[union-attr]
        return sum(type(value) is Ref and value.var is var for value in values)

    def join(self, functions: set[Function]) -> None:
        """Puts functions that give each other's results into one group."""
        for function in functions:
            self.groups[function] = group = Group()
            for end in self.ends[function]:
                value = end.block.exit.value  # type: ignore[union-attr]
                shape, parts = shape_of(value), parts_of(value)
                if shape is not None and parts is not None:
                    group.made.setdefault(shape, []).append(parts)
                group.has_nil = group.has_nil or is_nil(value) or function in self.maybe_nil
        for function in functions:
            for end in self.ends[function]:
                other = self.called(end.block.exit.value)  # type: ignore[union-attr]
                one, two = self.groups[function], self.groups.get(other) if other is not None else None
                if two is None or one is two:
                    continue
                one.add(two)
                for each, group in self.groups.items():
                    if group is two:
                        self.groups[each] = one

    def that_pay(self, functions: set[Function]) -> set[Function]:
        """The functions of groups whose results are taken apart more often than they are shown to others."""
        balance: dict[Group, int] = {}
        for function in functions:
            for site in self.sites[function]:
                if site.instr.var is not None:
                    group = self.groups[function]
                    balance[group] = balance.get(group, 0) + self.worth(site.instr.var)
        return {
            function
            for function in functions
            if balance.get(self.groups[function], 0) > 0 and self.groups[function].is_small()
        }

    def worth(self, var: Var) -> int:
        """1 for a result that is only taken apart, -1 for one that others see, 0 for one that is just given on."""
        worth = 0
        for op, position in self.uses.get(var, []):
            if op is None:
                continue  # the value of the function, or of a branch
            if position or (read_keys(op) is None and type(op) is not Match):
                return -1
            worth = 1
        return worth

    # Rewriting

    def rebuild(self, site: Site, layout: Layout, changed: dict[Code, set[Var]]) -> None:
        """Behind a call the map is made again, if anybody but the ends of its function uses it."""
        var = site.instr.var
        if var is None or not self.uses.get(var):
            return
        owner = site.part.function
        raw = temporary(layout.hint, owner)
        raw.op = site.instr.op
        is_given = len(self.uses[var]) == self.given(site)
        self.raw[var] = raw
        site.instr.var = raw
        if is_given:
            return
        out: list[Let] = []
        true = changed.setdefault(site.part, set())
        Whole(layout, owner, site.instr.op.span, true).make(var, raw, out)
        at = site.block.instrs.index(site.instr) + 1
        site.block.instrs[at:at] = out

    def give(self, end: End, layout: Layout) -> None:
        """A block gives the tuple in place of the map."""
        exit_: Any = end.block.exit
        value = exit_.value
        shape, parts = shape_of(value), parts_of(value)
        if type(value) is Ref and value.var in self.raw:
            exit_.value = Ref(self.raw[value.var])
        elif shape is not None and parts is not None:
            var = temporary(layout.hint, end.part.function)
            var.op = MakeVector(layout.items(shape, parts), span=exit_.span or value.var.op.span)
            if len(self.uses[value.var]) == 1:
                end.block.instrs = [instr for instr in end.block.instrs if instr.var is not value.var]
            end.block.instrs.append(Let(var, var.op))
            exit_.value = Ref(var)


class Layout:
    """What is where in the tuples of a group. slots: the key of each item, (shape, key) for what one shape has."""

    hint = "parts"

    def __init__(self, group: Group) -> None:
        self.shapes = sorted(group.made, key=str)
        self.constants = {
            (shape, key): same for shape in self.shapes for key in shape[1] if (same := constant_of(group, shape, key))
        }
        self.true = {
            (shape, key)
            for shape in self.shapes
            for key in shape[1]
            if all(truth(parts[key]) for parts in group.made[shape])
        }
        self.has_nil = group.has_nil
        self.tag = self.find_tag()
        self.keys = list(
            dict.fromkeys(key for shape in self.shapes for key in shape[1] if (shape, key) not in self.constants)
        )

    def find_tag(self) -> list[Lit]:
        """The constants that tell the shapes apart, one for each."""
        if len(self.shapes) == 1:
            return []
        for key in self.shapes[0][1]:
            tags = [self.constants.get((shape, key)) for shape in self.shapes]
            values = {(type(tag.value), tag.value) for tag in tags if tag is not None}
            if None not in tags and len(values) == len(tags):
                return [tag for tag in tags if tag is not None]
        if len(self.shapes) == 2:
            return [literal(True), literal(False)]
        return [literal(index) for index in range(len(self.shapes))]

    def items(self, shape: Shape, parts: dict[Any, Expr]) -> list[Expr]:
        """The tuple of a value of some shape."""
        tag: list[Expr] = [again(self.tag[self.shapes.index(shape)])] if self.tag else []
        return tag + [again(parts[key]) if key in parts else literal(None) for key in self.keys]


class Whole:
    """Makes the map, list or vector of a tuple again. out: gets the instructions; true: the variables that surely
    count as true."""

    def __init__(self, layout: Layout, owner: Function | None, span: Any, true: set[Var]) -> None:
        self.layout = layout
        self.owner = owner
        self.span = span
        self.true = true
        self.tag = temporary("status", owner)
        self.items = {key: temporary(hint_of(key), owner) for key in layout.keys}

    def make(self, var: Var, raw: Var, out: list[Let]) -> None:
        """Gives a variable the whole value."""
        if not self.layout.has_nil:
            self.take_apart(var, raw, out)
            return
        test, here = temporary("is_nil", self.owner), temporary(self.layout.hint, self.owner)
        test.op = CallBuiltin("nil?", [Ref(raw)], fixed=True, span=self.span)
        otherwise = Block([], Result(Ref(here), self.span))
        self.take_apart(here, raw, otherwise.instrs)
        var.op = If(Ref(test), Block([], Result(literal(None), self.span)), otherwise, span=self.span)
        out += [Let(test, test.op), Let(var, var.op)]

    def take_apart(self, var: Var, raw: Var, out: list[Let]) -> None:
        items = [self.tag, *self.items.values()] if self.layout.tag else list(self.items.values())
        pattern = SequencePattern([VarPattern(item) for item in items], None)
        out.append(Let(None, Destructure(pattern, Ref(raw), span=self.span)))
        self.choose(0, var, out)

    def choose(self, index: int, var: Var, out: list[Let]) -> None:
        """The value is of the shape with an index, or of a later one."""
        layout, span = self.layout, self.span
        if index == len(layout.shapes) - 1:
            self.made(index, var, out)
            return
        test = self.tag
        if layout.tag[index].value is not True or len(layout.shapes) > 2:
            test = temporary("is_such", self.owner)
            test.op = CallBuiltin("=", [again(layout.tag[index]), Ref(self.tag)], fixed=True, span=span)
            out.append(Let(test, test.op))
        here, later = temporary(layout.hint, self.owner), temporary(layout.hint, self.owner)
        then, otherwise = Block([], Result(Ref(here), span)), Block([], Result(Ref(later), span))
        self.made(index, here, then.instrs)
        self.choose(index + 1, later, otherwise.instrs)
        var.op = If(Ref(test), then, otherwise, span=span)
        out.append(Let(var, var.op))

    def made(self, index: int, var: Var, out: list[Let]) -> None:
        """The value is of one shape."""
        layout, shape = self.layout, self.layout.shapes[index]
        kind, keys = shape
        values: dict[Any, Expr] = {}
        for key in keys:
            constant_ = layout.constants.get((shape, key))
            values[key] = Ref(self.items[key]) if constant_ is None else again(constant_)
            if constant_ is None and (shape, key) in layout.true:
                self.true.add(self.items[key])
        if kind == "map":
            var.op = MakeMap([part for key in keys for part in (literal(key), values[key])], span=self.span)
        elif kind == "vector":
            var.op = MakeVector(list(values.values()), span=self.span)
        else:
            var.op = CallBuiltin("list", list(values.values()), fixed=True, span=self.span)
        out.append(Let(var, var.op))


def hint_of(key: Any) -> str:
    return key if type(key) is str else f"part_{key}" if type(key) is int else key.name


def constant_of(group: Group, shape: Shape, key: Any) -> Lit | None:
    """The constant that a field is wherever a shape is made."""
    values = [parts[key] for parts in group.made[shape]]
    first = values[0]
    if type(first) is not Lit or type(first.value) not in PLAIN:
        return None
    same = all(
        type(value) is Lit and type(value.value) is type(first.value) and value.value == first.value for value in values
    )
    return first if same else None


def shape_of(value: Expr) -> Shape | None:
    parts = parts_of(value)
    if parts is None:
        return None
    op = value.var.op  # type: ignore[union-attr]
    if not is_row(op):
        return "map", tuple(parts)
    return ("vector" if type(op) is MakeVector else "list"), tuple(parts)


def is_nil(value: Expr) -> bool:
    return constant(value) is None


def is_raised(value: Expr) -> bool:
    """Whether a value never comes into being."""
    op = value.var.op if type(value) is Ref else None
    return type(op) is Throw or (type(op) is CallBuiltin and op.name in RAISERS)


def is_plain(function: Function) -> bool:
    return function.rest is None and not function.is_generator and not function.is_open and not function.is_thunk


def inside_end(block: Block) -> list[Block] | None:
    """The blocks whose results are that of a block which ends with a conditional, a loop or a handler."""
    exit_ = block.exit
    last = block.instrs[-1] if block.instrs else None
    if last is None or type(last.op) not in NESTED or type(exit_) is not Result:
        return None
    if type(exit_.value) is not Ref or exit_.value.var is not last.var:
        return None
    return [clause.body for clause in last.op.clauses] if type(last.op) is Match else blocks(last.op)


def ends_of(block: Block) -> Iterator[Block]:
    """The blocks whose results are that of a block."""
    inside = inside_end(block)
    if inside is not None:
        for inner in inside:
            yield from ends_of(inner)
    elif type(block.exit) is Result:
        yield block


def may_fall_through(block: Block) -> bool:
    """Whether the value of a block can be that of a `match` or `case` in which nothing matches: nil."""
    inside = inside_end(block)
    if inside is None:
        return False
    op = block.instrs[-1].op
    return (type(op) is Match and op.lenient) or any(map(may_fall_through, inside))
