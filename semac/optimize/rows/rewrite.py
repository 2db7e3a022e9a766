"""Has lists that are only taken apart be tuples: `(list k n)` that is kept, sorted and read by `first` and `cadr`.

A unit that nobody sees into makes such rows, hands them through its functions, lists and maps, and reads their items:
nobody can tell them from vectors, which are Python's tuples. So are the entries that `map/entries` makes.

Sound because each list of which a place tells (`flow.py`) is one that the unit makes, of one length, and because what
is done with it, wherever it goes, gives the same for a tuple: items are read at indices that it has, it is compared
with nil, counted, gone through. Anything else, and everything that isn't known, is seen.
"""

from __future__ import annotations

from typing import Any

from sema_runtime.values.lists import List
from semac.anf.literals import type_of_value
from semac.anf.nodes import Block, Comprehension, Iteration, Let, MakeVector, Ref, Result, VarPattern
from semac.anf.walk import all_blocks, refs
from semac.fingerprint import is_traced
from semac.ir.intrinsics import FIELD, FIELD_LOOK, NOTHING
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit, left_out
from semac.optimize.loops.functions import temporary
from semac.optimize.operators import replace
from semac.optimize.rows.flow import Flows
from semac.optimize.rows.forwarding import forward_fields
from semac.optimize.rows.places import Place, found, part_of
from semac.optimize.rows.restoring import Restoring, restore_operand
from semac.optimize.rows.rules import RULES
from semac.optimize.rows.shapes import Shapes
from semac.optimize.tails import functions

FIELDS = frozenset((FIELD, FIELD_LOOK))


def make_tuples(unit: Unit) -> None:
    """Rewrites the lists and maps of a unit that can be tuples."""
    if unit.is_text or unit.is_input or is_traced():
        return
    Rewriter(unit, Flows(unit, RULES)).run()


class Rewriter:
    """Rewrites a unit. changed: the functions whose code isn't what it was, None for a form."""

    def __init__(self, unit: Unit, flows: Flows) -> None:
        self.unit = unit
        self.flows = flows
        places = {found(each) for each in flows.all}
        self.shapes = Shapes(flows, places if "shapes" not in left_out(unit) else set())
        self.rows = {place for place in places if place.is_row}
        shown = [flows.places.get(var) for var in flows.exports]
        shown += [flows.places.get(getattr(instr.op.args[index], "var", None)) for instr, index in flows.edges]  # type: ignore[attr-defined]
        self.restoring = Restoring(self.shapes, self.rows, [place for place in shown if place is not None])
        self.sites = {site for place in self.rows for site in place.sites}
        self.shown: dict[Let, list[int]] = {}
        for instr, index in flows.edges:
            self.shown.setdefault(instr, []).append(index)
        self.changed: set[Function | None] = set()

    def holds_tuples(self, var: Var) -> bool:
        """Whether tuples of ours are in what a variable holds."""
        return self.restoring.number(self.shapes.flows.places.get(var)) != NOTHING

    def run(self) -> None:
        if not self.shapes.layouts and not self.rows:
            return
        if not self.flows.makes_any:  # a unit that only writes lists out skips this pass
            return
        for literal, place in self.flows.literals.values():
            literal.value = self.data(literal.value, place)
            literal.type = type_of_value(literal.value)
        parts: list[tuple[Block, Function | None]] = [(block, None) for block in self.unit.blocks]
        parts += [(function.code, function) for function in functions(self.unit)]
        for code, owner in parts:
            for block in all_blocks(code, into_functions=False):
                self.block(code, block, owner)
            if owner in self.changed:
                forward_fields(code, FIELDS)

    def data(self, value: Any, place: Place) -> Any:
        """A literal list with tuples for the rows."""
        place = found(place)
        items = list(value)
        for index, item in enumerate(items):
            if type(item) is List:
                items[index] = self.data(item, part_of(place, index))
        if place in self.rows:
            return tuple(items)
        is_same = all(before is after for before, after in zip(value, items, strict=True))
        return value if is_same else List(items)

    def block(self, code: Block, block: Block, owner: Function | None) -> None:
        out: list[Let] = []
        for instr in block.instrs:
            before = instr.op
            shown = [restore_operand(self.restoring, instr, index, owner) for index in self.shown.get(instr, ())]
            out += [each for each in shown if each is not None]
            out += self.shapes.rewrite(instr, owner)
            if instr.op is not before or any(shown):
                self.changed.add(owner)
        block.instrs = out
        for instr in [instr for instr in out if instr in self.sites]:
            self.changed.add(owner)
            op: Any = instr.op
            if op.name == "list":
                replace(instr, MakeVector(op.args, span=op.span))
            else:
                take_pairs(code, block, instr)


def take_pairs(form: Block, block: Block, instr: Let) -> None:
    """Has entries be what a map gives for them."""
    call: Any = instr.op
    user = only_loop(form, block, instr.var)
    if user is not None:
        user.how, user.sources, user.who, user.place = "pairs", call.args, call.name, call.span
        block.instrs.remove(instr)
        return
    entry: Any = temporary("entry", instr.var.owner if instr.var is not None else None)
    body = Block([], Result(Ref(entry)))
    pairs = Comprehension(VarPattern(entry), "pairs", call.args, call.name, "list", [], body, span=call.span)
    replace(instr, pairs)


def only_loop(form: Block, block: Block, var: Var | None) -> Any:
    """The loop right behind a call that alone goes through what it gives; None where there is none."""
    if var is None or var.name or sum(ref.var is var for ref in refs(form)) != 1:
        return None
    for before, after in zip(block.instrs, block.instrs[1:], strict=False):
        if before.var is var:
            op = after.op
            is_over = isinstance(op, Iteration) and op.how == "items" and type(op.sources[0]) is Ref
            return op if is_over and op.sources[0].var is var else None  # type: ignore[attr-defined]
    return None
