"""Which units run once from top to bottom: what passes of the compiler cost is more than they could save there."""

from __future__ import annotations

from sema_runtime.catalogue_index import INDEX
from semac.anf import nodes
from semac.anf.walk import all_blocks
from semac.box.profile import BUILTINS
from semac.ir.unit import Unit

ONCE = frozenset((  # operations that neither repeat anything nor make something that others will run
    nodes.Assign, nodes.Call, nodes.CallBuiltin, nodes.CallRuntime, nodes.Declare, nodes.GetField, nodes.If,
    nodes.IsRecord, nodes.Logic, nodes.MakeMap, nodes.MakeVector, nodes.Move, nodes.Read, nodes.Throw,
))  # fmt: skip
CALLERS = frozenset(name for name in BUILTINS if "->" in str(INDEX[name][7]).rpartition(" -> ")[0])  # of functions


def runs_once(unit: Unit) -> bool:
    for form in unit.blocks:
        for block in all_blocks(form):
            for instr in block.instrs:
                op = instr.op
                if type(op) not in ONCE or (type(op) is nodes.CallBuiltin and op.name in CALLERS):
                    return False
    return True
