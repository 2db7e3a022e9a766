"""Calls that get a token of their own: what others do with their maps is nothing to the callers that own theirs.

A function that takes a state and gives the next one may be called by a loop that holds the state alone, and by somebody
who keeps it where others see it. The second call is like one of unknown code: what it is given others may hold, and
nothing that it gives changes in place. Its token is new, so that the function changes only what it has copied itself.
"""

from __future__ import annotations

from semac.anf import nodes as anf
from semac.ir.nodes import Function
from semac.optimize.inplace.flows import Flows
from semac.optimize.inplace.regions import Region, root
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
    spoilt = {part: set[Region]().union(*map(flows.reached, regions)) for part, regions in spoilt.items()}
    found: set[anf.Call] = set()
    regions = regions_of_functions(flows)
    for function, callers in calls.items():
        own = regions.get(function, set())
        guilty = [call for part, call in callers if not own.isdisjoint(spoilt.get(part, ()))]
        if 0 < len(guilty) < len(callers):
            found.update(guilty)
    return found


def regions_of_functions(flows: Flows) -> dict[Function, set[Region]]:
    """The regions of what functions get and give."""
    functions = [part.function for part in flows.code if part.function is not None]
    owners = {param: function for function in functions for param in function.params}
    found: dict[Function, set[Region]] = {}
    for member, region in flows.regions.items():
        function = member.function if type(member) is Part else owners.get(member, member)
        if type(function) is Function:
            found.setdefault(function, set()).add(root(region))
    return found
