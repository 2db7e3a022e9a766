"""Tail positions and loops: which calls are tail calls, which named lets and functions become `while` loops.

A named let is a loop when every call of it is a tail call of its own body (possibly through inner loops that stand in
tail position), it is used in no other way, and no closure captures a variable that a round binds: then each round would
need bindings of its own, and the named let stays a function whose tail calls keep the stack flat. Closures that can't
outlive the round do no harm: those that builtins call at once, and local functions that are only ever called, and only
from the round itself (`Tails.local`). Nor do closures that are made where no other round follows: in a branch in tail
position out of which nothing jumps back. The same is true of functions that call themselves.
"""

from __future__ import annotations

from typing import Any

from semac.ir import nodes as ir
from semac.ir.nodes import Function, NamedLet, Var
from semac.ir.unit import Unit, left_out
from semac.types.signatures import signature_for


def takes_at_once(name: str, count: int, index: int) -> bool:
    """Whether a builtin calls an argument before it returns and doesn't keep it, as its signature says."""
    signature = signature_for(name, count)
    return signature is not None and signature.param(index).mode == "now"


BINDING = frozenset((ir.Let, ir.Define, ir.Bind, ir.Match, ir.Try))


def bound_by(node: Any) -> list[Var]:
    """The variables that a node binds itself."""
    if type(node) is ir.Let:
        return [var for var, _ in node.bindings]
    if type(node) is ir.Define:
        return list(node.vars)
    if type(node) is ir.Try:
        return [node.var]
    patterns = [node.pattern] if type(node) is ir.Bind else [pattern for pattern, _, _ in node.clauses]
    return [var for pattern in patterns for var in pattern_vars(pattern)]


def pattern_vars(pattern: tuple[Any, ...]) -> list[Var]:
    """The variables of a pattern (forms/patterns.py)."""
    found: list[Var] = []
    stack: list[Any] = [pattern]
    while stack:
        part = stack.pop()
        if type(part) is Var:
            found.append(part)
        elif type(part) in (tuple, list):
            stack += part
    return found


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
        self.path: tuple[object, ...] = ()  # the branches in tail position around what is visited
        self.sites: dict[Function, tuple[object, ...]] = {}  # those around each closure
        self.paths: dict[Any, tuple[object, ...]] = {}  # and around each call in tail position
        self.tail_calls: dict[Function, list[tuple[Any, Function]]] = {}  # by the function that they call
        self.is_in_round = False  # whether a `while` of the function is around what is visited
        self.of_rounds: set[Var] = set()  # what such loops bind in each round anew
        self.asks_where = unit.optimize and "leaving" not in left_out(unit)

    def run(self) -> None:
        self.visit(self.unit.tree, False, self.unit.main)
        self.find_local()
        self.choose_loops()
        self.recurring_calls()
        self.mark_shared()

    # Walking

    def visit(self, node: Any, tail: bool, fn: Function) -> None:
        kind = type(node)
        if self.is_in_round and kind in BINDING:
            self.of_rounds.update(bound_by(node))
        if kind is ir.Ref:
            node.var.escapes = True
            self.uses.append((node.var, fn))
        elif kind is ir.Call:
            self.visit_call(node, tail, fn)
        elif kind is ir.If:
            self.visit(node.test, False, fn)
            self.visit_branch(node.then, tail, fn)
            self.visit_branch(node.otherwise, tail, fn)
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
            self.sites[node.function] = self.path
            self.visit_function(node.function)
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
                self.visit_branch(body, tail, fn)
        else:
            around, self.is_in_round = self.is_in_round, self.is_in_round or kind is ir.While
            for child in ir.children(node):
                self.visit(child, False, fn)
            self.is_in_round = around

    def visit_function(self, function: Function) -> None:
        around = self.path, self.is_in_round
        self.path, self.is_in_round = (), False
        self.visit(function.body, True, function)
        self.path, self.is_in_round = around

    def visit_branch(self, node: Any, tail: bool, fn: Function) -> None:
        around = self.path
        if tail:
            self.path = (*around, node)
        self.visit(node, tail, fn)
        self.path = around

    def visit_call(self, node: Any, tail: bool, fn: Function) -> None:
        node.tail = tail and fn is not self.unit.main
        if node.tail:
            self.unit.places.note_tail(node.span)
            self.paths[node] = self.path
            var = node.head.var if type(node.head) is ir.Ref else None
            target = None if var is None else var.loop.function if var.loop is not None else var.known_function
            if target is not None:
                self.tail_calls.setdefault(target, []).append((node, fn))
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

    def mark_shared(self) -> None:
        """Makes assigned variables of those that all rounds of a `while` share with a closure that may outlive one.

        Such a closure finds the value of the last round: also in the midst of its code, where it is part of a task that
        has waited meanwhile.
        """
        for var, fn in self.uses:
            if var in self.of_rounds and not self.called_at_once(fn, var.owner):
                var.assigned += 1

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
            for function in self.captured_in(loops, self.asks_where):
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

    def captured_in(self, loops: dict[Function, NamedLet], asks_where: bool = False) -> set[Function]:
        """Functions whose own variables, or those of loops inside them, some closure captures. asks_where: only those
        that may have another round after the closure was made."""
        captured: set[Function] = set()
        left: dict[tuple[Function, Function], bool] = {}
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
                if asks_where and (user, up) not in left:
                    left[user, up] = self.leaves(user, up, loops)
                if not asks_where or not left[user, up]:
                    captured.add(up)
                up = loops[up].enclosing if up in loops else None
        return captured

    def leaves(self, closure: Function, target: Function, loops: dict[Function, NamedLet]) -> bool:
        """Whether target has no further round in an activation that has made a closure.

        A named let that isn't the last thing its function does may be in a loop: its rounds would share variables.
        """
        if target in loops and not loops[target].in_tail:
            return False
        site = self.sites.get(closure)
        inner = closure.parent
        while inner is not target:
            loop = loops.get(inner) if inner is not None else None
            if loop is None or not loop.in_tail:
                return False
            inner = loop.enclosing
        if site is None:
            return False
        return not any(
            self.is_recur(call, fn, target) and follows(self.paths[call], site)
            for call, fn in self.tail_calls.get(target, ())
        )

    def recurring_calls(self) -> None:
        for function in self.captured_in(self.loops):
            function.has_closures = True
        captured = self.captured_in(self.loops, self.asks_where)
        for call, fn in self.calls:
            var = call.head.var
            if var.loop is not None and var.loop.is_loop:
                call.recur = var.loop
                continue
            target = var.known_function
            if (
                target is not None
                and target.rest is None
                and target not in captured
                and self.is_recur(call, fn, target)
            ):
                call.recur = target
                target.self_tail = True


def follows(call: tuple[object, ...], closure: tuple[object, ...]) -> bool:
    """Whether a call in tail position may come after a closure was made, by the branches around both: they are in the
    same one, or the one's is inside the other's."""
    return all(a is b for a, b in zip(call, closure, strict=False))
