"""Finds the value that a failed call tried to call, from the bytecode around the call."""

from __future__ import annotations

import dis
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any

NOTHING = (False, None)
JUMPS = frozenset(dis.hasjrel + dis.hasjabs)
ENDS = frozenset(
    ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "RETURN_VALUE", "RERAISE", "RAISE_VARARGS")
)
BELOW_ARGUMENTS = 2 if sys.version_info >= (3, 13) else 1  # from there on a null stands between function and arguments
ALWAYS_NAMED = sys.version_info >= (3, 14)  # `f(*args)` has a null where `f(*args, **named)` has the named arguments
LEAVING = ("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF", "POP_", "NOP", "RESUME")
FUSED = ("_LOAD_FAST", "_LOAD_FAST_BORROW")


def callee_of(frame: FrameType, lasti: int) -> tuple[bool, Any]:
    """(whether it was found, the value) for the call at instruction offset lasti.

    Follows the stack depth through the code: the last instruction that filled the function's slot pushed it. That must
    be a plain load of a variable or a constant; the result of another expression is gone by now.
    """
    pushed = _pushed(frame.f_code, lasti)
    return NOTHING if pushed is None else loaded(pushed[0], frame, pushed[1])


def called_name(code: CodeType, lasti: int) -> tuple[str, int]:
    """(the name of the variable that a call takes its function from, the number of arguments); ("", 0) if unknown."""
    pushed = _pushed(code, lasti)
    if pushed is None or not pushed[0].opname.startswith("LOAD_") or type(pushed[0].argval) is not str:
        return "", 0
    return pushed[0].argval, pushed[2]


def _pushed(code: CodeType, lasti: int) -> tuple[dis.Instruction, int, int] | None:
    """The instruction that pushed the callee of the call at lasti, which of its two values that is, and the number of
    arguments (1 for `*args`)."""
    bytecode: Any = dis.Bytecode(code)  # the stubs know nothing of exception_entries
    instructions = list(bytecode)
    # a frame that is waiting for a Python function stands at the last of the caches behind the instruction
    index = sum(instruction.offset <= lasti for instruction in instructions) - 1
    call = instructions[index]
    if index < 0 or call.opname not in ("CALL", "CALL_FUNCTION_EX"):
        return None
    above = arguments = call.arg or 0  # values above the function
    if call.opname == "CALL_FUNCTION_EX":
        above, arguments = 2 if ALWAYS_NAMED else 1 + (above & 1), 1
    while index and instructions[index - 1].opname in ("PRECALL", "KW_NAMES", "EXTENDED_ARG"):
        index -= 1  # they count as a part of the call
    depths = _depths(instructions, index, bytecode.exception_entries)
    if depths[index] is None:
        return None
    slot = depths[index] - above - BELOW_ARGUMENTS
    for producer in range(index - 1, -1, -1):
        before, after = depths[producer], depths[producer + 1]
        instruction = instructions[producer]
        if before is None or after is None or "JUMP" in instruction.opname:
            continue
        if before <= slot < after and instruction.opname != "PUSH_NULL":
            return instruction, slot - before, arguments
        leaving = instruction.opname.startswith(LEAVING) and "_LOAD" not in instruction.opname
        if before > slot and after == slot + 1 and not leaving:
            return instruction, -1, arguments  # computed from the values below
    return None


def _depths(instructions: list[dis.Instruction], last: int, handlers: Any) -> list[Any]:
    """The depth of the stack before each instruction up to last, relative to the start; None where it isn't known.
    handlers: of the table of exceptions; each begins with the error on the stack, some with where it was raised too."""
    position = {instruction.offset: i for i, instruction in enumerate(instructions)}
    depths: list[Any] = [None] * (len(instructions) + 1)
    depths[0] = 0
    for handler in handlers:
        depths[position[handler.target]] = handler.depth + handler.lasti + 1
    for i, instruction in enumerate(instructions[:last]):
        depth = depths[i]
        if depth is None:
            continue
        target = position.get(instruction.argval) if instruction.opcode in JUMPS else None
        if target is not None and target > i and depths[target] is None:
            depths[target] = depth + dis.stack_effect(instruction.opcode, instruction.arg, jump=True)
        if instruction.opname not in ENDS and depths[i + 1] is None:
            depths[i + 1] = depth + dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
    return depths


def loaded(instruction: dis.Instruction, frame: FrameType, which: int) -> tuple[bool, Any]:
    """The value that an instruction loads; which: the one of two, where a single instruction loads two variables."""
    name = instruction.argval
    if instruction.opname in ("LOAD_CONST", "LOAD_SMALL_INT"):
        return True, name
    if instruction.opname.endswith(FUSED) and type(name) is tuple:  # Python 3.13 loads and stores in pairs
        name = name[which]
        return (True, frame.f_locals[name]) if name in frame.f_locals else NOTHING
    if instruction.opname in ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW"):
        return (True, frame.f_locals[name]) if name in frame.f_locals else NOTHING
    if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
        for scope in (frame.f_locals if instruction.opname == "LOAD_NAME" else {}, frame.f_globals, frame.f_builtins):
            if name in scope:
                return True, scope[name]
    return NOTHING


def operator_at(frame: FrameType, lasti: int) -> str:
    """The binary operator of Python at an instruction, such as `%`; "" for any other instruction."""
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset == lasti and instruction.opname == "BINARY_OP":
            return instruction.argrepr.removesuffix("=")
    return ""
