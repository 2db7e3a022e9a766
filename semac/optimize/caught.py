"""Caught errors of which only entries are read aren't made into condition maps; thrown maps aren't made into maps.

Sound because the handler's variable is then used in nothing but `(:key e)`, which the runtime answers from the
exception as it would from the map, and `(:key (:value e))` of what was thrown; and because a map written in `throw` has
no other use. A variable that a closure captures, or that is assigned, is left alone.
"""

from __future__ import annotations

from sema_runtime.values.atoms import keyword
from sema_runtime.values.maps import PLAIN
from semac.anf.build import is_fixed
from semac.anf.nodes import Block, CallRuntime, Let, Lit, MakeMap, Ref, Throw, Try
from semac.anf.walk import all_blocks, refs
from semac.ir.intrinsics import KEYWORD_GET
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.operators import replace

CONDITION_FIELD = "sema_runtime.conditions.caught:condition_field"
THROWN_FIELD = "sema_runtime.conditions.caught:thrown_field"
VALUE, TYPE = keyword("value"), keyword("type")


def read_caught_fields(unit: Unit) -> None:
    """Rewrites the handlers of `try`, and `throw` of maps, in all blocks of a unit."""
    for form in unit.blocks:
        for block in list(all_blocks(form)):
            for instr in block.instrs:
                if type(instr.op) is Try:
                    caught(instr.op)
                elif type(instr.op) is Throw:
                    thrown(instr.op, block)


def caught(op: Try) -> None:
    if not is_fixed(op.var):
        return
    reads = [
        instr for inner in all_blocks(op.handler, into_functions=False) for instr in inner.instrs if gets(instr, op.var)
    ]
    uses = sum(ref.var is op.var for ref in refs(op.handler))
    if not reads or len(reads) != uses:
        return
    op.is_exception = True
    for instr in reads:
        assert type(instr.op) is CallRuntime
        replace(instr, CallRuntime(CONDITION_FIELD, instr.op.args, span=instr.op.span))
    values = {instr.var: instr for instr in reads if instr.op.args[1].value is VALUE and not instr.var.name}  # type: ignore[attr-defined, union-attr]
    for inner in all_blocks(op.handler, into_functions=False):
        for instr in inner.instrs:
            for value in values:
                if value is not None and gets(instr, value) and sum(ref.var is value for ref in refs(op.handler)) == 1:
                    assert type(instr.op) is CallRuntime
                    replace(instr, CallRuntime(THROWN_FIELD, [Ref(op.var), instr.op.args[1]], span=instr.op.span))


def gets(instr: Let, var: Var) -> bool:
    """Whether an instruction reads an entry with a known key of a variable."""
    op = instr.op
    if type(op) is not CallRuntime or op.path not in (KEYWORD_GET, CONDITION_FIELD):
        return False
    subject, key = op.args
    return type(subject) is Ref and subject.var is var and type(key) is Lit


def thrown(op: Throw, block: Block) -> None:
    value = op.value
    if type(value) is not Ref or type(value.var.op) is not MakeMap or value.var.name:
        return
    made = value.var.op
    plain = all(type(key) is Lit and type(key.value) in PLAIN and key.value is not TYPE for key in made.items[0::2])
    if plain and sum(ref.var is value.var for ref in refs(block)) == 1:
        made.is_raw = op.is_map = True
