"""Which variables of a printed function are wanted at the same time: liveness, backwards over the statements.

Sets of variables are ints with a bit for each. A handler may begin after any part of what it watches over: what it
reads is wanted all through that.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from semac.generate.coalesce.scan import Names, copied, targets_of

LEAVING, LOOPS = (ast.Return, ast.Raise), (ast.While, ast.For)


class Conflicts:
    """bits: the number of each variable. of: by number, those that are wanted where it is set. unwanted: the statements
    `y = x` after which nobody wants y."""

    def __init__(self, names: Names, bits: dict[str, int]) -> None:
        self.names = names
        self.bits = bits
        self.of = [0] * len(bits)
        self.unwanted: set[ast.stmt] = set()
        self.caught = 0  # what the handlers around read
        self.exits: list[tuple[int, int]] = []  # of the loops around: wanted after `break`, and after `continue`
        self.reads: dict[ast.stmt, int] = {}

    def block(self, body: list[ast.stmt], wanted: int) -> int:
        """What is wanted before some statements, from what is wanted after them."""
        for node in reversed(body):
            wanted = self.statement(node, wanted | self.caught) | self.caught
        return wanted

    def read_by(self, node: ast.stmt) -> int:
        mask = self.reads.get(node)
        if mask is None:
            mask = self.reads[node] = self.mask(self.names.reads.get(node, ()))
        return mask

    def set(self, targets: list[str], wanted: int, source: str = "") -> int:
        """Variables get values, after which others are wanted: what is wanted of all but these before."""
        others = wanted & ~self.mask([source])
        for bit in [self.bits[name] for name in targets if name in self.bits]:
            self.of[bit] |= others & ~(1 << bit)
        return wanted & ~self.mask(targets)

    def statement(self, node: ast.stmt, wanted: int) -> int:
        reads = self.read_by(node)
        if isinstance(node, ast.Assign):
            copy = copied(node)
            if copy is not None and copy[0] in self.bits:  # what is wanted only grows from round to round
                (self.unwanted.discard if wanted >> self.bits[copy[0]] & 1 else self.unwanted.add)(node)
            targets = [name for target in node.targets for name in targets_of(target)]
            return self.set(targets, wanted, copy[1] if copy else "") | reads
        if isinstance(node, ast.AugAssign):
            targets = targets_of(node.target)
            return self.set(targets, wanted) | reads | self.mask(targets)
        if isinstance(node, ast.If):
            return reads | self.block(node.body, wanted) | self.block(node.orelse, wanted)
        if isinstance(node, LEAVING):
            return reads
        if isinstance(node, ast.Break):
            return self.exits[-1][0]
        if isinstance(node, ast.Continue):
            return self.exits[-1][1]
        if isinstance(node, LOOPS):
            return self.loop(node, wanted)
        if isinstance(node, ast.Try):
            return self.try_(node, wanted)
        if isinstance(node, ast.With):
            return self.with_(node, wanted)
        return wanted | reads

    def mask(self, names: Iterable[str]) -> int:
        mask = 0
        for name in names:
            bit = self.bits.get(name)
            if bit is not None:
                mask |= 1 << bit
        return mask

    def loop(self, node: ast.While | ast.For, wanted: int) -> int:
        """A loop, to the fixed point of what is wanted at its head."""
        is_endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
        reads = self.read_by(node)
        each = reads if isinstance(node, ast.While) else 0  # a test is asked in each round, a source once
        head = each | (0 if is_endless else self.block(node.orelse, wanted))
        while True:
            self.exits.append((wanted, head))
            inside = self.block(node.body, head)
            self.exits.pop()
            if isinstance(node, ast.For):
                inside = self.set(targets_of(node.target), inside)
            before, head = head, head | inside
            if head == before:
                return head | reads

    def try_(self, node: ast.Try, wanted: int) -> int:
        handled = 0
        for handler in node.handlers:
            handled |= self.block(handler.body, wanted)
        outer, self.caught = self.caught, self.caught | handled
        inside = self.block(node.body, self.block(node.orelse, wanted))
        self.caught = outer
        return inside

    def with_(self, node: ast.With, wanted: int) -> int:
        """The manager may swallow an error: what comes after is wanted all through the body."""
        outer, self.caught = self.caught, self.caught | wanted
        inside = self.block(node.body, wanted)
        self.caught = outer
        for item in node.items:
            inside = self.set(targets_of(item.optional_vars), inside)
        return inside | self.read_by(node) | wanted
