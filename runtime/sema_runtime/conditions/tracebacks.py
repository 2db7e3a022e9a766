"""The Sema frames of an exception, innermost first, with Sema names and positions."""

from __future__ import annotations

from itertools import islice

from sema_runtime.packed_code import is_stub_of
from sema_runtime.values.naming import ANONYMOUS, PRIVATE, name_of_code, sema_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any

    Position = tuple[int, int]
    Call = tuple[CodeType, dict[str, Any], int | Position, int | None]

COUNTING = "sema_runtime.support.counting"  # does the first test of a loop
OURS = ("sema_runtime", "semac", "importlib")
SHOWN = {
    **{name: name for name in ("car", "cdr", "get", "contains?", "nth", "append", "length")},
    **{name: name for name in ("string-ref", "string-length", "mutable-array/get", "mutable-array/set!")},
    **{"first": "car", "rest": "cdr"},
}  # the builtins that have a line of their own in a trace, as in the reference
OPERATORS = {
    **{"add": "+", "sub": "-", "negate": "-", "mul": "*", "div": "/", "mod": "mod"},
    **{"lt": "<", "gt": ">", "le": "<=", "ge": ">="},
    "add_items": "+",
}
OPERATOR_MODULES = frozenset(("sema_runtime.lib.numbers.arithmetic", "sema_runtime.lib.numbers.sums"))
FORMS = ("main", "make_")  # what the names of functions that are forms of a module begin with
_is_our_name: dict[str, bool] = {}  # of modules; bounded by how many there are
HIDDEN = ""  # the Sema name of a function that the program doesn't have


class Frame:
    """One call. file: from the code object. line, col: position of the active call, 1-based; 0 = unknown.

    later: another position for `:stack-trace`, where the called function has a frame (conditions/places.py).
    """

    __slots__ = ("col", "file", "later", "line", "name")

    def __init__(self, name: str, file: str, line: int, col: int) -> None:
        self.name = name
        self.file = file
        self.line = line
        self.col = col
        self.later: Position | None = None


def raw_calls(exc: BaseException) -> list[Call]:
    """(code, globals, instruction, line) of each frame, outermost first: cheap, and keeps no locals alive.

    The instruction of a call that is none of Python's is its position (conditions/sites.py).
    """
    calls: list[Call] = []
    tb = exc.__traceback__
    while tb is not None:
        frame = tb.tb_frame
        calls.append((frame.f_code, frame.f_globals, tb.tb_lasti, tb.tb_lineno))
        tb = tb.tb_next
    return written(calls)


def written(calls: list[Call]) -> list[Call]:
    """Calls, outermost first, without those that only call the function which stands for them."""
    kept: list[Call] = []
    for call in calls:
        if kept and (
            is_entry(kept[-1], call[0]) or is_stub_of(kept[-1][0], kept[-1][2], call[0]) or is_form(kept[-1][0], call)
        ):
            kept.pop()
        kept.append(call)
    return kept


def is_entry(caller: Call, callee: CodeType) -> bool:
    """Whether a function has only called its private copy, which then stands for it (semac/optimize/versions).

    It does so at its entry, which has a place before all that the program writes in it.
    """
    code, _, lasti, _ = caller
    if code is callee:
        return is_native_entry(code, lasti)
    if not callee.co_qualname.startswith(PRIVATE) or callee.co_qualname != PRIVATE + code.co_name:
        return False
    written = ((line, col) for line, _, col, end_col in code.co_positions() if line and col is not None and end_col)
    first = next(written, (0, 0))
    return position(code, lasti) == (first[0], first[1] + 1)


