"""`:stack-trace` of a caught error: the frames that the reference gives, which are not all of the frames there are.

It goes from the error up to the last function that a builtin called back, or to the program's top level. The compiler
leaves in each code object a constant of `Place`s for calls that the reference shows elsewhere (semac/places.py):
(line, column, shown line or 0, shown column, kind, loop, line of the loop, its column). kind: "tail" for a call that
hides its caller, "calls back" for a builtin whose function may be compiled into the caller, "callback" for a call in
such a function. loop: the name of the named let around the call that is a loop of the same code; line 0: in tail position.
"""

from __future__ import annotations

from sema_runtime.values.functions import tail_call
from sema_runtime.values.naming import ANONYMOUS
from sema_runtime.values.tracebacks import Frame, builtin_name, is_ours, position, raw_calls, sema_names, shown_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

    from sema_runtime.values.tracebacks import Call

    Place = tuple[int, int, int, int, str, str, int, int]

PLACES = "sema places"  # the first item of the constant
TAIL_CALL = tail_call.__code__
TOP_LEVEL = "<module>"


def stack_calls(exc: BaseException) -> list[Call]:
    """The calls from the last one that a builtin made down to the one that failed, outermost first."""
    calls = raw_calls(exc)
    for index in range(len(calls) - 1, 0, -1):
        if _is_callback(calls[index - 1], calls[index]):
            return calls[index:]
    return _callers(exc) + calls


def _callers(exc: BaseException) -> list[Call]:
    """The calls above the function that caught an error, as far as no builtin made them."""
    frame = exc.__traceback__.tb_frame if exc.__traceback__ is not None else None
    calls: list[Call] = []
    callee: Call | None = None
    while frame is not None:
        call = (frame.f_code, frame.f_globals, frame.f_lasti, frame.f_lineno)
        if callee is not None:
            if _is_callback(call, callee):
                break
            calls.append(call)
        callee, frame = call, frame.f_back
    calls.reverse()
    return calls


def _is_callback(caller: Call, callee: Call) -> bool:
    return is_ours(caller[1]) and caller[0] is not TAIL_CALL and not is_ours(callee[1])


def shown_frames(calls: list[Call]) -> list[Frame]:
    """The frames of calls, innermost first, with the names and places that the reference gives them."""
    found: list[Frame] = []
    builtin: str | None = None
    called = caller_name = ""  # of a call whose frame came just before: its kind
    for code, namespace, lasti, tb_line in calls:
        if is_ours(namespace):
            if code is not TAIL_CALL:
                builtin = builtin_name(code, namespace) if called else builtin
                called = ""
            continue
        table = sema_names(code, namespace)
        if table is None and not found:
            continue
        if called == "calls back":
            found.clear()
        elif called == "tail" or (
            called and caller_name == TOP_LEVEL and table and table.get(code.co_name) == ANONYMOUS
        ):
            found.pop()  # of a top-level form that is compiled into a function of its own, that function is shown
        caller_name = code.co_name
        line, col = position(code, lasti)
        called = _add(found, code, shown_name(code, table), line or tb_line or 0, col)
        builtin = None
    if builtin is not None:
        caller = found[-1]
        found.append(Frame(builtin, caller.file, caller.line, caller.col))
    found.reverse()
    return found


def _add(found: list[Frame], code: CodeType, name: str, line: int, col: int) -> str:
    """Adds the frames that a call in code stands for, outermost first; gives the kind of the call."""
    place = _place_of(code, line, col)
    if place is None:
        found.append(Frame(name, code.co_filename, line, col))
        return "call"
    _, _, shown_line, shown_col, kind, loop, loop_line, loop_col = place
    if kind == "callback":
        found.clear()
        name = ANONYMOUS
    if loop_line:
        _add(found, code, name, loop_line, loop_col)
    found.append(Frame(loop or name, code.co_filename, shown_line, shown_col))
    return kind or "call"


def _place_of(code: CodeType, line: int, col: int) -> Place | None:
    for constant in reversed(code.co_consts):
        if type(constant) is tuple and constant[:1] == (PLACES,):
            return next((entry for entry in constant[1:] if entry[:2] == (line, col)), None)
    return None
