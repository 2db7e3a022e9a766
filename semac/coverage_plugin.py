"""coverage.py for `.sema` files: put `plugins = semac.coverage_plugin` under `[run]` in the coverage configuration.

A line counts when a form stands on it and code was made of it. `; pragma: no cover` leaves out the form on its line.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from types import CodeType
from typing import Any

import coverage

from sema_runtime.packed_code import packed_in
from semac.syntax.reader import read_recovering
from semac.syntax.spans import Span

SUFFIX = ".sema"
PRAGMA = "pragma: no cover"
SKIPPED_FOLDERS = ("__pycache__", ".git", ".venv", "node_modules")


def coverage_init(registry: Any, options: Any) -> None:
    registry.add_file_tracer(SemaPlugin())


class SemaPlugin(coverage.CoveragePlugin):
    """Claims the code objects whose file is a .sema file."""

    def file_tracer(self, filename: str) -> SemaTracer | None:
        return SemaTracer(filename) if filename.endswith(SUFFIX) else None

    def file_reporter(self, filename: str) -> SemaReporter:
        return SemaReporter(filename)

    def find_executable_files(self, src_dir: str) -> Iterable[str]:
        for folder, folders, names in os.walk(src_dir):
            folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
            yield from (os.path.join(folder, name) for name in names if name.endswith(SUFFIX))


class SemaTracer(coverage.FileTracer):
    """Lines of code objects are lines of the file: the compiler has seen to it."""

    def __init__(self, filename: str) -> None:
        self.filename = filename

    def source_filename(self) -> str:
        return self.filename


class SemaReporter(coverage.FileReporter):
    """Which lines of a file can be executed."""

    def source(self) -> str:
        from semac.imports.finder import SemaLoader

        return SemaLoader("", self.filename).get_source()

    def lines(self) -> set[int]:
        from semac.imports.finder import SemaLoader

        forms, _, _ = read_recovering(self.source())
        starts = {span.line for span in _all_spans(forms.span)}
        return (code_lines(SemaLoader("", self.filename).get_code()) & starts) - self.excluded_lines()

    def excluded_lines(self) -> set[int]:
        forms, _, comments = read_recovering(self.source())
        marked = {comment.span.line for comment in comments if PRAGMA in comment.text}
        excluded: set[int] = set()
        for span in _all_spans(forms.span):
            if span.line in marked:
                excluded.update(range(span.line, span.end_line + 1))
        return excluded


def code_lines(code: CodeType) -> set[int]:
    """The lines that a code object, or one inside of it, can execute."""
    lines: set[int] = set()
    pending = [code, *packed_in(code)]
    while pending:
        inner = pending.pop()
        lines.update(line for _, _, line in inner.co_lines() if line)
        pending += [constant for constant in inner.co_consts if isinstance(constant, CodeType)]
    return lines


def _all_spans(program: Span) -> Iterable[Span]:
    """The places of all forms of a program, inner ones too."""
    pending = list(program.children)
    while pending:
        span = pending.pop()
        yield span
        pending += span.children