def is_native_entry(code: CodeType, lasti: int | Position) -> bool:
    """Whether a function has only called its native twin (semac/native): it does so in no columns."""
    if type(lasti) is not int:
        return False
    _, _, col, end_col = next(islice(code.co_positions(), lasti // 2, None), (None, None, None, None))
    return col == end_col == 0


def is_form(caller: CodeType, callee: Call) -> bool:
    """Whether a module has only called the function that one of its forms is, which has variables of its own."""
    code = callee[0]
    if caller.co_name != "<module>" or code.co_argcount or not code.co_name.startswith(FORMS):
        return False
    table = sema_names(code, callee[1])
    return table is not None and table.get(code.co_name) == ANONYMOUS


def sema_frames(calls: list[Call]) -> list[Frame]:
    """The frames below the first one of a compiled program, without frames of the runtime and the compiler.

    A basic builtin that fails is shown by its name at the place of its call.
    """
    from sema_runtime.conditions.sites import expanded

    frames: list[Frame] = []
    builtin: str | None = None
    called = False  # whether the previous frame is the program's
    for code, namespace, lasti, tb_line in expanded(calls, position):
        if is_ours(namespace):
            if namespace.get("__name__") == COUNTING:
                continue
            if called:
                builtin = builtin_name(code, namespace)
            called = False
            continue
        table = sema_names(code, namespace)
        if table is not None or frames:
            line, col = position(code, lasti)
            name = shown_name(code, table)
            frames += _frames_of(code, name, line or tb_line or 0, col) if name != HIDDEN else []
            builtin = None
            called = name != HIDDEN
    if builtin is not None:
        caller = frames[-1]
        frames.append(Frame(builtin, caller.file, caller.line, caller.col))
    frames.reverse()
    return frames


def _frames_of(code: CodeType, name: str, line: int, col: int) -> list[Frame]:
    """The frames of a call in code, outermost first: functions that have become loops of their caller have theirs."""
    from sema_runtime.conditions.places import inlined_in
    from sema_runtime.conditions.sites import COMPREHENSIONS

    frames = [Frame(name, code.co_filename, line, col)]
    if code.co_name in COMPREHENSIONS:
        return frames
    seen = {(line, col)}
    while (caller := inlined_in(code, frames[-1].line, frames[-1].col)) is not None and caller not in seen:
        seen.add(caller)
        frames[-1].name = ANONYMOUS
        frames.append(Frame(name, code.co_filename, *caller))
    frames.reverse()
    return frames


def innermost(exc: BaseException) -> tuple[FrameType, int] | None:
    """The frame that raised and the index of its instruction; None without a traceback."""
    tb = exc.__traceback__
    if tb is None:
        return None
    while tb.tb_next is not None:
        tb = tb.tb_next
    return tb.tb_frame, tb.tb_lasti


def is_ours(namespace: dict[str, Any]) -> bool:
    """Whether a frame with these globals belongs to the runtime or the compiler."""
    name = namespace.get("__name__")
    known = _is_our_name.get(name) if type(name) is str else False
    if known is None:
        assert name is not None
        known = _is_our_name[name] = name.partition(".")[0] in OURS
    return known


def in_library(exc: BaseException) -> bool:
    """Whether the Python code of a library raised an exception, which then says nothing about the Sema program."""
    place = innermost(exc)
    if place is None:
        return False
    code, namespace = place[0].f_code, place[0].f_globals
    return not is_ours(namespace) and sema_names(code, namespace) is None


def shown_name(code: CodeType, table: dict[str, str] | None) -> str:
    """The name of a frame: the Sema name of its function, `<lambda>` when it has none."""
    name = name_of_code(code.co_name, table)
    return ANONYMOUS if name.startswith("<") else name


def builtin_name(code: CodeType, namespace: dict[str, Any]) -> str | None:
    """The Sema name of a builtin that traces show, None for other code of the runtime."""
    if code.co_name in OPERATORS and namespace.get("__name__") in OPERATOR_MODULES:
        return OPERATORS[code.co_name]
    function = namespace.get(code.co_name)
    name = getattr(function, "__sema_name__", None)
    return SHOWN.get(name) if name is not None and getattr(function, "__code__", None) is code else None


_positions: dict[tuple[CodeType, int], Position] = {}


def position(code: CodeType, lasti: int | Position) -> Position:
    """(line, column) of an instruction, 1-based, 0 where unknown."""
    if not isinstance(lasti, int):
        return lasti
    key = (code, lasti)
    place = _positions.get(key)
    if place is None:
        line, _, col, _ = next(islice(code.co_positions(), lasti // 2, None), (None, None, None, None))
        place = (line or 0, 0 if col is None else col + 1)
        if len(_positions) > 4096:
            _positions.clear()
        _positions[key] = place
    return place
