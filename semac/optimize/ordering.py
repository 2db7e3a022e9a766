"""Comparators that compare keys of both elements sort by these keys.

`(sort xs (fn (a b) (- (:cost a) (:cost b))))` computes the cost of each element once, and Python sorts by it. So it is
with `<` and its kin, and with comparators of several keys (`comparators.py`). A function that goes through a list
of keys, `(compare-by :last :first)`, says at run time which these are; `sort` uses them where all are keywords.

Sound because the comparator has no effects and does the same with both elements, so what it says of two depends on
their keys alone; where all keys are ints, texts, or floats but NaN, each way to sort that keeps or turns the order of
equal keys, as the merge of the reference does, has one result. For other keys, and where one fails, the runtime merges
with the comparator itself.
"""

from __future__ import annotations

from typing import Any

from semac.anf.build import is_fixed
from semac.anf.nodes import Block, CallBuiltin, CallRuntime, Closure, Expr, Let, Lit, MakeVector, Op, Ref, Result
from semac.anf.walk import all_blocks, code_of, operands, refs
from semac.fingerprint import is_traced
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.comparators import Order, each_of, order_of
from semac.optimize.loops.functions import temporary
from semac.optimize.operators import replace
from semac.optimize.own.code import Code, all_code
from semac.optimize.own.rewrite import calls_any
from semac.optimize.versions.copies import Copier
from semac.types.lattice import NIL, VECTOR, atom

ORDERED_BY_EACH = "sema_runtime.lib.collections.sorting:ordered_by_each"
SORTED_AS = "sema_runtime.lib.collections.sorting:sorted_as"
SORTED_IN_TURN = "sema_runtime.lib.collections.sorting:sorted_in_turn"


def sort_by_keys(unit: Unit) -> None:
    """Gives sorts with comparators the key that these compare. Assumes inferred types."""
    if unit.is_text or unit.is_input or is_traced() or not calls_any(unit, frozenset(("sort",))):
        return
    for part in all_code(unit):
        made = {instr.var: instr.op for block in part.blocks for instr in block.instrs if type(instr.op) is Closure}
        for block in part.blocks:
            for instr in list(block.instrs):
                op: Any = instr.op
                if type(op) is Closure and instr.var is not None:
                    note_keys(block, instr, op.function)
                if type(op) is CallBuiltin and op.name == "sort" and len(op.args) == 2:
                    rewrite(part, block, instr, comparator(op.args[1], made))


def note_keys(block: Block, instr: Let, function: Function) -> None:
    """Says of a function that compares one key of a list after the other which these are: `sort` may use them."""
    each = each_of(function)
    if each is not None:
        var: Any = instr.var
        args: list[Expr] = [Ref(var, var.type), each.keys, Lit(each.is_down), Lit(each.is_turned)]
        noted = CallRuntime(ORDERED_BY_EACH, args, span=instr.op.span, type=atom(NIL))
        block.instrs.insert(block.instrs.index(instr) + 1, Let(None, noted))


def comparator(value: Expr, made: dict[Var | None, Any]) -> Function | None:
    """The function that a value surely is, where it can be copied here."""
    if type(value) is not Ref or not is_fixed(value.var):
        return None
    if value.var.is_global:
        return value.var.known_function
    return made[value.var].function if value.var in made else None


def rewrite(part: Code, block: Block, instr: Let, function: Function | None) -> None:
    order = order_of(function) if function is not None else None
    if function is None or order is None:
        return
    op: Any = instr.op
    var = temporary("key", part.function)
    made = key_function(function, order, part.function)
    var.op = Closure(made, span=op.span)
    var.type = var.op.type
    block.instrs.insert(block.instrs.index(instr), Let(var, var.op))
    args = [*op.args, Ref(var, var.type)]
    if len(order.keys) == 1:
        how = [Lit(order.keys[0].is_down), Lit(order.is_turned), Lit(order.keys[0].is_difference)]
        replace(instr, CallRuntime(SORTED_AS, [*args, *how], span=op.span, type=op.type))
        return
    downs, differences = (tuple(getattr(key, name) for key in order.keys) for name in ("is_down", "is_difference"))
    how = [Lit(downs), Lit(order.is_turned), Lit(differences)]
    replace(instr, CallRuntime(SORTED_IN_TURN, [*args, *how], span=op.span, type=op.type))


def key_function(function: Function, order: Order, parent: Function | None) -> Function:
    """A function of one element that has the key of it, a tuple of several."""
    copier = Copier()
    code = code_of(function)
    own = {*function.params}
    own.update(instr.var for block in all_blocks(code, into_functions=False) for instr in block.instrs if instr.var)
    for ref in refs(code):
        if ref.var not in own:  # of a function around it
            copier.made[id(ref.var)] = ref.var
    made: Function = copier.copy(function)
    for before, after in copier.vars:
        after.type = before.type
        after.op = copier.copy(before.op) if isinstance(before.op, Op) else before.op
    made.code.instrs = [copier.made[id(instr)] for instr in order.needed]
    keys = [copier.copy(key.value) for key in order.keys]
    if len(keys) > 1:
        var = temporary("keys", made)
        var.op = MakeVector(keys, span=code.instrs[-1].op.span)
        var.type = var.op.type = atom(VECTOR)
        made.code.instrs.append(Let(var, var.op))
        keys = [Ref(var, var.type)]
    made.code.exit = Result(keys[0])
    made.var, made.doc, made.parent, made.anonymous = None, None, parent, True
    kept = {instr.var for instr in made.code.instrs}
    kept |= {value.var for instr in made.code.instrs for value in operands(instr.op) if type(value) is Ref}
    kept |= {value.var for value in keys if type(value) is Ref}
    made.params = [param for param in made.params if param in kept]
    made.locals = [var for var in made.locals if var in kept]
    return made
