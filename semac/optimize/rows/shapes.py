"""Has maps of known keywords be tuples where they are only asked for their fields.

    (map (fn (i) {:id i :price (* 3 i)}) (range n))  ...  (foldl (fn (t x) (+ t (:price x))) 0 items)

A unit that nobody sees into makes such maps, hands them through its functions, lists and maps, asks for entries by
keyword and sets entries by `assoc`: nobody can tell them from tuples with an item for each keyword. A keyword that some
maps lack is nil there, which is what a look-up gives; where somebody asks with another default, each map must have it.

Sound because all that meets in a place (`flow.py`) is made there: these maps, nil and other values that are no tuples.
Look-ups and `assoc` in what isn't a tuple do what they would have done, with the same error. Maps have no identity, and
what tells them from tuples (printing, comparing, counting, going through, unknown code) is seen. Left alone are maps in
which other maps that change are kept, since those change in place (`inplace/`) as long as a map holds them.
"""

from __future__ import annotations

from typing import Any

from semac.anf.nodes import (
    CallBuiltin,
    CallRuntime,
    Destructure,
    Expr,
    Let,
    Lit,
    MakeMap,
    MakeVector,
    MapPattern,
    Move,
    Op,
    Ref,
)
from semac.ir.intrinsics import FIELD, FIELD_LEVEL, FIELD_LOOK, KEYWORD_GET, LEVEL, LOOK, UPDATED
from semac.ir.nodes import Function
from semac.optimize.loops.functions import temporary
from semac.optimize.operators import replace
from semac.optimize.rows.flow import Flows, names_fields
from semac.optimize.rows.places import Place, found
from semac.types.lattice import INT, KEYWORD, NIL, atom

MOST_FIELDS = 12
Layout = dict[Any, int]
LOOKS = {KEYWORD_GET: FIELD, LOOK: FIELD_LOOK}


def may_be_shape(place: Place) -> bool:
    """Whether nobody can tell the maps here from tuples."""
    if place.is_open or place.is_deep or place.common is None or not 0 < len(place.fields) <= MOST_FIELDS:
        return False
    if place.is_exported and (place.fields != place.common or not place.is_read):
        return False  # nobody knows which of the keywords a tuple has, or it is only shown
    return place.needs <= place.common and not place.is_key


def shapes_of(places: set[Place]) -> set[Place]:
    """The places whose maps become tuples."""
    shapes = {place for place in places if may_be_shape(place)}
    while True:
        holders = {place for place in shapes if any(keeps_changed(part, shapes) for part in place.parts.values())}
        if not holders:
            return shapes
        shapes -= holders


def keeps_changed(part: Place, shapes: set[Place]) -> bool:
    """Whether maps that are no tuples change in a field, or in fields of what it holds."""
    todo, met = [part], set()
    while todo:
        place = found(todo.pop())
        if place in met:
            continue
        if place.is_changed and place not in shapes:
            return True
        met.add(place)
        todo += place.parts.values()
    return False


class Shapes:
    """The layouts of the places of a unit."""

    def __init__(self, flows: Flows, places: set[Place]) -> None:
        self.flows = flows
        self.layouts: dict[Place, Layout] = {}
        for place in shapes_of(places):
            order = sorted(place.fields, key=lambda keyword: str(keyword.name))
            self.layouts[place] = {keyword: index for index, keyword in enumerate(order)}

    def of(self, expr: Expr) -> Layout | None:
        """The layout of what an operand may hold."""
        place = self.flows.places.get(expr.var) if type(expr) is Ref else None
        return self.layouts.get(found(place)) if place is not None else None

    def rewrite(self, instr: Let, owner: Function | None) -> list[Let]:
        """The instructions in place of one."""
        op: Any = instr.op
        kind = type(op)
        if kind is Destructure:
            return self.destructured(instr, op)
        if kind is MakeMap:
            layout = self.of(Ref(instr.var)) if instr.var is not None else None
            if layout is not None:
                fields = {key.value: value for key, value in zip(op.items[0::2], op.items[1::2], strict=True)}
                self.vector(instr, layout, fields, {})
        elif kind is CallRuntime and op.path in (*LOOKS, UPDATED, LEVEL):
            layout = self.of(op.args[0])
            if layout is None and op.path == LEVEL and instr.var is not None:  # of nil that is written out
                layout = self.of(Ref(instr.var))
            if layout is not None and op.path in LOOKS:
                replace(instr, field(LOOKS[op.path], op.args[0], layout, op.args[1], op))
            elif layout is not None and op.path == LEVEL:
                size = Lit(len(layout), atom(INT))
                replace(instr, CallRuntime(FIELD_LEVEL, [op.args[0], size], span=op.span))
            elif layout is not None:  # it raises for what is no map
                check = Let(None, field(FIELD, op.args[0], layout, op.args[1], op))
                replace(instr, Move(again(op.args[0]), span=op.span))
                return [check, instr]
        elif kind is CallBuiltin and op.name in ("get", "assoc") and op.args:
            layout = self.of(op.args[0])
            if layout is not None and op.name == "get":
                replace(instr, field(FIELD, op.args[0], layout, op.args[1], op))
            elif layout is not None:
                return self.assoc(instr, op, layout, owner)
        return [instr]

    def destructured(self, instr: Let, op: Destructure) -> list[Let]:
        """The variables of `{:keys [...]}` get what look-ups give, which raise the same error for what is no map."""
        layout = self.of(op.value) if type(op.pattern) is MapPattern and names_fields(op.pattern) else None
        if layout is None:
            return [instr]
        reads: list[Let] = []
        for key, part, _ in op.pattern.entries:  # type: ignore[attr-defined]
            part.var.op = field(FIELD, op.value, layout, Lit(key, atom(KEYWORD)), op)
            reads.append(Let(part.var, part.var.op))
        replace(instr, Move(again(op.value), span=op.span))
        return [*reads, instr] if instr.var is not None else reads

    def assoc(self, instr: Let, op: CallBuiltin, layout: Layout, owner: Function | None) -> list[Let]:
        """A tuple with the items that stay."""
        fields = {key.value: value for key, value in zip(op.args[1::2], op.args[2::2], strict=True)}  # type: ignore[union-attr]
        out: list[Let] = []
        kept: dict[Any, Expr] = {}
        for keyword in layout:
            if keyword not in fields:
                var = temporary("kept", owner)
                var.op = field(FIELD, op.args[0], layout, Lit(keyword, op.args[1].type), op)
                out.append(Let(var, var.op))
                kept[keyword] = Ref(var)
        if not out:  # whether it is a map at all
            out.append(Let(None, field(FIELD, op.args[0], layout, op.args[1], op)))
        self.vector(instr, layout, fields, kept)
        return [*out, instr]

    def vector(self, instr: Let, layout: Layout, fields: dict[Any, Expr], kept: dict[Any, Expr]) -> None:
        items = [fields.get(key) or kept.get(key) or Lit(None, atom(NIL)) for key in layout]
        replace(instr, MakeVector(items, span=instr.op.span))


def field(path: str, subject: Expr, layout: Layout, key: Any, op: Op) -> CallRuntime:
    return CallRuntime(path, [again(subject), Lit(layout[key.value], atom(INT)), key], span=op.span)


def again(value: Expr) -> Expr:
    """The same operand in another place, where more may be known of it."""
    return Ref(value.var) if type(value) is Ref else value
