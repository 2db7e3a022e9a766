"""Moves what makes a new value out of a list or map behind the last reader of the old one.

`(loop (rest stack) (first stack))` reads the stack after its rest was taken. Computed the other way round, the rest can
take the stack over. Sound because the operations that move can't raise and have no effect, as types say, and because
their operands are variables that never change: nobody can tell when they run.
"""

from __future__ import annotations

from typing import Any

from semac.anf import nodes as anf
from semac.anf.build import is_fixed
from semac.anf.nodes import Block, Let, Lit, Ref
from semac.anf.walk import all_blocks, blocks, code_of, exit_operands, operands, refs
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.types.lattice import BOOL, CHAR, DICT, INT, KEYWORD, LIST, NIL, STR, SYMBOL

TAKERS = {
    "cdr": 0,
    "rest": 0,
    "cddr": 0,
    "cdddr": 0,
    "cons": 1,
    "reverse": 0,
}  # builtins of lists → the position of the list
PLAIN_KEYS = BOOL | CHAR | INT | KEYWORD | NIL | STR | SYMBOL
MOST_INSTRUCTIONS = 200  # of a block; longer ones are data, and looking at each pair of them would take long


def sink_takers(unit: Unit) -> None:
    """Moves operations that take a list or map over behind the others that read it. Assumes inferred types."""
    for form in unit.blocks:
        for block in list(all_blocks(form)):
            if 1 < len(block.instrs) <= MOST_INSTRUCTIONS:
                sink(block)


def sink(block: Block) -> None:
    for instr in reversed(list(block.instrs)):
        subject = subject_of(instr)
        if subject is None:
            continue
        start = block.instrs.index(instr)
        chain, end = moved_with(block, start)
        between = [other for other in block.instrs[start + 1 : end] if other not in chain]
        inner = branch(block.instrs[end], instr.var) if end < len(block.instrs) and len(chain) == 1 else None
        if inner is not None and not used_after(block, end, instr.var) and uses(block.instrs[end], subject):
            block.instrs.remove(instr)
            inner.instrs.insert(0, instr)
            sink(inner)
        elif any(uses(other, subject) for other in between):
            block.instrs[start:end] = [*between, *chain]


def moved_with(block: Block, start: int) -> tuple[list[Let], int]:
    """(an instruction and those that can run as late as it can and use it, in order; where the first other user is)."""
    chain = [block.instrs[start]]
    for index in range(start + 1, len(block.instrs)):
        instr = block.instrs[index]
        if any(uses(instr, member.var) for member in chain):
            if subject_of(instr) is None:
                return chain, index
            chain.append(instr)
    is_used = len(chain) > 1 or exit_uses(block, chain[0].var)
    return chain, len(block.instrs) if is_used else start + 1


def used_after(block: Block, index: int, var: Var | None) -> bool:
    return exit_uses(block, var) or any(uses(instr, var) for instr in block.instrs[index + 1 :])


def subject_of(instr: Let) -> Var | None:
    """The list or map of which an operation makes a new one, where it can run at any time."""
    op: Any = instr.op
    var = instr.var
    is_slice = type(op) is anf.Python and op.kind == "flat_rest"  # as `loops/rests.py` has made of a rest
    if (
        not (is_slice or type(op) is anf.CallBuiltin)
        or var is None
        or not is_fixed(var)
        or not all(map(stays, op.args))
    ):
        return None
    name = "rest" if is_slice else op.name
    if name in TAKERS:
        position, fits = TAKERS[name], len(op.args) == TAKERS[name] + 1
        tags = LIST
    else:
        position, fits = 0, name == "assoc" and len(op.args) >= 3 and len(op.args) % 2 == 1
        fits = fits and all(key.type.only(PLAIN_KEYS) for key in op.args[1::2])
        tags = DICT
    subject = op.args[position] if fits else None
    return subject.var if type(subject) is Ref and subject.type.only(tags) else None


def stays(value: anf.Expr) -> bool:
    """Whether an operand is the same wherever it is read."""
    return type(value) is Lit or (type(value) is Ref and is_fixed_here(value.var))


def is_fixed_here(var: Var) -> bool:
    return is_fixed(var) and not var.is_global


def uses(instr: Let, var: Var | None) -> bool:
    """Whether an instruction uses a variable, in the blocks and functions inside as well."""
    op = instr.op
    if any(type(value) is Ref and value.var is var for value in operands(op)):
        return True
    inner = [code_of(op.function)] if type(op) is anf.Closure else blocks(op)
    return any(ref.var is var for block in inner for ref in refs(block))


def exit_uses(block: Block, var: Var | None) -> bool:
    return any(type(value) is Ref and value.var is var for value in exit_operands(block.exit))


def branch(instr: Let, var: Var | None) -> Block | None:
    """The one branch of a conditional that uses a variable, which nothing else of it does."""
    op = instr.op
    if type(op) is not anf.If or (type(op.test) is Ref and op.test.var is var):
        return None
    inner = [block for block in (op.then, op.otherwise) if any(ref.var is var for ref in refs(block))]
    return inner[0] if len(inner) == 1 else None
