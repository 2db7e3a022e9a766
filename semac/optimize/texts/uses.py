"""Which operations take a character as text, and which variables are worth holding as such.

A variable is one whose only definition makes a character of a text (`string-ref`, an item of `string->list`), of a
code point, of another such variable, or of branches that do. What takes it as a character gets one, at the price of
a look-up; so a variable is held as text where more of its uses take text than don't.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from sema_runtime.values.atoms import Char
from sema_runtime.values.lists import List
from semac.anf.build import is_fixed
from semac.anf.nodes import (
    Block,
    CallBuiltin,
    Comprehension,
    If,
    Iteration,
    Let,
    Lit,
    Match,
    Move,
    Op,
    Python,
    Ref,
    Result,
    SequencePattern,
    VarPattern,
)
from semac.anf.walk import all_blocks, exit_operands, named, operands, value_blocks
from semac.ir.intrinsics import CHAR_TABLES
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.texts.keyed import Keyed
from semac.types.lattice import CHAR, INT, STR

REFS = frozenset(("string-ref", "string/ref"))
CODES = frozenset(("integer->char", "integer/to-char"))
LISTS = frozenset(("string->list", "string/to-list", "string/chars"))
JOINS = frozenset(("list->string",))
COUNTS = frozenset(("length", "count"))
EQUALITY = frozenset(("=", "eq?", "equal?", "char=?"))
ORDER = {"char<?": "lt", "char>?": "gt", "char<=?": "le", "char>=?": "ge"}
ORDINALS = frozenset(("char->integer", "char/to-integer"))
TEXTS = frozenset(("char->string", "char/to-string"))
CASES = frozenset(("char-upcase", "char-downcase"))  # tables that give characters
BRANCHES = (If, Match)
KEYED = ("sort-by", "group-by", "key-by")


class Candidates:
    """The variables of a unit that can be held as text, and how each is used."""

    def __init__(self, unit: Unit) -> None:
        self.blocks = [block for form in unit.blocks for block in all_blocks(form)]
        self.counts = Counter(named(unit.blocks))  # how often each variable is used
        # Loops over the characters of texts → by the place of a source, the variables of the list and of the items.
        self.walked: dict[Op, dict[int, tuple[Var, Var]]] = {}
        self.joined: dict[Var, Comprehension] = {}  # lists of characters that are only joined
        self.sequences: dict[Var, Var] = {}  # of loops that hold an index of such a list → the variable of the list
        self.chosen: set[Var] = set()
        self.branches: list[Let] = []
        for block in self.blocks:
            for instr in block.instrs:
                self.instruction(instr)
        self.drop_other_sequences()
        self.uses = [*self.uses_of_chosen()] if self.chosen else []
        self.keyed = Keyed(self.blocks if self.chosen else [])
        while (poor := self.poor()) or self.keyed.drop_poor(self.chosen):
            self.chosen -= poor

    # What can be held as text

    def instruction(self, instr: Let) -> None:
        op, var = instr.op, instr.var
        if isinstance(op, Iteration):
            for position, item in items_of(op):
                self.loop(op, position, item)
        if type(op) is CallBuiltin and (op.name in JOINS or op.name in COUNTS) and len(op.args) == 1:
            self.join(op)
        if var is not None and type(op) is Python and op.kind == "flat_items":
            made = self.list_of(op.args[0])
            if made is not None:
                self.sequences[var] = made
        if var is not None and is_character(var) and not var.is_global and makes_text(op):
            self.chosen.add(var)
            if type(op) in BRANCHES:
                self.branches.append(instr)

    def loop(self, op: Iteration, position: int, item: Var) -> None:
        """A loop over the characters of a text, unless it puts the characters themselves into what it makes."""
        made = self.list_of(op.sources[position])
        if made is not None and getattr(op, "kind", "") not in KEYED:
            self.walked.setdefault(op, {})[position] = made, item
            if is_character(item):
                self.chosen.add(item)

    def list_of(self, value: Any) -> Var | None:
        """The variable of a list of the characters of a text, where this is its one use."""
        op = value.var.op if type(value) is Ref and is_fixed(value.var) and not value.var.is_global else None
        if type(op) is not CallBuiltin or op.name not in LISTS or len(op.args) != 1 or self.counts[value.var] > 1:
            return None
        text = op.args[0]
        return value.var if stays(text) or not text.type.only(STR) else None

    def drop_other_sequences(self) -> None:
        """Keeps the sequences of which nothing but items that are there and the length is read."""
        for block in self.blocks:
            for instr in block.instrs:
                for index, value in enumerate(operands(instr.op)):
                    if type(value) is Ref and value.var in self.sequences:
                        op = instr.op
                        if type(op) is not Python or op.kind not in ("part", "len") or index:
                            del self.sequences[value.var]
            for value in exit_operands(block.exit):
                if type(value) is Ref:
                    self.sequences.pop(value.var, None)
        for block in self.blocks:
            for instr in block.instrs:
                if is_read_of_list(instr.op) and instr.op.args[0].var not in self.sequences:  # type: ignore[attr-defined]
                    self.chosen.discard(instr.var)

    def join(self, op: CallBuiltin) -> None:
        """A list of characters that becomes a text, or is counted, and has no other use."""
        (made,) = op.args
        if type(made) is not Ref or not is_fixed(made.var) or made.var.is_global or self.counts[made.var] > 1:
            return
        comprehension = made.var.op
        if type(comprehension) is Comprehension and comprehension.kind == "list" and made.type.item.only(CHAR):
            if type(comprehension.body.exit) is Result:
                self.joined[made.var] = comprehension

    # What is worth it

    def poor(self) -> set[Var]:
        """Variables that more uses want as characters."""
        as_text: Counter[Var] = Counter()
        others: Counter[Var] = Counter()
        wanted = self.wanted()
        for var, user in self.uses:
            is_text = self.takes_text(user) if type(user) is Let else user in wanted and type(user.exit) is Result
            (as_text if is_text else others)[var] += 1
        return {var for var in self.chosen if self.is_poor(var, as_text[var], others[var])}

    def uses_of_chosen(self) -> Iterator[tuple[Var, Let | Block]]:
        """The instructions that use variables, and the blocks whose exits do."""
        chosen = self.chosen
        for block in self.blocks:
            for instr in block.instrs:
                for value in operands(instr.op):
                    if type(value) is Ref and value.var in chosen:
                        yield value.var, instr
            for value in exit_operands(block.exit):
                if type(value) is Ref and value.var in chosen:
                    yield value.var, block

    def wanted(self) -> set[Block]:
        """The blocks whose values are wanted as texts."""
        found = {comprehension.body for comprehension in self.joined.values()}
        for instr in self.branches:
            if instr.var in self.chosen:
                found.update(value_blocks(instr.op))
        return found

    def is_poor(self, var: Var, as_text: int, others: int) -> bool:
        op = var.op
        if type(op) in BRANCHES:
            return others > 0 or not any(self.gives_text(inner) for inner in value_blocks(op))
        if type(op) is CallBuiltin and (op.name in CODES or op.name in CASES):
            return others > 0
        return others > max(as_text, 1) or (type(op) is Move and others > 0)

    def gives_text(self, block: Block) -> bool:
        exit_ = block.exit
        value = exit_.value if type(exit_) is Result else None
        return type(value) is Lit or (type(value) is Ref and value.var in self.chosen)

    def takes_text(self, instr: Let) -> bool:
        """Whether an operation can do with texts in place of characters."""
        op: Any = instr.op
        if type(op) is Move:
            return instr.var in self.chosen
        return (
            op in self.keyed.members
            or is_text_of(op)
            or sought(op) is not None
            or (type(op) is CallBuiltin and takes_texts(op))
        )


def items_of(op: Iteration) -> list[tuple[int, Var]]:
    """The places of the sources of a loop, each with the variable that is bound to its items."""
    target = op.target
    if op.how == "items":
        return [(0, target.var)] if type(target) is VarPattern else []
    if type(target) is not SequencePattern or op.how not in ("zip", "indexed"):
        return []
    parts = enumerate(target.parts[1:] if op.how == "indexed" else target.parts)
    return [(position, part.var) for position, part in parts if type(part) is VarPattern]


def is_text_of(op: Op) -> bool:
    """Whether an operation asks for the text of a character: `c.value`."""
    return type(op) is Python and op.kind == "value" and op.args[0].type.only(CHAR)


def sought(op: Op) -> str | None:
    """The characters of a literal list in which an operation searches for one, as a text."""
    if type(op) is not Python or op.kind != "in" or not op.args[0].type.only(CHAR) or type(op.args[1]) is not Ref:
        return None
    made = op.args[1].var.op
    source = made.args[0] if type(made) is Python and made.kind in ("flat_items", "list_items") else None
    if type(source) is not Lit or type(source.value) is not List:
        return None
    items = source.value.items
    return "".join(item.value for item in items) if all(type(item) is Char for item in items) else None


def takes_texts(op: CallBuiltin) -> bool:
    if not all(arg.type.only(CHAR) for arg in op.args):
        return False
    if op.name in EQUALITY or op.name in ORDER:
        return len(op.args) == 2
    return len(op.args) == 1 and (op.name in ORDINALS or op.name in TEXTS or op.name in CHAR_TABLES)


def is_read_of_list(op: Any) -> bool:
    """Whether an operation reads an item of a sequence by an index that surely is one."""
    return type(op) is Python and op.kind == "part" and type(op.args[0]) is Ref


def is_character(var: Var) -> bool:
    return is_fixed(var) and var.type is not None and var.type.only(CHAR)


def is_local(var: Var) -> bool:
    return is_fixed(var) and not var.is_global


def stays(value: Any) -> bool:
    return type(value) is Lit or (type(value) is Ref and is_local(value.var))


def makes_text(op: Op) -> bool:
    """Whether an operation can make a text in place of a character."""
    if type(op) is CallBuiltin:
        if op.name in REFS:
            return len(op.args) == 2 and op.args[0].type.only(STR) and op.args[1].type.only(INT)
        if op.name in CODES:
            return len(op.args) == 1 and op.args[0].type.only(INT)
        return op.name in CASES and len(op.args) == 1 and op.args[0].type.only(CHAR)
    if type(op) is Move:
        return type(op.value) is Ref
    return type(op) in BRANCHES or is_read_of_list(op)
