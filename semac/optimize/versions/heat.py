"""Which functions of the top level run often: those with loops, those that recur or make functions, and what is called
from there."""

from __future__ import annotations

from semac.anf.nodes import (
    Assign,
    Block,
    Call,
    Closure,
    Import,
    MakeRecordType,
    PyImport,
    Ref,
)
from semac.anf.walk import LOOPS, blocks, instructions
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit


class Definition:
    """A top-level form that defines a function which nothing changes."""

    def __init__(self, block: Block, closure: Closure, var: Var) -> None:
        self.block = block
        self.closure = closure
        self.function = closure.function
        self.var = var

    @property
    def can_be_copied(self) -> bool:
        """Whether two of it mean the same as one: its parameters have different names, and it defines nothing for
        others."""
        function = self.function
        names = {param.name for param in function.params}
        if len(names) < len(function.params):
            return False
        return not any(
            type(instr.op) in (MakeRecordType, Import, PyImport)
            or (type(instr.op) is Assign and instr.op.var.is_global and instr.op.define)
            for instr in instructions(function.code)
        )


def definitions(unit: Unit) -> list[Definition]:
    """The functions that forms of the top level define, each of which is the value of its global for ever."""
    found = []
    for block in unit.blocks:
        if len(block.instrs) != 2:
            continue
        closure, definition = block.instrs[0].op, block.instrs[1].op
        if type(closure) is Closure and type(definition) is Assign and definition.define == "global":
            var, value = definition.var, definition.value
            is_value = type(value) is Ref and value.var is block.instrs[0].var
            if is_value and var.known_function is closure.function and closure.function.var is var:
                found.append(Definition(block, closure, var))
    return found


def hot_functions(unit: Unit, found: list[Definition]) -> tuple[set[Function], set[Function]]:
    """(those of the defined functions that run often, those among them that are called often)."""
    known = {definition.function for definition in found}
    calls = {function: called_in(function.code) & known for function in known}
    recursive = {function for function in known if function.self_tail or function in reachable(calls[function], calls)}
    often = set().union(*(calls[function] for function in recursive), *map(called_in_loops, unit.blocks)) & known
    looping = {function for function in known if has_any(function.code, LOOPS | {Closure})}
    called = recursive | reachable(often, calls)
    return called | looping, called


def has_any(code: Block, kinds: frozenset[type]) -> bool:
    return any(type(instr.op) in kinds for instr in instructions(code))


def called_in(code: Block) -> set[Function]:
    """The functions that code calls by name."""
    return {
        function
        for instr in instructions(code)
        if type(instr.op) is Call and type(instr.op.head) is Ref
        if (function := instr.op.head.var.known_function) is not None
    }


def called_in_loops(form: Block) -> set[Function]:
    """The functions that are called in loops of a form."""
    loops = [instr.op for instr in instructions(form) if type(instr.op) in LOOPS]
    return set().union(*(called_in(inner) for loop in loops for inner in blocks(loop)))


def reachable(starts: set[Function], calls: dict[Function, set[Function]]) -> set[Function]:
    """The functions that chains of calls lead to from some, these included."""
    seen = set(starts)
    work = list(starts)
    while work:
        new = calls[work.pop()] - seen
        seen |= new
        work += new
    return seen
