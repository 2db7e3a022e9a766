"""Errors of types say whose value it was: the function that got it, which argument, and the function of the program."""

from __future__ import annotations

from types import FrameType
from typing import Any

from sema_runtime.catalogue_index import INDEX
from sema_runtime.conditions.tracebacks import Frame
from sema_runtime.conditions.usage import failing_builtin
from sema_runtime.values.errors import SemaTypeError
from sema_runtime.values.typenames import type_name

LONGEST = 80  # characters of a name that is shown
UNNAMED = "<"  # what names of frames begin with that no program has given


def with_function(message: str, error: BaseException, condition: SemaTypeError, frames: list[Frame]) -> str:
    """The message of an error of types with the names of the builtin and of the function around it."""
    first = frames[0].name if frames else ""
    builtin = first if len(frames) > 1 and places_equal(frames[0], frames[1]) else failing_builtin(error)
    if message == "expected int, got int":
        message = "expected int of 64 bits, got a larger one"
    if builtin and message.startswith("expected "):
        number = argument(error, builtin, str(condition.fields.get("got")))
        message = f"{builtin} {f'argument {number} ' if number else ''}{message}"
    own = [frame.name for frame in frames[1 if builtin == first else 0 :]]
    function = next((name for name in own if not name.startswith(UNNAMED)), None)
    return f"{message}, in {function[:LONGEST]}" if function else message


def places_equal(inner: Frame, outer: Frame) -> bool:
    """Whether a frame is that of a builtin: it has the place of its call."""
    return (inner.line, inner.col) == (outer.line, outer.col)


def argument(error: BaseException, builtin: str, got: str) -> int | None:
    """The number of the only argument of a builtin that has a type; None where there are several, or none."""
    frame = frame_of(error, builtin)
    if frame is None:
        return None
    code, values = frame.f_code, frame.f_locals
    given = [values.get(name) for name in code.co_varnames[: code.co_argcount]]
    if code.co_flags & 0x04:  # further ones
        given += values.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount], ())
    of_type = [number for number, value in enumerate(given, 1) if type_name(value) == got]
    return of_type[0] if len(of_type) == 1 and len(given) > 1 else None


def frame_of(error: BaseException, builtin: str) -> FrameType | None:
    """The last frame of a builtin's own function."""
    if builtin not in INDEX:
        return None
    module, function, *_ = INDEX[builtin]
    found: Any = None
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_code.co_name == function and frame.f_globals.get("__name__") == f"sema_runtime.{module}":
            found = frame
        trace = trace.tb_next
    return found  # type: ignore[no-any-return]
