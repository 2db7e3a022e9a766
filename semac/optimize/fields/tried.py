"""Handlers of `try` that go on with the branch that the code behind the `try` takes for their value.

    (let ((r (try {:ok (step state)} (catch e {:error e}))))
      (if (:ok r) (go-on (:ok r) failed) (go-on state (+ failed 1))))

Where that branch leads to the next round of a loop, the handler goes there itself: a copy of the branch stands at its
end. Behind the `try` is then only what its body gave. So a map around that value is made there, if at all
(`split.py`), and the state before the `try` is needed by nobody but the handler, for which changes in place are undone
(`inplace/checks.py`). Sound for the reasons of `threads.py`; a `try` doesn't guard its own handler, so an error in the
branch reaches the same handler from there as from behind the `try`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from semac.anf.build import is_fixed
from semac.anf.literals import literal
from semac.anf.nodes import Block, If, Jump, Let, MakeMap, Match, Op, Ref, Result, Try
from semac.anf.walk import instructions, map_operands, operands, value_blocks
from semac.ir.nodes import Var
from semac.optimize.fields.known import is_row
from semac.optimize.fields.moved import MOST_COPIED, Moved, can_be_copied, own_vars
from semac.optimize.loops.functions import temporary

if TYPE_CHECKING:
    from semac.optimize.fields.threads import Decision, Threader


def go_on_in_handler(threader: Threader, instr: Let, rest: list[Let]) -> list[Let]:
    """Rewrites a `try`, if that can be done. rest: what follows it. Returns what has to stand in front of that."""
    op, var = instr.op, instr.var
    assert type(op) is Try
    plan = None if var is None or not threader.is_replaced(var) else decisions_of(threader, op, var, rest)
    if plan is None or var is None:
        return []
    for end, decision in plan:
        moved = Moved(decision.values, threader.code.function)
        end.instrs += [moved.twin(each) for each in decision.between]
        assert decision.taken is not None
        branch = moved.twin_block(decision.taken)
        end.instrs += branch.instrs
        end.exit = branch.exit
    return made_behind(threader, instr, var)


def decisions_of(threader: Threader, op: Try, var: Var, rest: list[Let]) -> list[tuple[Block, Decision]] | None:
    """What each end of the handler goes on with; None where that isn't known, leads nowhere else, or is much."""
    ends = threader.known_ends(op.handler)
    at = threader.place_of_test(rest) if ends else None
    if not ends or at is None:
        return None
    own = {var, *own_vars(Block(rest[:at], Result(literal(None))))}
    if not all(map(threader.is_replaced, own)):
        return None
    copied = 0
    plan = []
    for end in ends:
        decision = threader.decision(var, end, rest[: at + 1])
        if decision.taken is None or not leaves(decision.taken):
            return None
        copies = [*decision.between, *instructions(decision.taken)]
        copied += len(copies)
        if copied > MOST_COPIED or not all(can_be_copied(each.op) for each in copies):
            return None
        plan.append((end, decision))
    return plan


def leaves(block: Block) -> bool:
    """Whether nothing follows a block: it goes on with a loop around it."""
    if type(block.exit) is Jump:
        return True
    last = block.instrs[-1] if block.instrs else None
    value = block.exit.value  # type: ignore[union-attr]
    if last is None or type(last.op) not in (If, Match) or type(value) is not Ref or value.var is not last.var:
        return False
    return not (type(last.op) is Match and last.op.lenient) and all(map(leaves, value_blocks(last.op)))


def made_behind(threader: Threader, instr: Let, var: Var) -> list[Let]:
    """Has what the body of a `try` makes of its value be made behind it."""
    body: Block = instr.op.body  # type: ignore[attr-defined]
    last = body.instrs[-1] if body.instrs else None
    result = body.exit.value if type(body.exit) is Result else None
    if last is None or last.var is None or last.var.name or type(result) is not Ref or result.var is not last.var:
        return []
    made: Op = last.op
    if not is_fixed(last.var) or not ((type(made) is MakeMap and not made.is_raw) or is_row(made)):
        return []
    own = own_vars(body)
    inside = {value.var for value in operands(made) if type(value) is Ref and value.var in own}
    if len(inside) != 1 or not all(map(threader.is_replaced, inside)):
        return []
    (inner,) = inside
    body.instrs.pop()
    body.exit = Result(Ref(inner), body.exit.span)
    value = temporary("value", threader.code.function)
    instr.var, value.op = value, instr.op
    map_operands(made, lambda part: Ref(value) if type(part) is Ref and part.var is inner else part)
    var.op = made
    return [Let(var, made)]
