"""Results that nobody reads are nil: those of forms, and of functions that are only called for their effects.

`(define (put! k v) (set! table (assoc table k v)))` returns the table, which then would be seen by whoever calls it.
In a module that is so for what only its import runs (`infer/importing.py`). Assumes inferred types, by which calls are
known. Sound because every call of such a function is in the unit, and drops the value, or hands it on as a result that
nobody reads either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from semac.anf import nodes as anf
from semac.anf.nodes import Block, Let, Lit, Ref, Result
from semac.anf.walk import all_blocks, exit_operands, operands, value_blocks
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.own.code import all_code, called_elsewhere
from semac.optimize.own.representation import known_callee
from semac.optimize.versions.heat import reachable
from semac.types.lattice import NIL, atom

BRANCHES = (anf.If, anf.Match)


def drop_results(unit: Unit) -> None:
    """Rewrites functions whose results nobody reads: of a closed unit, or those that only an import runs."""
    if unit.is_input or unit.is_text or not (unit.is_closed or unit.at_import):
        return
    last_form = unit.last_form
    code = all_code(unit)
    kept = called_elsewhere(code)
    if not unit.is_closed:
        kept |= {part.function for part in code if part.function is not None and part.function not in unit.at_import}
    called: set[Function] = set()  # the others keep what they give, for who looks at the program
    givers: dict[Function, set[Function]] = defaultdict(set)  # a function → those whose results are its own
    for part in code:
        tails = set(tail_values(part.block))
        read: set[Var] | None = None  # asked for where something is called by name
        for block in part.blocks:
            for instr in block.instrs:
                callee = known_callee(instr.op) if type(instr.op) is anf.Call else None
                if callee is None:
                    continue
                called.add(callee)
                if instr.var is None:
                    continue
                if read is None:
                    read = read_in(part.block, tails)
                is_value = instr.var in tails and instr.var not in read
                if is_value and part.function is not None:
                    givers[part.function].add(callee)
                elif is_value and part.block is not last_form:
                    pass  # the value of a form in the middle
                elif instr.var in tails or instr.var in read or instr.var.name:
                    kept.add(callee)
    called -= reachable(kept, givers)
    for part in code:
        function = part.function
        if function is None and part.block is not last_form and (unit.is_closed or part.block in unit.at_import):
            drop(part.block, reads_stay=True)
        elif function is not None and function in called and is_plain(function):
            drop(part.block)
            if type(part.block.exit) is Result and type(part.block.exit.value) is Lit:
                function.type = atom(NIL)


def is_plain(function: Function) -> bool:
    """Whether a function runs once at each call, and is called by the unit alone."""
    var = function.var
    return var is not None and var.known_function is function and not (function.is_open or function.self_tail)


def tail_values(block: Block) -> Iterator[Var]:
    """The variables whose values are the value of a block."""
    exit_ = block.exit
    if type(exit_) is not Result or type(exit_.value) is not Ref:
        return
    yield exit_.value.var
    last = last_of(block)
    if last is not None:
        for inner in value_blocks(last.op):
            yield from tail_values(inner)


def last_of(block: Block) -> Let | None:
    """The choice whose value is that of a block."""
    last = block.instrs[-1] if block.instrs else None
    exit_ = block.exit
    if last is None or type(last.op) not in BRANCHES or type(exit_) is not Result or type(exit_.value) is not Ref:
        return None
    return last if exit_.value.var is last.var and last.var is not None and not last.var.name else None


def read_in(block: Block, tails: set[Var]) -> set[Var]:
    """The variables that are used in a block, blocks and functions inside included, but for those of its value."""
    found: set[Var] = set()
    for inner in all_blocks(block):
        for instr in inner.instrs:
            for value in operands(instr.op):
                if type(value) is Ref:
                    found.add(value.var)
        for value in exit_operands(inner.exit):
            if type(value) is Ref and value.var not in tails:
                found.add(value.var)
    return found


def drop(block: Block, reads_stay: bool = False) -> bool:
    """Has a block give nil in place of its value, and returns whether it does: what a call gives stays, as it may be a
    tail call. reads_stay: reading a global may raise that it has no value, unless the block has just set it."""
    exit_ = block.exit
    if type(exit_) is not Result:
        return False
    choice = last_of(block)
    if choice is not None:
        if not all([drop(inner, reads_stay) for inner in value_blocks(choice.op)]):
            return False
        choice.var = None
    elif type(exit_.value) is Ref:
        last = block.instrs[-1] if block.instrs else None
        if last is not None and last.var is exit_.value.var:
            if type(last.op) is not anf.Read or (reads_stay and last.op.var.is_global and not sets(block, last.op.var)):
                return False
            last.var = None
    exit_.value = Lit(None, atom(NIL))
    return True


def sets(block: Block, var: Var) -> bool:
    return any(type(instr.op) is anf.Assign and instr.op.var is var for instr in block.instrs)
