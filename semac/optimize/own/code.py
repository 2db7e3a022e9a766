"""The code of a unit as ownership looks at it: each function apart, those left out that hold nothing of interest."""

from __future__ import annotations

from typing import Any

from semac.anf import nodes as anf
from semac.anf.nodes import Block, Op, Ref
from semac.anf.walk import OPERANDS, all_blocks, bound, exit_operands
from semac.ir.intrinsics import ADD_KNOWN, KNOWN_MULTI
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.own.representation import Representation, known_callee

LOOPS = (anf.Loop, anf.For)
HANDING = frozenset((anf.Call, *LOOPS))
KEEPING = frozenset((anf.Move, anf.Assign, anf.Closure))


class Code:
    """The body of a function, or a form of the top level (function is None). blocks: those outside of closures."""

    __slots__ = ("block", "blocks", "function")

    def __init__(self, block: Block, function: Function | None) -> None:
        self.block = block
        self.function = function
        self.blocks = list(all_blocks(block, into_functions=False))


def all_code(unit: Unit) -> list[Code]:
    """Each function and each form of the top level of a unit."""
    code: list[Code] = []
    todo: list[tuple[Block, Function | None]] = [(form, None) for form in reversed(unit.blocks)]
    while todo:
        part = Code(*todo.pop())
        code.append(part)
        closures = [instr.op for inner in part.blocks for instr in inner.instrs if type(instr.op) is anf.Closure]
        todo += [(closure.function.code, closure.function) for closure in reversed(closures)]
    return code


def is_relevant(code: Code, form: Representation) -> bool:
    """Whether values that a representation can hold occur in some code."""
    function = code.function
    if function is not None and (form.holds(function.type) or any(form.holds(param.type) for param in function.params)):
        return True
    others = ~form.tags
    for inner in code.blocks:
        for value in exit_operands(inner.exit):
            if form.holds(value.type):
                return True
        for instr in inner.instrs:
            op = instr.op
            kind = type(op)
            tags = op.type.tags
            if tags and not tags & others:  # as `form.holds` says it
                return True
            for part in OPERANDS[kind](op):
                tags = part.type.tags
                if tags and not tags & others:
                    return True
            if kind in HANDING:
                if any(form.holds(param.type) for param in [*(param for param, _ in handed(op)), *starts(op)]):
                    return True
    return False


def concerns(code: Code, members: set[Any], form: Representation) -> bool:
    """Whether some code has any of some variables, and of functions whose results are meant."""
    function = code.function
    if function is not None and (function in members or not members.isdisjoint(function.params)):
        return True
    for inner in code.blocks:
        if any(type(value) is Ref and value.var in members for value in exit_operands(inner.exit)):
            return True
        for instr in inner.instrs:
            op = instr.op
            if instr.var in members or not members.isdisjoint(bound(op)):
                return True
            callee = known_callee(op) if type(op) is anf.Call else None
            if callee is not None and (callee in members or not members.isdisjoint(callee.params)):
                return True
            if any(use.var in members or use.target in members for use in form.uses(op, instr.var)):
                return True
    return False


def called_elsewhere(code: list[Code]) -> set[Function]:
    """Functions that are called otherwise than by a call of theirs alone."""
    functions = {part.function for part in code if part.function is not None and part.function.is_open}
    for part in code:
        for inner in part.blocks:
            values = exit_operands(inner.exit)
            for instr in inner.instrs:
                op = instr.op
                kind = type(op)
                if kind is anf.Call and known_callee(op) is not None:  # type: ignore[arg-type]
                    values += op.args  # type: ignore[attr-defined]
                elif kind not in KEEPING and not (kind is anf.CallRuntime and is_shown(op)):
                    values += OPERANDS[kind](op)
            for value in values:
                if value.type.refs:
                    functions.update(ref for ref in value.type.refs if type(ref) is Function)
    return functions


def is_shown(op: Op) -> bool:
    """Whether an operation keeps what it gets for debuggers alone: methods that the program calls by itself."""
    return type(op) is anf.CallRuntime and op.path in (ADD_KNOWN, KNOWN_MULTI)


def handed(op: Any) -> list[tuple[Var, Any]]:
    """The variables that get their values from an operation, with these: of a loop, of a function that it calls."""
    if type(op) not in HANDING:
        return []
    if isinstance(op, LOOPS):
        return list(zip(op.params, op.inits, strict=False))
    callee = known_callee(op) if type(op) is anf.Call else None
    return list(zip(callee.params, op.args, strict=True)) if callee is not None else []


def starts(op: Any) -> list[Var]:
    """The variables of a loop that begin with its first item, as those of `reduce` do."""
    return op.params if type(op) is anf.For and not op.inits else []
