"""Calls that get a token of their own: what others do with their maps is nothing to the callers that own theirs.

A function that takes a state and gives the next one may be called by a loop that holds the state alone, and by somebody
who keeps it where others see it. The second call is like one of unknown code: what it is given others may hold, and
nothing that it gives changes in place. Its token is new, so that the function changes only what it has copied itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from semac.anf import nodes as anf
from semac.ir.nodes import Function
from semac.optimize.inplace.flows import Flows
from semac.optimize.inplace.regions import Region, reached, root
from semac.optimize.own.carried import Part
from semac.optimize.own.code import Code

MOST_ROUNDS = 3  # in which calls are parted from others


def calls_to_detach(flows: Flows, spoilt: dict[Code, set[Region]]) -> set[anf.Call]:
    """The calls whose callers have spoilt maps of functions that others call, too. spoilt: what each part of the code
    has spoilt; the functions are those that change maps in place otherwise."""
    calls: dict[Function, list[tuple[Code, anf.Call]]] = {}
    for part in flows.code:
        for block in part.blocks:
            for instr in block.instrs:
                callee = flows.callee(instr.op) if type(instr.op) is anf.Call else None
                if callee is not None and callee is not part.function:
                    calls.setdefault(callee, []).append((part, instr.op))  # type: ignore[arg-type]
    spoilt = {part: {inner for region in regions for inner in reached(region)} for part, regions in spoilt.items()}
    found: set[anf.Call] = set()
    for function, callers in calls.items():
        regions = set(regions_of(flows, function))
        guilty = [call for part, call in callers if not regions.isdisjoint(spoilt.get(part, ()))]
        if 0 < len(guilty) < len(callers):
            found.update(guilty)
    return found


def regions_of(flows: Flows, function: Function) -> Iterable[Region]:
    """The regions of what a function gets and gives."""
    for member, region in flows.regions.items():
        owner = member.function if type(member) is Part else member
        if owner is function or (owner is member and member in function.params):
            yield root(region)
