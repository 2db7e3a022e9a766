"""The two views of an error: the map that `catch` binds, and the parts of a rendered message."""

from __future__ import annotations

from sema_runtime.conditions.snapshot import Snapshot
from sema_runtime.conditions.tracebacks import (
    Frame,
    innermost,
    is_ours,
    raw_calls,
    sema_frames,
)
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import ReaderError, Rethrown, SemaError, Thrown, UnboundError
from sema_runtime.values.lazy_dicts import LazyDict
from sema_runtime.values.lists import EMPTY, List
from sema_runtime.values.maps import ATOMIC, Map
from sema_runtime.values.naming import name_of_code, sema_names
from sema_runtime.values.printer import to_text
from sema_runtime.values.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any


TYPE = keyword("type")
MESSAGE = keyword("message")
STACK_TRACE = keyword("stack-trace")
PYTHON_EXCEPTION = keyword("python-exception")
VALUE, USER = keyword("value"), keyword("user")
NAME, LINE, COL = keyword("name"), keyword("line"), keyword("col")


class Described:
    """An error to show. message: the display text; hint, note: advice or None; frames: innermost first;
    place: (line, column) in the source text for an error of the reader, else None."""

    __slots__ = ("frames", "hint", "message", "note", "place")

    def __init__(
        self, message: str, hint: str | None, note: str | None, frames: list[Frame], place: tuple[int, int] | None
    ) -> None:
        self.message = message
        self.hint = hint
        self.note = note
        self.frames = frames
        self.place = place


def condition_of(exc: BaseException) -> SemaError:
    """The condition of an exception; Python's own exceptions are translated."""
    if isinstance(exc, SemaError):
        return exc
    from sema_runtime.conditions.translate import translated

    return translated(exc)


def rethrown(exc: BaseException) -> Map | None:
    """The condition map that a program threw, one that it caught or built itself; else None."""
    return exc.condition() if isinstance(exc, Rethrown) else None


def condition_map(exc: BaseException) -> Map:
    """The map that `catch` binds: `:type`, `:message`, `:stack-trace` and the entries of the error's kind."""
    error = condition_of(exc)
    thrown = rethrown(exc)
    if thrown is not None:
        trace = thrown.d.get(STACK_TRACE)
        kept = type(trace) is List and len(trace) > 0
        return thrown if kept else Map(_with_trace({**thrown.d}, exc, error))
    return Map(_with_trace(_entries(exc, error), exc, error))


def condition_entry(exc: BaseException, key: Keyword) -> Any:
    """An entry of the condition map; nothing is collected of the stack for one that says nothing of it."""
    if key is STACK_TRACE or rethrown(exc) is not None:
        return condition_map(exc).d.get(key)
    if key is MESSAGE:
        return _catch_message(condition_of(exc))
    return _entries(exc, condition_of(exc)).get(key)


def _entries(exc: BaseException, error: SemaError) -> dict[Any, Any]:
    """The entries of a condition map but for the stack; None for a message that is told when it is read."""
    if isinstance(error, Thrown):
        value = error.value
        return {TYPE: USER, MESSAGE: None if _is_settled(value) else error.message, VALUE: value}
    entries: dict[Any, Any] = {TYPE: keyword(error.kind), MESSAGE: _catch_message(error)}
    for name, value in error.fields.items():
        entries[keyword(name.replace("_", "-"))] = value
    if error.kind == "python" and error is not exc:
        entries[PYTHON_EXCEPTION] = exc  # not in the fields, where it would be a cycle
    return entries


def _is_settled(value: Any) -> bool:
    """Whether a thrown value prints later as it does now."""
    return type(value) in ATOMIC or (type(value) is Map and ATOMIC.issuperset(map(type, value.d.values())))


def _catch_message(error: SemaError) -> str:
    place = source_place(error) if isinstance(error, ReaderError) else None
    return f"{error.message} at {place[0]}:{place[1]}" if place is not None else error.message


def source_place(error: SemaError) -> tuple[int, int] | None:
    """(line, column) in the source text where the reader or the compiler found the error."""
    span = getattr(error, "span", None)
    return None if span is None else (span[0], span[1])


