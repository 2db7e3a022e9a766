"""Which stacks hold nothing but characters, and become nothing but a text: `(list->string (reverse chars))`.

Their items are texts from the start, and the text is joined from the stack, without a list of the language.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from semac.anf import nodes as anf
from semac.anf.nodes import Block, Op, Ref, Result
from semac.anf.walk import blocks, exit_operands, operands
from semac.ir.nodes import Var
from semac.optimize.own.analysis import Analysis
from semac.optimize.own.groups import Group
from semac.optimize.own.representation import CHANGE, MOVE, READ
from semac.types.lattice import CHAR

SIZES = frozenset(("null?", "empty?", "pair?", "length", "count"))  # readers that see no item


def is_join(op: Op) -> bool:
    return type(op) is anf.CallBuiltin and op.name == "list->string" and len(op.args) == 1


def text_groups(analysis: Analysis) -> tuple[set[Group], set[Block]]:
    """The groups of such stacks, and the code that makes texts of lists, which others may have reversed."""
    look = Look(analysis)
    for code in analysis.code:
        for block in code.blocks:
            for instr in block.instrs:
                look.instruction(instr.op, instr.var)
            look.exit(block)
    found = {group for group in look.pushed - look.others if group is not None and group.is_raw}
    return found, look.joining if found else set()


class Look:
    """pushed: groups that get characters. others: those with items of other kinds, or seen by something else."""

    def __init__(self, analysis: Analysis) -> None:
        self.form = analysis.form
        self.groups = analysis.groups
        self.pushed: set[Group | None] = set()
        self.others: set[Group | None] = set()
        self.targets: dict[Block, Any] = {}  # what gets the value of each block
        self.uses: Counter[Var] = Counter()
        self.joined: set[Var] = set()  # what becomes a text
        self.joining: set[Block] = set()  # the code that does so
        for code in analysis.everything:
            self.targets[code.block] = code.function
            for block in code.blocks:
                self.count(exit_operands(block.exit))
                for instr in block.instrs:
                    self.count(operands(instr.op))
                    self.targets.update(dict.fromkeys(blocks(instr.op), instr.var))
                    if is_join(instr.op) and type(instr.op.args[0]) is Ref:  # type: ignore[attr-defined]
                        self.joined.add(instr.op.args[0].var)  # type: ignore[attr-defined]
                        self.joining.add(code.block)

    def count(self, values: list[Any]) -> None:
        self.uses.update(value.var for value in values if type(value) is Ref)

    def instruction(self, op: Any, var: Var | None) -> None:
        if var is not None and self.form.fresh(op) and type(op) is anf.CallBuiltin and op.args:
            self.others.add(self.groups.known(var))
        for use in self.form.uses_of(op, var):
            group = self.groups.known(use.var)
            if use.how == CHANGE:
                if type(op) is anf.CallBuiltin and op.name == "append":
                    self.others.add(group)  # its items are characters
                elif type(op) is anf.CallBuiltin and op.name == "cons":
                    (self.pushed if op.args[0].type.only(CHAR) else self.others).add(group)
            elif use.how == READ:
                if type(op) is not anf.CallBuiltin or op.name not in SIZES:
                    self.others.add(group)
            elif use.how == MOVE:
                if self.groups.known(use.target) is not group:  # it becomes a list there
                    self.others.add(group)
            elif not self.becomes_text(op, var):
                self.others.add(group)

    def becomes_text(self, op: Any, var: Var | None) -> bool:
        if is_join(op):
            return True
        is_reversed = type(op) is anf.CallBuiltin and op.name == "reverse" and len(op.args) == 1
        return is_reversed and var in self.joined and self.uses[var] == 1

    def exit(self, block: Block) -> None:
        """The value of a block is shown to others, unless what gets it is of the same group."""
        for value in exit_operands(block.exit):
            if type(block.exit) is Result and type(value) is Ref and self.form.is_held(value):
                group = self.groups.known(value.var)
                if self.groups.known(self.targets.get(block)) is not group:
                    self.others.add(group)
