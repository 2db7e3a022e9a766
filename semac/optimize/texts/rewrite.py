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
    CallRuntime,
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
    SetItem,
)
from semac.anf.walk import map_exit, map_operands
from semac.ir.intrinsics import CHAR_KEYED, CHECKED_TEXT
from semac.ir.nodes import Var
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
    LISTS,
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
        self.keyed = candidates.keyed
        self.dropped = {
            var for sources in self.walked.values() for var, item in sources.values() if item in self.chosen
        }
        self.wanted = candidates.wanted()
        self.lists = self.dropped | set(candidates.sequences.values())
        self.lists |= {
            user.op.args[1].var  # type: ignore[attr-defined]
            for var, user in candidates.uses
            if type(user) is Let and var in self.chosen and sought(user.op) is not None
        }
        self.checked = set(filter(is_checked, self.lists))
        self.texts = {
            var: Ref(var, STRING) if var in self.checked else var.op.args[0]
            for var in self.lists
            if type(var.op) is CallBuiltin
        }
        self.out: list[Let] = []
        self.span: Any = None

    def run(self) -> None:
        for var in self.chosen:
            var.type = TEXT
        for block in self.candidates.blocks:
            self.block(block)

    def holds(self, value: Expr) -> bool:
        return type(value) is Ref and value.var in self.chosen

    # Blocks

    def block(self, block: Block) -> None:
        self.out = []
        for instr in block.instrs:
            if instr.var is not None and instr.var in self.lists:
                if instr.var in self.checked:
                    self.check(instr)
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

    def check(self, instr: Let) -> None:
        """In place of a list of characters stands what it would have been made of, which must be a text."""
        assert type(instr.op) is CallBuiltin and instr.var is not None
        replace(instr, CallRuntime(CHECKED_TEXT, instr.op.args, span=instr.op.span, type=STRING))
        instr.var.type = STRING
        self.out.append(instr)

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
        if op in self.walked:
            return self.walk(op)
        if op in self.keyed.members or op in self.keyed.made or op in self.keyed.wraps:
            return self.of_dict(op)
        if instr.var in self.candidates.sequences:
            return Move(self.texts[self.candidates.sequences[instr.var]])
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

    def walk(self, op: Any) -> Op | None:
        """A loop over texts in place of lists of their characters; None where it goes through no text."""
        texts = {place: self.texts[var] for place, (var, item) in self.walked[op].items() if item in self.chosen}
        if texts and op.how == "items":
            op.how, op.sources = "text", [texts[0]]
        for place, text in texts.items() if op.how != "text" else ():
            op.sources[place] = self.bind(Python("text_items", [text]), make(FLAT, item=TEXT), "text")
        return op if texts else None

    def of_dict(self, op: Any) -> Op:
        """An operation on a dict whose keys are texts in place of characters."""
        if op in self.keyed.wraps:
            op.args[0] = self.bind(CallRuntime(CHAR_KEYED, op.args[:1]), op.args[0].type, "entries")
        elif op in self.keyed.made:
            op.items = [value if index % 2 else self.text(value) for index, value in enumerate(op.items)]
        elif type(op) is SetItem:
            op.key, op.value = self.text(op.key), self.character(op.value)
        else:
            key = self.keyed.key_of[op]
            op.args = [self.text(arg) if index == key else self.character(arg) for index, arg in enumerate(op.args)]
        return op  # type: ignore[no-any-return]

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


def is_checked(var: Var) -> bool:
    """Whether the list of the characters of a value is one that may be no text."""
    return type(var.op) is CallBuiltin and var.op.name in LISTS and not var.op.args[0].type.only(STR)
