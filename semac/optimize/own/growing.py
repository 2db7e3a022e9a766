"""Lists that grow at their end as lists of Python: `(append items (list x))` appends, `last` reads the last item.

A program that collects items in their order copies no list for each of them then. Where others get to see such a list,
a list of the language adopts the items: nothing uses them afterwards.
"""

from __future__ import annotations

from typing import Any

from semac.anf import nodes as anf
from semac.anf.literals import literal
from semac.anf.nodes import Expr, Let, Lit, Op, Python, Ref
from semac.anf.walk import all_blocks, exit_operands, operands
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.operators import replace
from semac.optimize.own.analysis import Analysis
from semac.optimize.own.representation import CHANGE, READ, Representation, Use
from semac.optimize.own.rewrite import Rewriter, rewrite_groups
from semac.optimize.own.stacks import KNOWN, bind_short_lists, makes_list
from semac.types.lattice import BOOL, FLAT, LIST, NIL, VECTOR, Type, atom

READERS = {
    "null?": "is_drained", "empty?": "is_drained", "pair?": "is_filled", "last": "top", "length": "size",
    "count": "size",
}  # fmt: skip
DROP = "list/drop-last"


class Growing(Representation):
    """copies: what others get to see isn't used afterwards, since they have the list itself."""

    tags = LIST
    copies = True
    readers = READERS

    def fresh(self, op: Op) -> str:
        return "List" if makes_list(op) else ""

    def builtin_uses(self, op: anf.CallBuiltin, var: Var | None) -> list[Use]:
        if len(op.args) == 1 and (op.name in self.readers or op.name in KNOWN):
            return self.each(op, {0: READ})
        change = 0 if self.grows(op) else 1 if drops_last(op) else None
        if change is None:
            return self.each(op, {})
        return [use._replace(target=var) if use.how == CHANGE else use for use in self.each(op, {change: CHANGE})]

    def grows(self, op: anf.CallBuiltin) -> bool:
        """Whether items are added to a list that was there before."""
        if op.name != "append" or len(op.args) < 2 or op.as_value or not self.is_held(op.args[0]):
            return False
        if self.fresh(op.args[0].var.op):  # type: ignore[union-attr]
            return False
        return all(map(self.is_added, op.args[1:]))

    def is_added(self, items: Expr) -> bool:
        """Whether a value has its items at hand."""
        return items.type.only(FLAT | VECTOR)


def drops_last(op: anf.CallBuiltin) -> bool:
    """Whether an operation drops the last item of a list."""
    if op.name != DROP or len(op.args) != 2 or op.as_value or type(op.args[0]) is not Lit:
        return False
    return type(op.args[0].value) is int and op.args[0].value == 1


def grow_lists(unit: Unit) -> None:
    """Has lists that grow at their end be lists of Python.

    Assumes inferred types. Sound because such a list is changed only where liveness shows that it is read nowhere else
    afterwards under the name it had before, and by nobody who has seen it.
    """
    form = Growing()
    calls = (
        instr.op
        for top in unit.blocks
        for block in all_blocks(top)
        for instr in block.instrs
        if type(instr.op) is anf.CallBuiltin
    )
    if not any(map(form.grows, calls)):
        return
    for top in unit.blocks:
        for block in list(all_blocks(top)):
            bind_short_lists(block)
    rewrite_groups(unit, form, GrowingRewriter)


class GrowingRewriter(Rewriter):
    """counts: how often each variable is used."""

    hint = "items"

    def __init__(self, analysis: Analysis) -> None:
        super().__init__(analysis)
        self.counts: dict[Var, int] = {}
        for code in analysis.everything:
            for block in code.blocks:
                used = [value for instr in block.instrs for value in operands(instr.op)]
                for value in (*used, *exit_operands(block.exit)):
                    if type(value) is Ref:
                        self.counts[value.var] = self.counts.get(value.var, 0) + 1

    def make(self, instr: Let) -> None:
        op: Any = instr.op
        items: list[Expr] = op.args if type(op) is anf.CallBuiltin else [*map(literal, op.value.value.items)]
        replace(instr, Python("new_stack", items, span=op.span, type=op.type))

    def general_form(self, kind: str, value: Ref, span: Any, type_: Type) -> anf.Op:
        return Python("stack_reversed", [value], span=span, type=type_)

    def read(self, instr: Let) -> None:
        op: Any = instr.op
        if op.name in KNOWN:
            replace(instr, anf.Move(Lit(KNOWN[op.name], atom(BOOL)), type=atom(BOOL)))
        else:
            replace(instr, Python(READERS[op.name], [op.args[0]], span=op.span, type=op.type))

    def changed(self, instr: Let) -> Ref:
        op: Any = instr.op
        if op.name == DROP:
            subject: Ref = op.args[1]
            changes = [Python("drop_top", [subject])]
        else:
            subject = op.args[0]
            changes = [change for items in op.args[1:] for change in self.added(subject, items)]
        for change in changes:
            change.span, change.type = op.span, atom(NIL)
            self.out.append(Let(None, change))
        return subject

    def added(self, subject: Ref, items: Expr) -> list[Python]:
        """The operations that add the items of a list or a vector to a list."""
        if self.form.is_held(items) and self.kind(items.var):  # type: ignore[union-attr]
            return [Python("extend", [subject, items])]
        written = self.written(items)
        if written is not None:
            return [Python("append", [subject, item]) for item in written]
        return [Python("extend", [subject, self.items_of(items)])]

    def items_of(self, items: Expr) -> Expr:
        return self.bind(Python("flat_items", [items])) if items.type.only(FLAT) else items

    def written(self, items: Expr) -> list[Expr] | None:
        """The items of a list or vector that was written out for this alone, which then isn't made."""
        if type(items) is not Ref or items.var.name or items.var.captured or self.counts.get(items.var) != 1:
            return None
        op: Any = items.var.op
        made = [instr for instr in self.out if instr.var is items.var]
        is_list = type(op) is anf.CallBuiltin and op.name == "list"
        if not (is_list or type(op) is anf.MakeVector) or len(made) != 1 or made[0].op is not op:
            return None
        self.out.remove(made[0])
        return getattr(op, "args" if is_list else "items")  # type: ignore[no-any-return]
