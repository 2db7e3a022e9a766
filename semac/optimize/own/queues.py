"""Lists that grow at their end and shrink at their head as queues of Python: `(append queue (list x))` appends, `(rest
queue)` drops the first item.

A program that goes through what there is to do, and adds to it, then copies nothing: a search by breadth, jobs that are
tried again. Only lists to which both happen are queues, for others a list serves better. Where others get to see a
queue, a list of the language is made of it, once: nothing uses the queue afterwards.
"""

from __future__ import annotations

from typing import Any

from semac.anf import nodes as anf
from semac.anf.literals import literal
from semac.anf.nodes import Expr, Let, Op, Python, Ref
from semac.anf.walk import all_blocks
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.loops.suffixes import RESTS
from semac.optimize.operators import replace
from semac.optimize.own import growing
from semac.optimize.own.growing import Growing, GrowingRewriter
from semac.optimize.own.representation import CHANGE, Use
from semac.optimize.own.rewrite import rewrite_groups
from semac.optimize.own.stacks import KNOWN, bind_short_lists, is_slice, makes_list
from semac.types.lattice import FLAT, LIST, VECTOR, atom
from semac.types.lattice import NIL as NIL_TAG

GROWS, SHRINKS = 1, 2
READERS = {**growing.READERS, "car": "queue_head", "first": "queue_head"}
TAKES = {"queue_first": "take_first", "queue_head": "take_head"}


class Queues(Growing):
    """A queue must both grow and shrink."""

    needed = GROWS | SHRINKS
    readers = READERS

    def fresh(self, op: Op) -> str:
        is_new = type(op) is anf.Comprehension or (type(op) is anf.CallBuiltin and op.name == "range")
        return "List" if is_new or makes_list(op) else ""

    def gain(self, op: Op) -> int:
        return SHRINKS if is_slice(op) or op.name in RESTS else GROWS  # type: ignore[attr-defined]

    def uses_of(self, op: Op, var: Var | None) -> list[Use]:
        if is_slice(op) and self.is_held(op.args[0]):  # type: ignore[attr-defined]
            return [Use(op.args[0].var, CHANGE, var)]  # type: ignore[attr-defined]
        return super().uses_of(op, var)

    def builtin_uses(self, op: anf.CallBuiltin, var: Var | None) -> list[Use]:
        if op.name in RESTS and len(op.args) == 1:
            return [use._replace(target=var) for use in self.each(op, {0: CHANGE})]
        return super().builtin_uses(op, var)

    def is_added(self, items: Expr) -> bool:
        return items.type.only(LIST) or items.type.only(VECTOR)


def queue_lists(unit: Unit) -> None:
    """Has lists that grow at their end and shrink at their head be queues.

    Assumes inferred types. Sound because a queue is changed only where liveness shows that its list is read nowhere
    else afterwards, and by nobody who has seen it. Linear because a queue that is copied into a list of the language is
    used no more, and because it begins as a list that was made where it begins.
    """
    ops = (instr.op for top in unit.blocks for block in all_blocks(top) for instr in block.instrs)
    if not any(is_slice(op) or (type(op) is anf.CallBuiltin and op.name in RESTS) for op in ops):
        return
    for top in unit.blocks:
        for block in list(all_blocks(top)):
            bind_short_lists(block)
    rewrite_groups(unit, Queues(), QueueRewriter)


class QueueRewriter(GrowingRewriter):
    def make(self, instr: Let) -> None:
        op: Any = instr.op
        if makes_list(op):
            items: list[Expr] = op.args if type(op) is anf.CallBuiltin else [*map(literal, op.value.value.items)]
            replace(instr, Python("new_queue", items, span=op.span, type=op.type))
            return
        made = self.bind(op, op.span)
        made.var.type = made.type = op.type
        replace(instr, Python("queue_of", [made], span=op.span, type=op.type))

    def general_form(self, kind: str, value: Ref, span: Any, type_: Any) -> anf.Op:
        return Python("queue_list", [value], span=span, type=type_)

    def read(self, instr: Let) -> None:
        op: Any = instr.op
        if op.name in KNOWN or READERS[op.name] != "queue_head":
            super().read(instr)
            return
        replace(instr, Python("queue_first" if op.filled else "queue_head", op.args, span=op.span, type=op.type))

    def changed(self, instr: Let) -> Ref:
        op: Any = instr.op
        dropped = 1 if is_slice(op) else RESTS.get(op.name, 0)
        if not dropped:
            return super().changed(instr)
        subject: Ref = op.args[0]
        if self.took_item(subject, TAKES):
            dropped -= 1
        for _ in range(dropped):
            self.out.append(Let(None, Python("drop_head", [subject], span=op.span, type=atom(NIL_TAG))))
        return subject

    def items_of(self, items: Expr) -> Expr:
        if items.type.only(VECTOR):
            return items
        return self.bind(Python("flat_items" if items.type.only(FLAT) else "list_items", [items]))
