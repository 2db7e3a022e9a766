"""Tracebacks of programs that call Sema functions: Sema names, `.sema` lines, no frames of the compiler or the runtime.

`install` sets `sys.excepthook` and `threading.excepthook` where nobody else has. SEMA_TRACEBACK=full shows every frame.
"""

from __future__ import annotations

import _thread
import os
import sys

from sema_runtime.values.errors import SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    import traceback
    from types import FrameType, TracebackType
    from typing import Any

    from sema_runtime.conditions.tracebacks import Call

HIDDEN = ("<frozen importlib.", "<frozen runpy>", os.path.dirname(os.path.dirname(__file__)) + os.sep)

_hooks: dict[str, Any] = {}  # what stood in the two hooks before `install`


def install() -> None:
    """Shows uncaught errors as `format_exception` does. Leaves hooks alone that another tool has set."""
    if sys.excepthook is sys.__excepthook__:
        _hooks["sys"] = sys.excepthook
        sys.excepthook = _excepthook
    threading: Any = sys.modules.get("threading")
    if threading is None:  # it takes its hook from there when it is imported, which costs a millisecond
        _hooks.setdefault("_thread", _thread._excepthook)
        _thread._excepthook = _thread_excepthook
    elif threading.excepthook is threading.__excepthook__ and threading.excepthook is not _thread_excepthook:
        _hooks["threading"] = threading.excepthook
        threading.excepthook = _thread_excepthook


def uninstall() -> None:
    """Puts back what `install` replaced."""
    if sys.excepthook is _excepthook:
        sys.excepthook = _hooks.pop("sys")
    threading: Any = sys.modules.get("threading")
    original = _hooks.pop("_thread", None)
    if original is not None:
        _thread._excepthook = original
    if threading is not None and threading.excepthook is _thread_excepthook:
        threading.excepthook = _hooks.pop("threading", original)


def format_exception(exc: BaseException) -> list[str]:
    """The lines of the traceback, like `traceback.format_exception`, each ending in a newline."""
    import traceback

    if os.environ.get("SEMA_TRACEBACK") == "full" or not concerns_sema(exc):
        return traceback.format_exception(exc)
    report = traceback.TracebackException.from_exception(exc)
    _clean(report, exc)
    lines = list(report.format())
    return lines + _advice(exc)


def concerns_sema(exc: BaseException | None) -> bool:
    """Whether compiled Sema code, or its compilation, had a part in the exception or in those before it."""
    seen: set[int] = set()
    while exc is not None and id(exc) not in seen:
        seen.add(id(exc))
        if isinstance(exc, SyntaxError) and getattr(exc, "sema_error", None) is not None:
            return True
        if any(map(is_sema, _frames(exc))):
            return True
        exc = exc.__cause__ or exc.__context__
    return False


def _frames(exc: BaseException) -> list[FrameType]:
    """The frames of an exception's traceback, outermost first."""
    frames = []
    trace = exc.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    return frames


def _call(frame: FrameType, exc: BaseException) -> Call:
    """The call that a frame of an exception's traceback was in."""
    trace = exc.__traceback__
    while trace is not None and trace.tb_frame is not frame:
        trace = trace.tb_next
    return frame.f_code, frame.f_globals, frame.f_lasti if trace is None else trace.tb_lasti, frame.f_lineno


def is_sema(frame: FrameType) -> bool:
    """Whether a frame runs compiled Sema code."""
    return "__sema_names__" in frame.f_globals or frame.f_code.co_filename.endswith((".sema", "<input>"))


def _clean(report: traceback.TracebackException, exc: BaseException) -> None:
    """Drops our frames from a report and those of the exceptions that led to it, and names functions as in Sema."""
    from sema_runtime.conditions.tracebacks import is_entry

    pending: list[tuple[traceback.TracebackException | None, BaseException | None]] = [(report, exc)]
    seen: set[int] = set()
    while pending:
        current, error = pending.pop()
        if current is None or error is None or id(error) in seen:
            continue
        seen.add(id(error))
        frames = _frames(error)
        if len(frames) == len(current.stack):
            called = [*frames[1:], None]
            kept = [
                line
                for frame, callee, line in zip(frames, called, current.stack, strict=True)
                if _shown(frame, line) and not (callee is not None and is_entry(_call(frame, error), callee.f_code))
            ]
            current.stack[:] = kept or ([] if isinstance(error, SyntaxError) else current.stack)
        pending += [(current.__cause__, error.__cause__), (current.__context__, error.__context__)]


def _shown(frame: FrameType, line: traceback.FrameSummary) -> bool:
    """Whether the user wants to see a frame; gives a Sema function its Sema name."""
    from sema_runtime.conditions.tracebacks import is_ours, shown_name
    from sema_runtime.values.naming import sema_names

    if is_ours(frame.f_globals) or line.filename.startswith(HIDDEN):
        return False
    if is_sema(frame) and frame.f_code.co_name != "<module>":
        line.name = shown_name(frame.f_code, sema_names(frame.f_code, frame.f_globals))
    return True


def _advice(exc: BaseException) -> list[str]:
    """What the command line would add: for Python's own errors the Sema message, and the hint and the note."""
    from sema_runtime.conditions.describe import describe

    if isinstance(exc, SyntaxError):
        return []
    described = describe(exc)
    lines = []
    if not isinstance(exc, SemaError) and described.message not in str(exc):
        lines.append(f"  sema: {described.message}\n")
    if described.hint:
        lines.append(f"  hint: {described.hint}\n")
    if described.note:
        lines.append(f"  note: {described.note}\n")
    return lines


def _excepthook(kind: type[BaseException], exc: BaseException, trace: TracebackType | None) -> None:
    try:
        text = _at_terminal("".join(format_exception(exc))) if concerns_sema(exc) else ""
    except Exception:  # a hook must not fail: Python's own shows the error then
        text = ""
    if text:
        sys.stderr.write(text)
    else:
        sys.__excepthook__(kind, exc, trace)


def _thread_excepthook(args: threading.ExceptHookArgs) -> None:
    exc = args.exc_value
    if exc is None or args.exc_type is SystemExit or not concerns_sema(exc):
        (_hooks.get("_thread") or _hooks["threading"])(args)
        return
    sys.stderr.write(thread_error(args))


def thread_error(args: threading.ExceptHookArgs) -> str:
    """What is shown of an error that ended a thread."""
    name = args.thread.name if args.thread is not None else "unknown"
    error = args.exc_value or args.exc_type()
    return _at_terminal(f"Exception in thread {name}:\n" + "".join(format_exception(error)))


def _at_terminal(text: str) -> str:
    from sema_runtime.support.visible import at_error_terminal

    return at_error_terminal(text)
