"""Loops that only add up integers become `sum(...)`, those that keep the greatest or least `max(...)` or `min(...)`.

Assumes inferred types and lowered operators. Sound because the sum of ints doesn't depend on how it is made, and `sum`
of exact ints is their sum, as `max` is the greatest of them; floats are added in the order of the loop: newer versions
of Python's `sum` round less. Loops that add up values of unknown types call `add_items`, which asks all items at once
what they are, and else adds as the loop would.
"""

from __future__ import annotations

from semac.anf.nodes import (
    Block,
    CallRuntime,
    Comprehension,
    Expr,
    For,
    Guarded,
    If,
    Jump,
    Let,
    Lit,
    Op,
    Python,
    Ref,
    Result,
    VarPattern,
)
from semac.anf.walk import all_blocks, is_ref
from semac.ir.unit import Unit
from semac.optimize.loops.functions import temporary
from semac.optimize.operators import replace
from semac.types.lattice import BOOL, FLAT, INT, NATURAL, VECTOR, atom

SUMS = "sema_runtime.lib.numbers.sums:"
ADDING = {  # what a guarded addition calls for other operands → what does the same for many
    "builtin:+": SUMS + "plus_items",
    "sema_runtime.lib.numbers.arithmetic:add": SUMS + "add_items",
}


def sum_ints(unit: Unit) -> None:
    """Rewrites the loops of a unit that add each item to one parameter."""
    for form in unit.blocks:
        for block in all_blocks(form):
            if any(type(instr.op) is For for instr in block.instrs):
                block.instrs = [new for instr in block.instrs for new in summed(instr, unit.is_text)]


def summed(instr: Let, is_text: bool) -> list[Let]:
    op, var = instr.op, instr.var
    if type(op) is not For or var is None:
        return [instr]
    kept = kept_item(op)
    if kept:
        return greatest(instr, op, kept)
    if not is_text and adds_unknown(op):
        return with_call(instr, op)
    if not adds_items(op):
        return [instr]
    item: Expr = Ref(op.target.var, atom(INT))  # type: ignore[attr-defined]
    total = Comprehension(op.target, op.how, op.sources, op.who, "sum", [], Block([], Result(item)), span=op.span)
    total.place = op.place
    total.type = atom(INT)
    (init,) = op.inits
    if type(init) is Lit and init.value == 0:
        instr.op = total
        if var.op is op:
            var.op = total
        return [instr]
    part = temporary("total", var.owner)
    part.op = total
    added = Python("add", [init, Ref(part, total.type)], span=op.span, type=total.type)
    instr.op = added
    if var.op is op:
        var.op = added
    return [Let(part, total), instr]


def adds_items(op: For) -> bool:
    """Whether all that happens to an item is that it is added to the only parameter, and both are ints."""
    step = only_step(op)
    if type(step) is not Python or step.kind != "add" or len(step.args) != 2:
        return False
    if not all(type(arg) is Ref and arg.type.only(INT) for arg in [*step.args, *op.inits] if type(arg) is not Lit):
        return False
    sides = [getattr(arg, "var", None) for arg in step.args]
    return sides in ([op.params[0], op.target.var], [op.target.var, op.params[0]])  # type: ignore[attr-defined]


def only_step(op: For) -> Op | None:
    """The one operation that makes the next value of the only parameter, which is the value of the loop at its end."""
    exit_ = op.body.exit
    if type(exit_) is not Jump or len(op.params) != 1 or len(op.inits) != 1 or len(op.body.instrs) != 1:
        return None
    (acc,), (added,), leaving = op.params, op.body.instrs, op.after.exit
    if type(op.target) is not VarPattern or not is_ref(exit_.args[0], added.var):
        return None
    is_value = type(leaving) is Result and is_ref(leaving.value, acc) and not op.after.instrs
    return added.op if is_value else None


def adds_unknown(op: For) -> bool:
    """Whether all that happens to an item is that it is added to the only parameter, behind a guard."""
    step = only_step(op)
    if op.how != "items" or op.leads or type(step) is not Guarded or step.fast != "add" or step.slow not in ADDING:
        return False
    if step.tests != [("number", (0, 1))]:
        return False
    return [getattr(arg, "var", None) for arg in step.args] == [op.params[0], op.target.var]  # type: ignore[attr-defined]


def with_call(instr: Let, op: For) -> list[Let]:
    """The call that adds the items of a loop of unknown types."""
    step = only_step(op)
    items = CallRuntime("sema_runtime.values.matching:iterate", [op.sources[0], Lit(op.who)], span=op.place or op.span)
    held = temporary("items", instr.var.owner)  # type: ignore[union-attr]
    held.op = items
    slow = ADDING[step.slow]  # type: ignore[union-attr]
    replace(instr, CallRuntime(slow, [op.inits[0], Ref(held)], span=step.span, type=op.type))  # type: ignore[union-attr]
    return [Let(held, items), instr]


def greatest(instr: Let, op: For, function: str) -> list[Let]:
    """`max(xs, default=first)`, and the greater of this and the value that the loop begins with."""
    (init,), owner = op.inits, instr.var.owner  # type: ignore[union-attr]
    best = Python(f"{function}_or", [op.sources[0], init], span=op.span, type=atom(INT))
    if function == "max" and type(init) is Lit and init.value == 0 and op.target.var.type.only(NATURAL):  # type: ignore[attr-defined]
        replace(instr, best)
        return [instr]
    part, test = temporary(f"{function}_of_items", owner), temporary("test", owner)
    part.op = best
    part.type = best.type
    test.op = Python("ge" if function == "max" else "le", [init, Ref(part, part.type)], span=op.span, type=atom(BOOL))
    choice = If(Ref(test, atom(BOOL)), Block([], Result(init)), Block([], Result(Ref(part, part.type))), span=op.span)
    choice.type = best.type
    replace(instr, choice)
    return [Let(part, best), Let(test, test.op), instr]


def kept_item(op: For) -> str:
    """ "max" or "min" of a loop over ints that goes on with the greater, or the lesser, of its value and each item; ""
    for others."""
    exit_, leaving = op.body.exit, op.after.exit
    if op.how != "items" or type(exit_) is not Jump or len(op.params) != 1 or len(op.inits) != 1 or op.after.instrs:
        return ""
    if len(op.body.instrs) != 2 or type(op.target) is not VarPattern or not op.sources[0].type.only(FLAT | VECTOR):
        return ""
    (acc,), item = op.params, op.target.var
    test, choice = op.body.instrs
    if not is_ref(exit_.args[0], choice.var) or type(leaving) is not Result or not is_ref(leaving.value, acc):
        return ""
    asked, chosen = test.op, choice.op
    if (
        type(asked) is not Python
        or asked.kind not in ORDER
        or type(chosen) is not If
        or not is_ref(chosen.test, test.var)
    ):
        return ""
    then, otherwise = chosen.then, chosen.otherwise
    if then.instrs or otherwise.instrs or type(then.exit) is not Result or type(otherwise.exit) is not Result:
        return ""
    kept = [then.exit.value, otherwise.exit.value]
    if not all(arg.type.only(INT) for arg in [*asked.args, *op.inits]) or not same_vars(kept, asked.args):
        return ""
    return ORDER[asked.kind] if same_vars(kept, [Ref(acc), Ref(item)]) or same_vars(kept, [Ref(item), Ref(acc)]) else ""


ORDER = {"ge": "max", "gt": "max", "le": "min", "lt": "min"}


def same_vars(values: list[Expr], others: list[Expr]) -> bool:
    return all(type(value) is Ref and is_ref(other, value.var) for value, other in zip(values, others, strict=True))
