"""Which tail calls need `tail_call`, which keeps the stack flat: those that may be part of an endless chain.

A plain Python call does where every function that a call can reach is known, and no chain of tail calls leads from any
of them back to the caller, or to a function that isn't known: then the chain is no longer than the program.
"""

from __future__ import annotations

from typing import Any

from semac.anf.nodes import Block, Call, CallBuiltin, Closure, Expr, Lit, Ref
from semac.anf.walk import NESTING, blocks
from semac.ir.nodes import Function
from semac.ir.unit import Unit
from semac.types.lattice import FN, KEYWORD

Targets = list[Function] | None  # None: it may be any function
FLAT = frozenset(("apply",))  # builtins that call a function without growing the stack


def clear_trampolines(unit: Unit) -> None:
    """Clears `trampolined` of the tail calls that can be plain calls, `tail` of such an `apply`."""
    calls = {function: tail_calls(function) for function in functions(unit)}
    graph = Graph({function: [targets for _, targets in own] for function, own in calls.items()})
    for function, own in calls.items():
        for call, targets in own:
            if type(call) is Call and call.trampolined:
                call.trampolined = graph.may_be_endless(function, targets)
            elif type(call) is CallBuiltin:
                call.tail = graph.may_be_endless(function, targets)


def functions(unit: Unit) -> list[Function]:
    """The functions that the forms of a unit make."""
    found: dict[Function, None] = {}
    stack = list(unit.blocks)
    while stack:
        for instr in stack.pop().instrs:
            op = instr.op
            if type(op) is Closure:
                if op.function not in found:
                    found[op.function] = None
                    stack.append(op.function.code)
            elif type(op) in NESTING:
                stack += blocks(op)
    return list(found)


def tail_calls(function: Function) -> list[tuple[Call | CallBuiltin, Targets]]:
    """The tail calls in a function's own body, and what they can reach."""
    found: list[tuple[Call | CallBuiltin, Targets]] = []
    stack: list[Block] = [function.code]
    while stack:
        for instr in stack.pop().instrs:
            op = instr.op
            if type(op) is Call and op.tail:
                found.append((op, targets_of(op.head)))
            elif type(op) is CallBuiltin and op.tail and op.name in FLAT and op.args:
                found.append((op, targets_of(op.args[0])))
            stack += blocks(op)
    return found


def targets_of(head: Expr) -> Targets:
    """The functions of the unit that a call of a value can reach."""
    type_ = head.type
    if type(head) is Lit:
        return []
    if type_.only(FN | KEYWORD) and type_.fns is not None:
        members: Any = type_.fns
        return None if members & FLAT else [member for member in members if type(member) is Function]
    known = head.var.known_function if type(head) is Ref else None
    return None if known is None else [known]


class Graph:
    """The tail calls between functions. `cycle`: the strongly connected component of each; `leaks`: those of which a
    chain of tail calls leads to an unknown function."""

    def __init__(self, calls: dict[Function, list[Targets]]) -> None:
        self.calls = calls
        self.cycle: dict[Function, int] = {}
        self.leaks: set[Function] = set()
        self.order: dict[Function, int] = {}
        self.low: dict[Function, int] = {}
        self.pending: list[Function] = []
        for function in calls:
            if function not in self.order:
                self.visit(function)

    def may_be_endless(self, caller: Function, targets: Targets) -> bool:
        return targets is None or any(self.is_endless(caller, target) for target in targets)

    def is_endless(self, caller: Function, target: Function) -> bool:
        """Whether a chain of tail calls may lead from the target to the caller, or anywhere."""
        return target not in self.calls or target in self.leaks or self.cycle[target] == self.cycle[caller]

    def visit(self, root: Function) -> None:
        """Tarjan's algorithm from one function, without recursion."""
        path = [(root, self.enter(root))]
        while path:
            function, callees = path[-1]
            for callee in callees:
                if callee not in self.order:
                    path.append((callee, self.enter(callee)))
                    break
                if callee not in self.cycle:
                    self.low[function] = min(self.low[function], self.order[callee])
                elif callee in self.leaks:
                    self.leaks.add(function)
            else:
                path.pop()
                self.leave(function)
                if path:
                    caller = path[-1][0]
                    self.low[caller] = min(self.low[caller], self.low[function])
                    if function in self.leaks:
                        self.leaks.add(caller)

    def enter(self, function: Function) -> Any:
        self.order[function] = self.low[function] = len(self.order)
        self.pending.append(function)
        found = self.calls[function]
        if any(targets is None for targets in found):
            self.leaks.add(function)
        return iter([target for targets in found for target in targets or () if target in self.calls])

    def leave(self, function: Function) -> None:
        """Closes the component of which a function is the first."""
        if self.low[function] < self.order[function]:
            return
        members: list[Function] = []
        while not members or members[-1] is not function:
            members.append(self.pending.pop())
            self.cycle[members[-1]] = self.order[function]
        if any(member in self.leaks for member in members):
            self.leaks.update(members)
