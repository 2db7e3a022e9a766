"""Has lists that are only taken apart be tuples: `(list k n)` that is kept, sorted and read by `first` and `cadr`.

A unit that nobody sees into makes such rows, hands them through its functions, lists and maps, and reads their items:
nobody can tell them from vectors, which are Python's tuples. So are the entries that `map/entries` makes.

Sound because each list of which a place tells (`flow.py`) is one that the unit makes, of one length, and because what
is done with it, wherever it goes, gives the same for a tuple: items are read at indices that it has, it is compared
with nil, counted, gone through. Anything else, and everything that isn't known, is seen.
"""

from __future__ import annotations

from typing import Any

from semac.anf.nodes import Block, Comprehension, Iteration, Let, MakeVector, Ref, Result, VarPattern
from semac.anf.walk import all_blocks, refs
from semac.fingerprint import is_traced
from semac.ir.nodes import Var
from semac.ir.unit import Unit, left_out
from semac.optimize.loops.functions import temporary
from semac.optimize.operators import replace
from semac.optimize.rows.flow import Flows
from semac.optimize.rows.places import Place, found
from semac.optimize.rows.rules import RULES
from semac.optimize.rows.shapes import Shapes


def make_tuples(unit: Unit) -> None:
    """Rewrites the lists of a unit that can be tuples."""
    if unit.is_text or unit.is_input or is_traced():
        return
    flows = Flows(unit, RULES)
    if "shapes" not in left_out(unit):
        Shapes(flows).rewrite_all(unit)
    rows: dict[Let, Place] = {}
    for place in {found(each) for each in flows.all}:
        if place.is_row:
            rows.update(dict.fromkeys(place.sites, place))
    if not rows:
        return
    for form in unit.blocks:
        for block in all_blocks(form):
            for instr in [instr for instr in block.instrs if instr in rows]:
                op: Any = instr.op
                if op.name == "list":
                    replace(instr, MakeVector(op.args, span=op.span))
                else:
                    take_pairs(form, block, instr)


def take_pairs(form: Block, block: Block, instr: Let) -> None:
    """Has entries be what a map gives for them."""
    call: Any = instr.op
    user = only_loop(form, block, instr.var)
    if user is not None:
        user.how, user.sources, user.who, user.place = "pairs", call.args, call.name, call.span
        block.instrs.remove(instr)
        return
    entry: Any = temporary("entry", instr.var.owner if instr.var is not None else None)
    body = Block([], Result(Ref(entry)))
    pairs = Comprehension(VarPattern(entry), "pairs", call.args, call.name, "list", [], body, span=call.span)
    replace(instr, pairs)


def only_loop(form: Block, block: Block, var: Var | None) -> Any:
    """The loop right behind a call that alone goes through what it gives; None where there is none."""
    if var is None or var.name or sum(ref.var is var for ref in refs(form)) != 1:
        return None
    for before, after in zip(block.instrs, block.instrs[1:], strict=False):
        if before.var is var:
            op = after.op
            is_over = isinstance(op, Iteration) and op.how == "items" and type(op.sources[0]) is Ref
            return op if is_over and op.sources[0].var is var else None  # type: ignore[attr-defined]
    return None
