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
from semac.anf.nodes import (
    Assign,
    Block,
    Call,
    Closure,
    Expr,
    For,
    If,
    Let,
    Loop,
    MakeVector,
    Match,
    Op,
    Read,
    Ref,
    Result,
    Try,
    With,
)
from semac.anf.walk import exit_operands, operands, value_blocks
from semac.fingerprint import is_traced
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit, left_out
from semac.optimize.calls import function_of
from semac.optimize.fields.carriers import read_keys
from semac.optimize.fields.known import constant, is_row, parts_of
from semac.optimize.fields.layouts import Group, Layout, Shape, Whole
from semac.optimize.fields.split import split_code, stops
from semac.optimize.fields.threads import Threader
from semac.optimize.loops.functions import temporary
from semac.optimize.own.carried import is_raise
from semac.optimize.own.code import Code, all_code

NESTED = (If, Match, Loop, For, Try, With)  # operations whose value is that of a block inside


SEEN = 1  # a position at which nothing is taken apart: what is read of a variable that changes


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


def return_parts_of(unit: Unit, functions: set[Function]) -> set[Function | None]:
    """The same for some functions of a module that the module alone calls. Returns those whose code has changed, None
    if that of a form has."""
    if is_traced() or stops(unit) or {"threads", "parts"} & left_out(unit):
        return set()
    changed = Parts(all_code(unit), functions).run()
    if changed and "fields" not in left_out(unit):
        for part in changed:
            split_code(Code(part.block, part.function))
    return {part.function for part in changed}


class Parts:
    """Finds and rewrites the functions of one unit. only: those that may be rewritten, None: all."""

    def __init__(self, code: list[Code], only: set[Function] | None = None) -> None:
        self.code = code
        self.only = only
        self.part_of = {part.function: part for part in code if part.function is not None}
        self.sites: dict[Function, list[Site]] = {}
        self.uses: dict[Var, list[tuple[Op | None, int]]] = {}  # (operation, position); None: the value of a block
        self.ends: dict[Function, list[End]] = {}
        self.maybe_nil: set[Function] = set()  # functions that end in conditionals without an else
        self.groups: dict[Function, Group] = {}
        self.raw: dict[Var, Var] = {}  # the variable of a call → that of the tuple

    def run(self) -> list[Code]:
        """Rewrites them; returns the code that has changed."""
        self.scan()
        functions = self.candidates()
        self.join(functions)
        functions = self.that_pay(functions)
        self.ends = {function: self.ends[function] for function in functions}  # no other gives tuples on
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
        return list(changed)

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
        if type(op) is Read:
            self.uses.setdefault(op.var, []).append((op, SEEN))
            if op.var.is_global and op.var.function is not None:
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
            if part is None or (self.only is not None and function not in self.only):
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


def are_by_name(sites: list[Site]) -> bool:
    """Whether all calls name a global function."""
    return all(site.instr.op.head.var.is_global for site in sites)  # type: ignore[attr-defined]


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
    return type(value) is Ref and is_raise(value.var.op)


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
    return value_blocks(last.op)


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
