"""Failures of tests in .sema files as pytest shows its own: source, `E` lines, place."""

from __future__ import annotations

import os
from collections.abc import Iterable

from _pytest._code.code import ReprEntry, ReprExceptionInfo, ReprFileLocation, ReprTraceback

from sema_runtime.conditions.describe import describe
from sema_runtime.conditions.failures import CheckFailed

AROUND = 3  # lines of source above the one that failed


def failure_text(error: BaseException, path: str) -> str:
    """The error as `sema` shows it, without colours."""
    from semac.diagnostics.render import render

    return render(error, path, {})


def failure_report(error: BaseException, path: str, everything: bool, style: str, start: int) -> ReprExceptionInfo:
    """The report of one failed test. style: that of `--tb`; `line`, `short` leave the source out. start: its line."""
    line = line_in(error, path, start)
    said = list(explanation(error, everything))
    headline = said[0] if said else type(error).__name__
    crash = ReprFileLocation(os.path.realpath(path), line, headline)
    shown = [] if style in ("short", "line", "native") else source_lines(path, line)
    lines = [*shown, *(f"E   {text}" for text in said)]
    place = ReprFileLocation(_short(path), line, type(error).__name__)
    entry = ReprEntry(lines, None, None, place, "long")
    return ReprExceptionInfo(reprtraceback=ReprTraceback([entry], None, "long"), reprcrash=crash)


def explanation(error: BaseException, everything: bool) -> Iterable[str]:
    """What the report says of an error: the parts of a failed check; message, trace and hint of anything else."""
    if isinstance(error, CheckFailed):
        yield from error.explained(everything)
    else:
        shown = describe(error)
        yield from shown.message.split("\n")
        yield from (f"  at {frame.name} ({_short(frame.file)}:{frame.line}:{frame.col or 1})" for frame in shown.frames)
        if shown.hint:
            yield f"hint: {shown.hint}"
    yield from (str(note) for note in getattr(error, "__notes__", ()))


def line_in(error: BaseException, path: str, line: int) -> int:
    """The line of the innermost call in the file; the given one where there is none."""
    traceback = error.__traceback__
    while traceback is not None:
        if os.path.realpath(traceback.tb_frame.f_code.co_filename) == os.path.realpath(path):
            line = traceback.tb_lineno or line
        traceback = traceback.tb_next
    return line


def source_lines(path: str, line: int) -> list[str]:
    """The lines up to the one that failed, which `>` marks."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read().split("\n")
    except OSError:
        return []
    first = max(1, line - AROUND)
    for number in range(line, first - 1, -1):
        if text[number - 1].startswith("("):
            first = number
            break
    return [f"{'>' if number == line else ' '}   {text[number - 1]}" for number in range(first, line + 1)] + [""]


def _short(path: str) -> str:
    shown = os.path.relpath(path)
    return path if shown.startswith("..") else shown
