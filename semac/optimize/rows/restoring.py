"""Tuples become lists and maps again where somebody sees them: where they are printed, and in the globals of a module
when its import has ended.

So what a program prints at its end, or a module leaves in a global, can be tuples while it computes. The copy is made
of the whole value, along the places of what it holds (`lib/collections/restored.py` of the runtime). Only maps of which
all have all keywords are shown in this way: of others nobody knows which are there. Functions in what is shown take and
give lists and maps (`places.spread_exports`).
"""

from __future__ import annotations

from typing import Any

from semac.anf.nodes import CallRuntime, Expr, Let, Lit, Ref
from semac.ir.intrinsics import NOTHING, OTHER, RESTORED, ROW, SHAPE
from semac.ir.nodes import Function, Var
from semac.optimize.loops.functions import temporary
from semac.optimize.rows.places import Place, contents, found
from semac.optimize.rows.shapes import Shapes
from semac.types.lattice import INT, atom


class Restoring:
    """Where the tuples of a unit are. roots: the values that are shown."""

    def __init__(self, shapes: Shapes, rows: set[Place], roots: list[Place]) -> None:
        self.shapes = shapes
        self.rows = rows
        places = self.with_tuples(list(dict.fromkeys(map(found, roots))))
        self.numbers = {place: number for number, place in enumerate(places)}
        self.plan = tuple(map(self.entry, places))

    def operation(self, value: Expr, span: Any) -> CallRuntime | None:
        """The copy of a value with lists and maps; None where it holds no tuples of ours."""
        place = self.shapes.flows.places.get(value.var) if type(value) is Ref else None
        number = self.number(place)
        if number == NOTHING:
            return None
        return CallRuntime(RESTORED, [value, Lit(self.plan), Lit(number, atom(INT))], span=span)

    def number(self, place: Place | None) -> int:
        return NOTHING if place is None else self.numbers.get(found(place), NOTHING)

    def entry(self, place: Place) -> tuple[Any, ...]:
        """What can be where in the values of a place."""
        layout = self.shapes.layouts.get(place)
        parts = list(place.parts.items())
        if layout is not None:
            parts = [(key, place.parts.get(key, place.inner)) for key in layout]  # type: ignore[misc]
        kind = SHAPE if layout is not None else ROW if place in self.rows else OTHER
        inner = NOTHING if layout is not None else self.number(place.inner)
        numbers = tuple(self.number(part) for _, part in parts)
        return kind, tuple(key for key, _ in parts), numbers, inner, self.number(place.keys)

    def with_tuples(self, roots: list[Place]) -> list[Place]:
        """The places in some places, themselves among them, whose values hold tuples of ours."""
        order: list[Place] = []
        holders: dict[Place, list[Place]] = {root: [] for root in roots}
        todo = list(roots)
        while todo:
            place = todo.pop()
            order.append(place)
            for part in map(found, contents(place)):
                if part not in holders:
                    holders[part] = []
                    todo.append(part)
                holders[part].append(place)
        todo = [place for place in order if place in self.shapes.layouts or place in self.rows]
        kept = set(todo)
        while todo:
            for holder in holders[todo.pop()]:
                if holder not in kept:
                    kept.add(holder)
                    todo.append(holder)
        return [place for place in order if place in kept]


def restore_operand(restoring: Restoring, instr: Let, index: int, owner: Function | None) -> Let | None:
    """An instruction to put before one that shows an operand; None where it needs none."""
    op: Any = instr.op
    made = restoring.operation(op.args[index], op.span)
    if made is None:
        return None
    var: Var = temporary("shown", owner)
    var.op = made
    op.args[index] = Ref(var)
    return Let(var, made)
