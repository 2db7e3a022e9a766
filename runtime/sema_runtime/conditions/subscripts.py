"""The error of an item that compiled code reads or sets by Python's subscript alone, without a test of the index.

Python says only that an index is out of range. Which index of what is computed again from the variables of the function
that failed: the instructions before the subscript load names and constants, and do nothing else, as the compiler sees
to it (semac/generate/guards.py, `SetArrayItem`). Then the builtin itself says what is wrong.
"""

from __future__ import annotations

import dis
import operator
from itertools import islice

from sema_runtime.conditions.callee import NOTHING, loaded
from sema_runtime.values.errors import OutOfBounds, SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.mutable import MutableArray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any

READS = frozenset(("BINARY_SUBSCR",))
WRITES = "STORE_SUBSCR"
SUBSCRIPT = "[]"  # the operator of a subscript from Python 3.14 on
ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "%": operator.mod, "//": operator.floordiv}


class Unreadable(Exception):
    """The instructions are none that this module knows."""


def out_of_bounds(frame: FrameType, lasti: int) -> tuple[str, SemaError] | None:
    """(the builtin, its error) for the subscript at an instruction; None where a program wrote it as one of Python."""
    if is_of_python(frame.f_code, lasti):
        return None
    loads = _Loads(frame, lasti)
    try:
        index, before = loads.value(loads.last - 1)
        container, _ = loads.value(before - 1)
    except (Unreadable, LookupError, AttributeError, TypeError):
        return None
    name = _builtin(container, loads.last_name == WRITES)
    if name is None or type(index) is not int:
        return None
    return name, _error(name, container, index)


def is_of_python(code: CodeType, lasti: int) -> bool:
    """Whether a subscript is that of a form like `(. xs [0])`: the compiler gives these no width."""
    line, end_line, col, end_col = next(islice(code.co_positions(), lasti // 2, None), (None, None, None, None))
    return line is not None and line == end_line and col == end_col


def _builtin(container: Any, is_write: bool) -> str | None:
    if type(container) is MutableArray:
        return "mutable-array/set!" if is_write else "mutable-array/get"
    if is_write:
        return None
    return "nth" if type(container) in (tuple, List, list) else "string-ref" if type(container) is str else None


def _error(name: str, container: Any, index: int) -> SemaError:
    """What a builtin raises for an index outside."""
    from importlib import import_module

    from sema_runtime.catalogue_index import INDEX

    module, function, *_ = INDEX[name]
    arguments = (container, index, None) if name == "mutable-array/set!" else (container, index)
    try:
        getattr(import_module(f"sema_runtime.{module}"), function)(*arguments)
    except SemaError as error:
        return error
    return OutOfBounds(f"{name}: index {index} out of bounds")  # the array has grown since


class _Loads:
    """The instructions of a frame up to the one that failed, read backwards."""

    def __init__(self, frame: FrameType, lasti: int) -> None:
        self.frame = frame
        known = [each for each in dis.get_instructions(frame.f_code) if each.offset <= lasti]
        self.instructions = [each for each in known if each.opname not in ("NOP", "EXTENDED_ARG", "CACHE")]
        self.last = len(self.instructions) - 1
        self.last_name = self.instructions[self.last].opname
        self.taken: dict[int, int] = {}  # instructions that load two values → how many of these have been read

    def value(self, place: int) -> tuple[Any, int]:
        """(the value that the instruction at a place leaves on the stack, the place where its computation begins)."""
        if place < 0:
            raise Unreadable
        instruction = self.instructions[place]
        name = instruction.opname
        if name == "LOAD_ATTR" and instruction.argval in ("items", "flat"):
            value, start = self.value(place - 1)
            return (value, start) if type(value) in (MutableArray, List) else (value.items, start)
        if name == "BINARY_SUBSCR" or (name == "BINARY_OP" and instruction.argrepr == SUBSCRIPT):
            index, start = self.value(place - 1)
            container, start = self.value(start - 1)
            return _items(container)[index], start
        if name == "BINARY_OP" and instruction.argrepr in ARITHMETIC:
            right, start = self.value(place - 1)
            left, start = self.value(start - 1)
            if type(left) is not int or type(right) is not int:
                raise Unreadable
            return ARITHMETIC[instruction.argrepr](left, right), start
        return self.load(place)

    def load(self, place: int) -> tuple[Any, int]:
        """The same for an instruction that loads a variable, or two, of which the last not yet read is wanted."""
        instruction = self.instructions[place]
        is_pair = type(instruction.argval) is tuple and instruction.opname.startswith("LOAD_FAST")
        read = self.taken.get(place, 0)
        found = loaded(instruction, self.frame, 1 - read if is_pair else 1)
        if found is NOTHING or not found[0]:
            raise Unreadable
        if is_pair and not read:
            self.taken[place] = 1
            return found[1], place + 1  # what comes before is the first of the pair
        return found[1], place


def _items(container: Any) -> Any:
    return container.items if type(container) in (MutableArray, List) else container
