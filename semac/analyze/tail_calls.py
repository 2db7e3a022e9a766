"""Tail positions and loops: which calls are tail calls, which named lets and functions become `while` loops.

A named let is a loop when every call of it is a tail call of its own body (possibly through inner loops that stand in
tail position), it is used in no other way, and no closure captures a variable that a round binds: then each round would
need bindings of its own, and the named let stays a function whose tail calls keep the stack flat. Closures that can't
outlive the round do no harm: those that builtins call at once, and local functions that are only ever called, and only
from the round itself (`Tails.local`).
"""

from __future__ import annotations

from typing import Any

from semac.ir import nodes as ir
from semac.ir.nodes import Function, NamedLet, Var
from semac.ir.unit import Unit
from semac.types.signatures import signature_for


def takes_at_once(name: str, count: int, index: int) -> bool:
    """Whether a builtin calls an argument before it returns and doesn't keep it, as its signature says."""
    signature = signature_for(name, count)
    return signature is not None and signature.param(index).mode == "now"


def mark_tail_calls(unit: Unit) -> None:
    """Fills in tail flags, escapes, loops and recurring calls of a unit."""
    Tails(unit).run()


class Tails:
    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.uses: list[tuple[Var, Function]] = []
        self.calls: list[tuple[Any, Function]] = []
        self.loops: dict[Function, NamedLet] = {}
        self.immediate: set[Function] = set()
        self.local: set[Function] = set()

    def run(self) -> None:
        self.visit(self.unit.tree, False, self.unit.main)
        self.find_local()
        self.choose_loops()
        self.recurring_calls()

    # Walking

    def visit(self, node: Any, tail: bool, fn: Function) -> None:
        kind = type(node)
        if kind is ir.Ref:
            node.var.escapes = True
            self.uses.append((node.var, fn))
        elif kind is ir.Call:
            self.visit_call(node, tail, fn)
        elif kind is ir.If:
            self.visit(node.test, False, fn)
            self.visit(node.then, tail, fn)
            self.visit(node.otherwise, tail, fn)
        elif kind in (ir.Seq, ir.And, ir.Or):
            for item in node.items[:-1]:
                self.visit(item, False, fn)
            if node.items:
                self.visit(node.items[-1], tail, fn)
        elif kind is ir.Let or kind is ir.Bind or kind is ir.Define:
            for value in ir.children(node)[:-1]:
                self.visit(value, False, fn)
            self.visit(node.body, tail, fn)
        elif kind is ir.Lambda:
            self.visit(node.function.body, True, node.function)
        elif kind is ir.NamedLet:
            self.visit_named_let(node, tail, fn)
        elif kind is ir.CallBuiltin:
            node.tail = tail
            for index, arg in enumerate(node.args):
                if type(arg) is ir.Lambda and takes_at_once(node.name, len(node.args), index):
                    self.immediate.add(arg.function)
                self.visit(arg, False, fn)
        elif kind is ir.Set:
            self.uses.append((node.var, fn))
            self.visit(node.value, False, fn)
        elif kind is ir.Try:
            self.visit(node.body, False, fn)
            self.visit(node.handler, tail, fn)
        elif kind is ir.Match:
            self.visit(node.subject, False, fn)
            for _, guard, body in node.clauses:
                if guard is not None:
                    self.visit(guard, False, fn)
                self.visit(body, tail, fn)
        else:
            for child in ir.children(node):
                self.visit(child, False, fn)

    def visit_call(self, node: Any, tail: bool, fn: Function) -> None:
        node.tail = tail and fn is not self.unit.main
        if node.tail:
            self.unit.places.note_tail(node.span)
        if type(node.head) is ir.Ref:
            self.uses.append((node.head.var, fn))
            self.calls.append((node, fn))
        else:
            self.visit(node.head, False, fn)
        for arg in node.args:
            self.visit(arg, False, fn)

    def visit_named_let(self, node: NamedLet, tail: bool, fn: Function) -> None:
        for value in node.inits:
            self.visit(value, False, fn)
        node.in_tail = tail
        node.enclosing = fn
        self.loops[node.function] = node
        self.visit(node.function.body, True, node.function)

    # Deciding

    def choose_loops(self) -> None:
        loops = self.loops
        for node in list(loops.values()):
            if node.var.escapes or node.function.rest is not None or node.var.assigned:
                del loops[node.function]
        changed = True
        while changed:
            changed = False
            for call, fn in self.calls:
                loop = call.head.var.loop
                if loop is not None and loop.function in loops and not self.is_recur(call, fn, loop.function):
                    del loops[loop.function]
                    changed = True
            for function in self.captured_in(loops):
                if loops.pop(function, None) is not None:
                    changed = True
        for node in loops.values():
            node.is_loop = True

    def find_local(self) -> None:
        """Fills in `local`: functions that only the scope around their definition calls, or another local function.

        A round that has ended calls none of them, so they see the bindings of their own round.
        """
        calls = [(call.head.var.known_function, fn) for call, fn in self.calls if not call.head.var.escapes]
        self.local = {target for target, _ in calls if target is not None and target.var is not None}
        self.local -= self.loops.keys()
        changed = True
        while changed:
            changed = False
            for target, fn in calls:
                if target in self.local and not self.called_at_once(fn, target.parent):
                    self.local.discard(target)
                    changed = True

    def called_at_once(self, caller: Function, scope: Function | None) -> bool:
        """Whether a call in caller happens before the activation of scope that defined the callee can end."""
        user: Function | None = caller
        while user is not None and user is not scope:
            if user not in self.loops and user not in self.immediate and user not in self.local:
                return False
            user = user.parent
        return user is not None

    def is_recur(self, call: Any, fn: Function, target: Function) -> bool:
        """Whether a call of target's variable is a jump back to the start of target."""
        if not call.tail or len(call.args) != len(target.params):
            return False
        if fn is target:
            return True
        inner = self.loops.get(fn)
        return inner is not None and inner.in_tail and inner.enclosing is target

    def captured_in(self, loops: dict[Function, NamedLet]) -> set[Function]:
        """Functions whose own variables, or those of loops inside them, some closure captures."""
        captured: set[Function] = set()
        for var, fn in self.uses:
            owner = var.owner
            user: Function | None = fn
            while user is not None and user is not owner:
                if user not in loops and user not in self.immediate and user not in self.local:
                    break
                user = user.parent
            if owner is None or user is owner or user is None:
                continue
            up: Function | None = owner
            while up is not None:
                captured.add(up)
                up = loops[up].enclosing if up in loops else None
        return captured

    def recurring_calls(self) -> None:
        captured = self.captured_in(self.loops)
        for function in captured:
            function.has_closures = True
        for call, fn in self.calls:
            var = call.head.var
            if var.loop is not None and var.loop.is_loop:
                call.recur = var.loop
                continue
            target = var.known_function
            if (
                target is not None
                and target.rest is None
                and not target.has_closures
                and self.is_recur(call, fn, target)
            ):
                call.recur = target
                target.self_tail = True
