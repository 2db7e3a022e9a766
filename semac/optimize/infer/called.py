"""Functions are visited where they are called, in the midst of the visit of the caller, so that the call gives what
they return at once and the caller needn't come again.

What a call adds to what the caller itself may get (its own parameters, globals) has the caller come again, as it has
read that; what it has noted before the call stays true of what it read then (`Facts.narrow`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from semac.ir.nodes import Function
from semac.types.lattice import take_lost

if TYPE_CHECKING:
    from semac.optimize.infer.flow import Flow

DEEP = 40  # blocks that are visited, one inside of the other: deeper calls only note what they give
SETTLING = 3  # visits in a row of a function that tells itself more


def can_visit(flow: Flow, function: Function) -> bool:
    return flow.depth < DEEP and function not in flow.active


def visit_called(flow: Flow, function: Function) -> None:
    """Visits a function that is left to do, then goes back to the visit of its caller."""
    solver, facts = flow.solver, flow.facts
    caller = flow.function, facts.env, facts.filled, facts.trail, solver.current, solver.reads_early, solver.times
    flow.active.add(function)
    solver.open_all(take_lost(), solver.times)
    for _ in range(SETTLING):
        solver.begin(function)
        facts.env, facts.filled, facts.trail = {}, set(), []
        flow.visit(function)
        solver.open_all(take_lost(), solver.times)
        if function not in solver.queued:
            break
    flow.active.discard(function)
    flow.function, facts.env, facts.filled, facts.trail, solver.current, solver.reads_early, solver.times = caller
