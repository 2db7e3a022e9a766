"""Lists that a loop collects with `append` begin as an empty list where the program writes `[]`.

`(foldl (fn (out x) (append out (list x))) [] xs)` gives a list, or `[]` where there are no items. Of a variable that is
a vector or a list little is known, so its items were copied for each new one. The variable now begins as `'()`; where
anybody sees it, it is `[]` as long as it is empty.

Sound because each `append` adds an item and gives a list: the variable is empty as long as it is what it began with.
What is the same of an empty list and an empty vector is read of the list.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from sema_runtime.values.lists import EMPTY
from semac.anf.build import is_fixed
from semac.anf.literals import literal
from semac.anf.nodes import Block, CallBuiltin, Expr, For, If, Jump, Let, Lit, Loop, MakeVector, Move, Op, Ref, Result
from semac.anf.walk import all_blocks, blocks, exit_operands, is_ref, map_exit, map_operands, operands, refs
from semac.fingerprint import is_traced
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.loops.functions import temporary

SAME = frozenset(("length", "count", "empty?"))  # what says the same of an empty list and an empty vector


def seed_lists(unit: Unit) -> None:
    """Rewrites the loops of a unit that collect items onto an empty vector; the text for people keeps it."""
    if unit.is_text or is_traced():
        return
    for form in unit.blocks:
        for block in list(all_blocks(form)):
            for instr in block.instrs:
                op: Any = instr.op
                if type(op) in (Loop, For):
                    for position, init in enumerate(op.inits):
                        seed = Seed(op, position) if is_empty_vector(init) else None
                        if seed is not None and seed.fits():
                            seed.rewrite()


def is_empty_vector(value: Expr) -> bool:
    """Whether a value is `[]`."""
    if type(value) is Lit:
        return value.value == () and type(value.value) is tuple
    op = value.var.op if type(value) is Ref and is_fixed(value.var) and not value.var.is_global else None
    return type(op) is MakeVector and not op.items


class Seed:
    """A variable of a loop that begins as an empty vector."""

    def __init__(self, op: Any, position: int) -> None:
        self.op = op
        self.position = position
        self.target = op.source if type(op) is Loop else op
        self.var: Var = op.params[position]
        roots = [op.body] if type(op) is Loop else [op.body, op.after]
        self.blocks = [block for root in roots for block in all_blocks(root, into_functions=False)]
        self.uses = Counter(ref.var for root in roots for ref in refs(root))
        self.chosen: Counter[Var] = Counter()  # variables of choices, by how often one is what the variable is next
        self.choices: set[Block] = set()  # the blocks whose results are what the variable is next
        self.grown = 0

    def fits(self) -> bool:
        if not is_fixed(self.var):
            return False
        nexts = [block.exit.args[self.position] for block in self.blocks if self.goes_back(block)]  # type: ignore[union-attr]
        if not all(map(self.is_next, nexts)) or not self.grown:
            return False
        inside = sum(
            is_ref(value, self.var)
            for block in self.blocks
            for value in (
                *(value for instr in block.instrs for value in operands(instr.op)),
                *exit_operands(block.exit),
            )
        )
        if any(self.uses[var] > count for var, count in self.chosen.items()):
            return False  # somebody else sees what was chosen
        return inside == self.uses[self.var]  # no closure uses it

    def goes_back(self, block: Block) -> bool:
        return type(block.exit) is Jump and block.exit.target is self.target

    def is_next(self, value: Expr) -> bool:
        """Whether a value is the variable's own, with items added or not."""
        if is_ref(value, self.var):
            return True
        op = value.var.op if type(value) is Ref and is_fixed(value.var) and not value.var.is_global else None
        if type(op) is If:
            self.chosen[value.var] += 1  # type: ignore[union-attr]
            inner = [block for block in blocks(op) if type(block.exit) is Result]
            self.choices.update(inner)
            return bool(inner) and all(self.is_next(block.exit.value) for block in inner)  # type: ignore[union-attr]
        if not self.grows(op):
            return False
        self.grown += 1
        return True

    def grows(self, op: Op | None) -> bool:
        """Whether an operation adds items to the variable's list, at least one."""
        if type(op) is not CallBuiltin or op.name != "append" or len(op.args) < 2 or not is_ref(op.args[0], self.var):
            return False
        return any(map(has_item, op.args[1:])) and not any(is_ref(arg, self.var) for arg in op.args[1:])

    def rewrite(self) -> None:
        self.op.inits[self.position] = literal(EMPTY)
        for block in self.blocks:
            out: list[Let] = []

            def shown(value: Expr, out: list[Let] = out) -> Expr:
                return self.shown(out) if is_ref(value, self.var) else value

            for instr in block.instrs:
                op = instr.op
                is_same = type(op) is CallBuiltin and op.name in SAME and len(op.args) == 1
                if not is_same and not self.grows(op):
                    map_operands(op, shown)
                out.append(instr)
            if self.goes_back(block):
                args: list[Expr] = block.exit.args  # type: ignore[union-attr]
                block.exit.args = [  # type: ignore[union-attr]
                    arg if index == self.position else shown(arg) for index, arg in enumerate(args)
                ]
            elif block not in self.choices:
                map_exit(block.exit, shown)
            block.instrs = out

    def shown(self, out: list[Let]) -> Ref:
        """`[]` where the list is empty, else the list."""
        owner = self.var.owner
        test = temporary("is_empty", owner)
        test.op = CallBuiltin("empty?", [Ref(self.var)], fixed=True, span=self.op.span)
        value = temporary(self.var.name or "items", owner)
        value.op = If(Ref(test), Block([], Result(literal(()))), Block([], Result(Ref(self.var))), span=self.op.span)
        out += [Let(test, test.op), Let(value, value.op)]
        return Ref(value)


def has_item(value: Expr) -> bool:
    """Whether a value is a list or vector that is written out with an item."""
    op = value.var.op if type(value) is Ref and is_fixed(value.var) and not value.var.is_global else None
    while type(op) is Move and type(op.value) is Ref:
        op = op.value.var.op
    if type(op) is CallBuiltin:
        return op.name == "list" and bool(op.args)
    if type(value) is Lit:
        return type(value.value) in (tuple, type(EMPTY)) and len(value.value) > 0
    return type(op) is MakeVector and bool(op.items)
