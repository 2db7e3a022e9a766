"""The `:stack-trace` of a caught error: the frames that the reference shows, which are not all frames.

It goes from the error up to the last function that a builtin called back, or to the program's top level. Where the
reference shows calls elsewhere is in a table of each code object (places.py).
"""

from __future__ import annotations

from sema_runtime.conditions.places import place_of
from sema_runtime.conditions.sites import expanded
from sema_runtime.conditions.snapshot import TAIL_CALLS
from sema_runtime.conditions.tracebacks import (
    COUNTING,
    HIDDEN,
    OPERATORS,
    Frame,
    builtin_name,
    is_ours,
    position,
    shown_name,
)
from sema_runtime.values.naming import ANONYMOUS, sema_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

    from sema_runtime.conditions.tracebacks import Call, Position

TOP_LEVEL = "<module>"
HELPERS = ("main", "make_")  # how the names of functions begin that the compiler built from top-level forms
# Python functions → builtins that are functions of the reference's prelude, which have a frame without a place.
PRELUDE = {"make_parameter": "make-parameter", "async_with_timeout": "async/with-timeout"}
INSTRUCTION_ARGUMENTS = {"append": 2, "get": 2, "mutable_array_get": 2}  # with more or fewer they are functions


def shown_frames(calls: list[Call]) -> list[Frame]:
    """The frames of calls, innermost first, with the names and places that the reference shows."""
    frames: list[Frame] = []
    builtin: str | None = None
    called = ""  # of a call whose frame came just before: its kind
    caller: tuple[CodeType, int | Position] | None = None
    is_hidden = False  # whether the call before was that of a function that the program doesn't have
    for code, namespace, lasti, tb_line in expanded(calls, position):
        if is_ours(namespace):
            if code not in TAIL_CALLS and namespace.get("__name__") != COUNTING:
                if called:
                    if code.co_name in PRELUDE and namespace.get("__name__", "").startswith("sema_runtime.lib."):
                        frames.append(Frame(PRELUDE[code.co_name], "", 0, 0))
                    builtin = builtin_name(code, namespace)
                    if builtin and caller and builtin not in OPERATORS.values():
                        builtin = builtin if calls_directly(*caller, code.co_name) else None
                called = ""
            continue
        table = sema_names(code, namespace)
        if table is None and not frames and not is_hidden:
            continue
        name = shown_name(code, table)
        if name == HIDDEN:
            is_hidden, called = True, ""
            continue
        if called == "calls back" or is_hidden:  # as a multimethod calls its methods
            frames.clear()
            is_hidden = False
        elif called == "tail" or (called and caller and caller[0].co_name == TOP_LEVEL and _is_helper(code, table)):
            frames.pop()
        caller = (code, lasti)
        line, col = position(code, lasti)
        called = _add(frames, code, name, line or tb_line or 0, col)
        builtin = None
    for frame in frames[:-1]:
        if frame.later is not None:
            frame.line, frame.col = frame.later
    if builtin is not None:
        frames.append(Frame(builtin, frames[-1].file, frames[-1].line, frames[-1].col))
    frames.reverse()
    return frames


def _is_helper(code: CodeType, table: dict[str, str] | None) -> bool:
    """Whether code is a function that the compiler built from a top-level form (`generate/module.py`)."""
    if code.co_argcount or not code.co_name.startswith(HELPERS):
        return False  # an anonymous function of the program
    return table is not None and table.get(code.co_name) == ANONYMOUS


def calls_directly(code: CodeType, lasti: int | Position, python_name: str) -> bool:
    """Whether a call in code of the program calls one of the basic builtins by its name.

    The reference has instructions for these, with messages of their own; as values they are functions like others.
    """
    from sema_runtime.conditions.callee import called_name

    place = place_of(code, *position(code, lasti))
    if place is not None and place[4] == "calls back":
        return False
    if type(lasti) is not int:
        return True
    name, count = called_name(code, lasti)
    plain = name.strip("_")
    return plain == python_name.strip("_") and count == INSTRUCTION_ARGUMENTS.get(plain, count)


def _add(frames: list[Frame], code: CodeType, name: str, line: int, col: int) -> str:
    """Adds the frames of a call in code, outermost first; returns the kind of the call."""
    place = place_of(code, line, col)
    if place is None:
        frames.append(Frame(name, code.co_filename, line, col))
        return "call"
    _, _, shown_line, shown_col, kind, loop, loop_line, loop_col, *later = place
    if kind == "callback":
        frames.clear()
        name = ANONYMOUS
    elif loop_line:
        _add(frames, code, name, loop_line, loop_col)
    frames.append(Frame(loop or name, code.co_filename, shown_line, shown_col))
    if later[0]:
        frames[-1].later = (later[0], later[1])
    return kind or "call"