class ConditionDict(LazyDict):
    """The entries of a condition map. `:stack-trace`, and the `:message` of a thrown value, are computed when they are
    read: few programs do. source: the calls (a Snapshot) and the operator that failed, if there is one."""

    __slots__ = ()

    def load(self) -> None:
        from sema_runtime.conditions.stack_trace import shown_frames

        snapshot, operator = self.source
        calls = snapshot.shown()
        if all(is_ours(call[1]) for call in calls):
            frames = []
        else:
            frames = _with_operator(shown_frames(calls), operator)
        self._tell()
        dict.__setitem__(self, STACK_TRACE, List(list(map(_entry, frames))) if frames else EMPTY)

    def _tell(self) -> None:
        if dict.__getitem__(self, MESSAGE) is None:
            dict.__setitem__(self, MESSAGE, to_text(dict.__getitem__(self, VALUE)))

    def get(self, key: Any, default: Any = None) -> Any:
        if key is STACK_TRACE:
            self.fill()
        elif key is MESSAGE:
            self._tell()
        return dict.get(self, key, default)

    def __contains__(self, key: Any) -> bool:
        return dict.__contains__(self, key)

    def __len__(self) -> int:
        return dict.__len__(self)


def _with_trace(entries: dict[Any, Any], exc: BaseException, error: SemaError) -> dict[Any, Any]:
    entries[STACK_TRACE] = EMPTY
    lazy = ConditionDict(entries)
    lazy.source = (Snapshot(exc), _operator(error))
    return lazy


def _entry(frame: Frame) -> Map:
    """A frame as an item of `:stack-trace`."""
    return Map({NAME: frame.name, LINE: frame.line, COL: frame.col} if frame.line else {NAME: frame.name})


def _operator(error: SemaError) -> str | None:
    """The operator that failed, where that was compiled into its caller."""
    return "throw" if isinstance(error, Thrown) else getattr(error, "operator", None)


def _with_operator(frames: list[Frame], operator: str | None) -> list[Frame]:
    """The frames of an error. An operator that was compiled into its caller gets a frame of its own."""
    if operator is not None and frames and frames[0].name != operator:
        caller = frames[0]
        frames.insert(0, Frame(operator, caller.file, caller.line, caller.col))
    return frames


def describe(exc: BaseException) -> Described:
    """The parts of the message for an uncaught error."""
    error = condition_of(exc)
    frames = _with_operator(sema_frames(raw_calls(exc)), _operator(error))
    thrown = rethrown(exc)
    if thrown is not None:
        return Described(thrown.d[MESSAGE], None, None, frames, None)
    hint = error.hint
    if hint is None and isinstance(error, UnboundError):
        hint = unbound_hint(error.fields["name"], exc)
    elif error.kind in ("type-error", "arity"):
        from sema_runtime.conditions.usage import usage_hint

        hint = usage_hint(error, exc)
    return Described(error.display(), hint, error.note, frames, source_place(error))


def unbound_hint(name: str, exc: BaseException) -> str | None:
    """Advice for an unbound name, from the names of the reference and of the program that failed."""
    from sema_runtime.conditions.hints import for_unbound

    return for_unbound(name, program_names(exc))


def program_names(exc: BaseException) -> list[str]:
    """The Sema names of the variables of the function that raised an error, then of the globals of its module."""
    place = innermost(exc)
    frame = place[0] if place else None
    while frame is not None and sema_names(frame.f_code, frame.f_globals) is None:
        frame = frame.f_back
    if frame is None:
        return []
    names: list[str] = []
    trace = exc.__traceback__
    while trace is not None:  # of the innermost function, and of those around it
        code = trace.tb_frame.f_code
        if f"{frame.f_code.co_qualname}.".startswith(f"{code.co_qualname}."):
            if trace.tb_frame.f_globals is frame.f_globals:
                names = local_names(code, frame.f_globals) + names
        trace = trace.tb_next
    return [*names, *global_names(frame.f_globals)]


def local_names(code: CodeType, namespace: dict[str, Any]) -> list[str]:
    """The Sema names of a function's parameters and variables, and of those around it that it uses."""
    table = namespace.get("__sema_names__", {})
    names = (*code.co_varnames, *code.co_cellvars, *code.co_freevars)
    # `total_2` is a temporary, or a variable whose plain name stands here too
    return [name_of_code(name, table) for name in names if name[0] not in "_." and not name[-1].isdigit()]


def global_names(namespace: dict[str, Any]) -> list[str]:
    """The Sema names that a compiled module defines, without imports, constants and helpers of the compiler."""
    table = namespace.get("__sema_names__", {})
    names = []
    for name, value in tuple(namespace.items()):
        if name.startswith("__") or _is_ours(name, value):
            continue
        sema = name_of_code(name, table)
        if not sema.startswith("<"):
            names.append(sema)
    return names


def _is_ours(name: str, value: Any) -> bool:
    """Whether a global of a compiled module is an import from the runtime or something that the compiler added."""
    if isinstance(value, type) and issubclass(value, Record):
        return True
    if isinstance(value, type) or hasattr(value, "__code__"):
        return str(value.__module__).startswith("sema_runtime")
    return name.startswith(("kw_", "sym_", "char_")) and type(value).__module__ == Keyword.__module__
