"""pdb for Sema programs: `step` goes from Sema function to Sema function, past the runtime and what that calls."""

from __future__ import annotations

import os
import pdb
import sys
import sysconfig
from types import FrameType, TracebackType

from sema_runtime.conditions.tracebacks import is_ours
from sema_runtime.values.naming import PRIVATE
from semac.diagnostics.stacks import without

STANDARD_LIBRARY = sysconfig.get_path("stdlib") + os.sep


class Debugger(pdb.Pdb):
    """A Pdb that stops only in the user's own code, and in library code that this code has called itself."""

    def stop_here(self, frame: FrameType) -> bool:
        return not (_belongs_to_the_runtime(frame) or _is_entry(frame)) and bool(super().stop_here(frame))

    def get_stack(self, f: FrameType | None, t: TracebackType | None) -> tuple[list[tuple[FrameType, int]], int]:
        """The stack without the frames of functions whose private copies stand for them, and the current index."""
        stack, current = super().get_stack(f, t)
        hidden = [index < len(stack) - 1 and _is_entry(frame) for index, (frame, _) in enumerate(stack)]
        return without(hidden, stack, current)

    def lookupmodule(self, filename: str) -> str | None:
        """The path of a file named in a `break` command; Python 3.13 looks for .py files only."""
        if filename.endswith(".sema"):
            places = (os.path.join(folder, filename) for folder in ("", *sys.path))
            return next((os.path.abspath(place) for place in places if os.path.isfile(place)), None)
        return super().lookupmodule(filename)


def _is_entry(frame: FrameType) -> bool:
    """Whether a frame stands at the test with which a function chooses its private copy."""
    code = frame.f_code
    return frame.f_lineno == code.co_firstlineno and PRIVATE + code.co_qualname in frame.f_globals


def _belongs_to_the_runtime(frame: FrameType) -> bool:
    """Whether a frame belongs to semac or its runtime, or to the standard library called from there."""
    caller: FrameType | None = frame
    while caller is not None and caller.f_code.co_filename.startswith((STANDARD_LIBRARY, "<frozen ")):
        caller = caller.f_back
    return caller is not None and is_ours(caller.f_globals)
