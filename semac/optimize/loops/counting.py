"""Counting loops: a loop whose variable moves by a constant step until a test at its start ends it becomes a `for`.

Assumes inferred types: the counter and the step are ints, and the bound and the step don't change while the loop runs.
Sound because the counter then takes exactly the values of a range. Where the bound may be no int, or lie on the side
from which the counter never meets it, `count_until` and `count_while` of the runtime decide when the loop begins;
these go on for ever, or raise, as the loop would.
"""

from __future__ import annotations

from typing import Any

from semac.anf.nodes import Block, Expr, For, Let, Lit, Ref
from semac.anf.walk import map_operands
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.loops.named import for_loop, rewrite_loops
from semac.optimize.loops.ranges import Count, compared, is_hoistable, is_known, limits_of, step_of_sum
from semac.optimize.loops.shape import Shape, is_settled, shape_of
from semac.optimize.loops.steps import Reads, reads_in, rewrite_while, set_for_others
from semac.types.lattice import INT


def count_in_loops(unit: Unit) -> None:
    """Rewrites the counting loops of a unit."""
    reads = Reads()
    for form in unit.blocks:
        reads.update(reads_in(form))  # `+=` would go through all of them each time
    others = set_for_others(unit)
    rewrite_loops(unit, counted, lambda block, index, op: rewrite_while(block, index, op, reads, others))


def counted(body: Block, target: Any, params: list[Var], inits: list[Expr]) -> tuple[list[Let], For] | None:
    """What a loop of counting becomes: instructions before it, and the loop."""
    shape = shape_of(body, target)
    if shape is None:
        return None
    kept = unchanged(shape, params)
    count = count_of(shape, params, kept)
    if count is None:
        return None
    values = dict(zip(params, inits, strict=True))

    def outside(value: Expr) -> Expr:
        return values[value.var] if type(value) is Ref and value.var in kept else value

    for instr in shape.prefix:
        map_operands(instr.op, outside)
    limits = limits_of(count, values[count.counter], outside(count.bound), outside(count.step))
    if limits is None:
        return None
    if limits.end is not None:
        limits.end.span = shape.test.span
    made = for_loop(shape, body, params, values, count.counter, limits.end)
    if made is None:
        return None
    made.how, made.sources, made.who, made.place = limits.how, limits.sources, limits.who, count.span
    return [*shape.prefix, *limits.before], made


def unchanged(shape: Shape, params: list[Var]) -> set[Var]:
    """The parameters of a loop that all its jumps hand on as they are."""
    return {
        param
        for index, param in enumerate(params)
        if not param.assigned
        and all(type(arg := jump.exit.args[index]) is Ref and arg.var is param for jump in shape.jumps)  # type: ignore[union-attr]
    }


# What is counted


def count_of(shape: Shape, params: list[Var], kept: set[Var]) -> Count | None:
    """The counter of a loop, its bound and its step; None where the loop doesn't count."""
    hoisted: set[Var] = set()
    changing = [param for param in params if param not in kept]
    for instr in shape.prefix:
        if not is_hoistable(instr, changing, hoisted):
            return None
    for test, counter, bound in compared(shape.test):
        var = counter.var if type(counter) is Ref else None
        if var not in changing or not is_countable(counter) or not is_known(bound, changing, hoisted):
            continue
        if counter is not shape.test.args[0] and not bound.type.only(INT):
            return None  # an error would name the operands in the other order
        step = step_of(shape, params.index(var), var, changing)
        return Count(var, test, shape.stays, bound, step, shape.test.span) if step is not None else None
    return None


def is_countable(counter: Any) -> bool:
    return not counter.var.assigned and counter.type.only(INT)


def step_of(shape: Shape, position: int, counter: Var, changing: list[Var]) -> Expr | None:
    """What each round adds to the counter."""
    steps = [step_in(jump.exit.args[position], counter) for jump in shape.jumps]  # type: ignore[union-attr]
    first = steps[0]
    if first is None or not is_settled(first, shape.stay, changing):
        return None
    same = all(step is not None and is_same(step, first) for step in steps)
    return first if same else None


def is_same(a: Expr, b: Expr) -> bool:
    if type(a) is Lit and type(b) is Lit:
        return a.value == b.value  # type: ignore[no-any-return]
    return type(a) is Ref and type(b) is Ref and a.var is b.var


def step_in(value: Expr, counter: Var) -> Expr | None:
    """The step of an atom that is the sum of the counter and a step."""
    added = value.var.op if type(value) is Ref else None
    return step_of_sum(added, lambda part: type(part) is Ref and part.var is counter)
