"""Where a bracket is missing, or one too many, as the indentation of a text has it."""

from __future__ import annotations

from typing import NamedTuple

from semac.syntax.lexer import Token
from semac.syntax.literals import CLOSE, OPEN
from semac.syntax.spans import Span

CLOSERS = {"(": ")", "[": "]", "{": "}", "#(": ")"}


class Slip(NamedTuple):
    """bracket: the one in question; place: where it is missing or too many; line: the line that shows it."""

    bracket: str
    place: tuple[int, int]
    line: int


def missing_closer(tokens: list[Token]) -> Slip | None:
    """The first place where a line starts at or before the column of a bracket that is still open."""
    opened: list[tuple[str, Span]] = []
    line, end = 0, (1, 1)
    for kind, value, span in tokens:
        if span.line > line and kind != CLOSE and opened and opened[-1][1].col >= span.col:
            return Slip(opened[-1][0], end, span.line)
        line, end = span.line, (span.end_line, span.end_col)
        if kind == OPEN and value in CLOSERS:
            opened.append((CLOSERS[value], span))
        elif kind == CLOSE and opened:
            opened.pop()
    return None


def extra_closer(tokens: list[Token]) -> Slip | None:
    """The first bracket that ends a form although the next line is indented below that form."""
    opened: list[int | None] = []  # columns of brackets that start a line
    line = 0
    closed: tuple[str, Span, int] | None = None  # what ended a form at the end of a line, and the form's column
    for kind, value, span in tokens:
        is_first = span.line > line
        if is_first and closed is not None and span.col > closed[2] and kind != CLOSE:
            return Slip(closed[0], (closed[1].line, closed[1].col), span.line)
        line = span.end_line
        if kind == OPEN:
            opened.append(span.col if is_first else None)
        elif kind == CLOSE and not opened:
            return None
        column = opened.pop() if kind == CLOSE else None
        if kind != CLOSE:
            closed = None
        elif column is not None:
            closed = (value, span, column)
    return None


def missing_advice(closer: str, tokens: list[Token]) -> str:
    """The hint below an error for a bracket that is never closed."""
    slip = missing_closer(tokens)
    if slip is None:
        return f"add a closing `{closer}`"
    line, column = slip.place
    return f"add a closing `{slip.bracket}`: by the indentation of line {slip.line} it is missing at {line}:{column}"


def extra_advice(otherwise: str, tokens: list[Token]) -> str:
    """The hint below an error for a bracket that closes nothing. otherwise: where the indentation says nothing."""
    slip = extra_closer(tokens)
    if slip is None:
        return otherwise
    line, column = slip.place
    return f"by the indentation of line {slip.line} the `{slip.bracket}` at {line}:{column} is one too many"
