"""Tracebacks as tests show them."""

from __future__ import annotations

from types import TracebackType

from sema_runtime.conditions.tracebacks import is_ours


def without_ours(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of the runtime and the compiler."""
    kept = []
    while trace is not None:
        if not is_ours(trace.tb_frame.f_globals):
            kept.append(trace)
        trace = trace.tb_next
    shown: TracebackType | None = None
    for entry in reversed(kept):
        shown = TracebackType(shown, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return shown
