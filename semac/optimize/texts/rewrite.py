"""Holds characters as texts: `text[i] == "("` in place of `CHARS[text[i]] is char_open`.

Assumes inferred types. Sound because a character and its text tell the same: they are equal, ordered and of a class
alike; what sees more of it than that gets the character (`text_char`). A form of a type says what a variable holds
(`Type.form`), and operations on texts are operations of Python, so that no other pass takes the one for the other.
"""

from __future__ import annotations

from typing import Any

from sema_runtime.values.atoms import Char
from semac.anf.nodes import (
    Block,
    CallBuiltin,
    Expr,
    Guarded,
    Jump,
    Let,
    Lit,
    Move,
    Op,
    Python,
    Ref,
    Result,
)
from semac.anf.walk import map_exit, map_operands
from semac.ir.unit import Unit
from semac.optimize.loops.functions import temporary
from semac.optimize.operators import replace
from semac.optimize.texts.chains import join_at_once
from semac.optimize.texts.uses import (
    BRANCHES,
    CASES,
    CODES,
    EQUALITY,
    JOINS,
    ORDER,
    ORDINALS,
    REFS,
    TEXTS,
    Candidates,
    is_read_of_list,
    is_text_of,
    sought,
    takes_texts,
)
from semac.types.lattice import CHAR, FLAT, NATURAL, STR, Type, atom, make

TEXT = make(CHAR, form="text")  # a character held as text
STRING = atom(STR)


def hold_texts(unit: Unit) -> None:
    """Rewrites a unit in which characters can be held as texts."""
    if unit.is_text:
        return
    join_at_once(unit)
    candidates = Candidates(unit)
    if candidates.chosen or candidates.joined:
        Rewriter(candidates).run()


class Rewriter:
    def __init__(self, candidates: Candidates) -> None:
        self.candidates = candidates
        self.chosen = candidates.chosen
        self.walked = candidates.walked
        self.joined = candidates.joined
        self.dropped = {var for op, var in self.walked.items() if self.binds_text(op)}
        self.wanted = candidates.wanted()
        self.lists = self.dropped | set(candidates.sequences.values())
        self.lists |= {
            user.op.args[1].var  # type: ignore[attr-defined]
            for var, user in candidates.uses
            if type(user) is Let and var in self.chosen and sought(user.op) is not None
        }
        self.out: list[Let] = []
        self.span: Any = None

    def run(self) -> None:
        for var in self.chosen:
            var.type = TEXT
        for block in self.candidates.blocks:
            self.block(block)

    def binds_text(self, op: Any) -> bool:
        """Whether a loop over the characters of a text binds texts."""
        return op.target.var in self.chosen

    def holds(self, value: Expr) -> bool:
        return type(value) is Ref and value.var in self.chosen

    # Blocks

    def block(self, block: Block) -> None:
        self.out = []
        for instr in block.instrs:
            if instr.var is not None and instr.var in self.lists:
                continue  # the list of the characters of a text, which takes its place
            self.span = instr.op.span or self.span
            self.instruction(instr)
            self.out.append(instr)
        exit_ = block.exit
        if type(exit_) is Jump or block not in self.wanted:
            map_exit(exit_, self.character)
        elif type(exit_) is Result:
            exit_.value = self.text(exit_.value)
        block.instrs = self.out

    # Conversions

    def bind(self, op: Op, type_: Type, hint: str) -> Ref:
        var = temporary(hint, None)
        var.op, var.type, op.type, op.span = op, type_, type_, self.span
        self.out.append(Let(var, op))
        return Ref(var, type_)

    def character(self, value: Expr) -> Expr:
        """An operand as a character."""
        if type(value) is not Ref or not self.holds(value):
            return value
        return self.bind(Python("text_char", [Ref(value.var, TEXT)]), atom(CHAR), "char")

    def text(self, value: Expr) -> Expr:
        """A character as a text."""
        if self.holds(value):
            return Ref(value.var, TEXT)  # type: ignore[union-attr]
        if type(value) is Lit:
            return Lit(value.value.value, STRING) if type(value.value) is Char else value
        return self.bind(Python("value", [value]), TEXT, "text") if value.type.tags else value

    # Operations

    def instruction(self, instr: Let) -> None:
        op: Any = instr.op
        new = self.operation(instr, op)
        if new is None:
            map_operands(op, self.character)
            return
        if new is not op:
            new.span = op.span
            replace(instr, new)

    def operation(self, instr: Let, op: Any) -> Op | None:
        """An operation on texts in place of one on characters; None where it takes characters."""
        if op in self.walked and self.binds_text(op):
            op.how, op.sources = "text", [self.walked[op].op.args[0]]
            return op  # type: ignore[no-any-return]
        if instr.var in self.candidates.sequences:
            return Move(self.candidates.sequences[instr.var].op.args[0])
        if is_read_of_list(op) and op.args[0].var in self.candidates.sequences:
            if instr.var in self.chosen:
                op.type = TEXT
                return op  # type: ignore[no-any-return]
            return Python("text_char", [self.bind(op, TEXT, "text")], type=atom(CHAR))
        if type(op) is Move and instr.var in self.chosen:
            return Move(self.text(op.value), type=TEXT)
        if type(op) in BRANCHES and instr.var in self.chosen:
            op.type = TEXT
            map_operands(op, self.character)
            return op  # type: ignore[no-any-return]
        if is_text_of(op) and self.holds(op.args[0]):
            return Move(self.text(op.args[0]), type=op.type)
        if (chars := sought(op)) is not None and self.holds(op.args[0]):
            return Python("in", [self.text(op.args[0]), Lit(chars, STRING)], type=op.type)
        if type(op) is not CallBuiltin:
            return None
        if len(op.args) == 1 and type(op.args[0]) is Ref and op.args[0].var in self.joined:
            made = op.args[0].var
            made.type = self.joined[made].type = make(FLAT, item=STRING)
            self.joined[made].bare = True
            if op.name not in JOINS:
                return Python("len", [Ref(made, made.type)], type=op.type)
            return Python("join", [Ref(made, made.type), Lit("", STRING)], type=STRING)
        if instr.var in self.chosen:
            return self.made(op)
        if takes_texts(op) and any(map(self.holds, op.args)):
            return self.taken(op)
        return None

    def made(self, op: CallBuiltin) -> Op:
        """What makes a text in place of a character."""
        if op.name in REFS:
            op.type = TEXT  # inline/access.py knows what to do
            return op
        if op.name in CODES:
            if op.args[0].type.only(NATURAL):
                return Guarded([("small_code", (0,))], op.args, "chr", f"builtin:{op.name}", type=TEXT)
            made = self.bind(CallBuiltin(op.name, op.args, fixed=op.fixed), atom(CHAR), "char")
            return Python("value", [made], type=TEXT)
        assert op.name in CASES
        return Python(op.name, [self.text(op.args[0])], type=TEXT)

    def taken(self, op: CallBuiltin) -> Op:
        """What takes texts in place of characters."""
        args = [self.text(arg) for arg in op.args]
        if op.name in EQUALITY:
            return Python("eq", args, type=op.type)
        if op.name in ORDER:
            return Python(ORDER[op.name], args, type=op.type)
        if op.name in ORDINALS:
            return Python("ord_of", args, type=op.type)
        if op.name in TEXTS:
            return Move(args[0], type=STRING)
        if op.name in CASES:
            made = self.bind(Python(op.name, args), TEXT, "text")
            return Python("text_char", [made], type=op.type)
        return Python(op.name, args, type=op.type)
