"""Finds the value that a failed call tried to call, from the bytecode around the call."""

from __future__ import annotations

import dis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

NOTHING = (False, None)
FUSED = ("_LOAD_FAST", "_LOAD_FAST_BORROW")


def callee_of(frame: FrameType, lasti: int) -> tuple[bool, Any]:
    """(whether it was found, the value) for the call at instruction offset lasti.

    Walks back from the CALL to the instruction that pushed the function, which must be a plain load of a variable or a
    constant; the result of another expression is gone by now.
    """
    instructions = list(dis.get_instructions(frame.f_code))
    index = next((i for i, one in enumerate(instructions) if one.offset == lasti), -1)
    call = instructions[index]
    if index < 0 or call.opname not in ("CALL", "CALL_FUNCTION_EX"):
        return NOTHING
    depth = call.arg or 0  # values above the function
    if call.opname == "CALL_FUNCTION_EX":
        depth = 1 + (depth & 1)
    before = instructions[:index]
    while before and before[-1].opname in ("PRECALL", "KW_NAMES", "EXTENDED_ARG"):
        before.pop()
    for one in reversed(before):
        effect = dis.stack_effect(one.opcode, one.arg)
        if depth == 0:
            if one.opname == "PUSH_NULL":
                continue
            return _loaded(one, frame)
        if "JUMP" in one.opname or one.opname.startswith("FOR_") or effect > depth:
            return NOTHING
        depth -= effect
    return NOTHING


def _loaded(one: dis.Instruction, frame: FrameType) -> tuple[bool, Any]:
    name = one.argval
    if one.opname == "LOAD_CONST":
        return True, name
    if one.opname.endswith(FUSED) and type(name) is tuple:  # Python 3.13 loads and stores in pairs
        name = name[-1]
        return (True, frame.f_locals[name]) if name in frame.f_locals else NOTHING
    if one.opname in ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW"):
        return (True, frame.f_locals[name]) if name in frame.f_locals else NOTHING
    if one.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
        for scope in (frame.f_locals if one.opname == "LOAD_NAME" else {}, frame.f_globals, frame.f_builtins):
            if name in scope:
                return True, scope[name]
    return NOTHING
