"""Text to tokens. The first error of the lexer comes before any error of the parser, as in the reference.

A token is a tuple (kind, value, span). One compiled expression finds the common tokens; what is rare (escapes, `#`
syntax, f-strings, all numbers but plain integers) goes through `semac.syntax.literals`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sema_runtime.values.atoms import keyword, symbol
from sema_runtime.values.errors import ReaderError
from semac.syntax.literals import (
    ATOM,
    CLOSE,
    CONSTANTS,
    CONTINUES,
    FSTRING,
    OPEN,
    PLACEHOLDER,
    PREFIX,
    LexError,
    rare_token,
)
from semac.syntax.spans import Span

if TYPE_CHECKING:
    from collections.abc import Callable

Token = tuple[int, Any, Span]
TOKEN = re.compile(
    rf"""[ \t\r]*+(?:
    ((?!f")(?:[A-Za-z_*/!?<>=&%^~\x80-\U0010ffff]|[+\-](?![0-9i]))[{CONTINUES}]*)
    |([(\[{{])
    |([)\]}}])
    |(\n[ \t\r\n]*)
    |(-?[0-9]+(?![0-9./eEi+\-]))
    |("[^"\\]*")
    |(:[{CONTINUES}]+)
    |(;[^\n]*)
    |(,@|['`,@])
    |(.)
    )""",
    re.VERBOSE | re.DOTALL,
)
SYMBOL, OPENER, CLOSER, NEWLINE, INTEGER, STRING, KEYWORD, COMMENT, QUOTE = range(1, 10)
PLACEHOLDER_NAME = re.compile(r"%(?:&|\+?[0-9]+|)")


class Comment:
    """A comment kept for tools; text begins with its semicolons."""

    __slots__ = ("span", "text")

    def __init__(self, text: str, span: Span) -> None:
        self.text = text
        self.span = span


def lex(
    text: str,
    line: int = 1,
    col: int = 1,
    comments: list[Comment] | None = None,
    errors: list[ReaderError] | None = None,
) -> list[Token]:
    """The tokens of text, whose first character stands at line and col.

    comments: a list that collects comments. errors: a list that collects errors; without it the first ReaderError is
    raised.
    """
    tokens: list[Token] = []
    push = tokens.append
    known: dict[str, Token] = {}
    base = -col  # the offset of the newline before this line: an offset minus base is a column
    position = 0
    if text.startswith("#!") and line == col == 1:
        newline = text.find("\n")
        position = len(text) if newline < 0 else newline
    while True:
        for match in TOKEN.finditer(text, position):
            kind = match.lastindex
            start, end = match.span(kind)  # type: ignore[arg-type]
            if kind == SYMBOL:
                name = match[1]
                token = known.get(name)
                if token is None:
                    token = _symbol_token(name)
                    if token is None:
                        break
                    known[name] = token
                push((token[0], token[1], Span(line, start - base, line, end - base)))
            elif kind == OPENER:
                push((OPEN, match[2], Span(line, start - base, line, end - base)))
            elif kind == CLOSER:
                push((CLOSE, match[3], Span(line, start - base, line, end - base)))
            elif kind == NEWLINE:
                line += text.count("\n", start, end)
                base = text.rfind("\n", start, end)
            elif kind == INTEGER and end - start < 4000:
                push((ATOM, int(match[5]), Span(line, start - base, line, end - base)))
            elif kind == KEYWORD and match[7].isascii():
                push((ATOM, keyword(match[7][1:]), Span(line, start - base, line, end - base)))
            elif kind == STRING and "\n" not in match[6]:
                push((ATOM, match[6][1:-1], Span(line, start - base, line, end - base)))
            elif kind == QUOTE:
                push((PREFIX, match[9], Span(line, start - base, line, end - base)))
            elif kind != COMMENT:
                break
            elif comments is not None:
                comments.append(Comment(match[8], Span(line, start - base, line, end - base)))
        else:
            return tokens
        line, base, position = _rare(text, start, line, base, push, errors)


def _symbol_token(name: str) -> Any:
    """(kind, value) of a word, None for one with characters beyond ASCII, which takes the slow way."""
    if not name.isascii():
        return None
    if name[0] == "%" and PLACEHOLDER_NAME.fullmatch(name):
        return PLACEHOLDER, symbol(name)
    return ATOM, CONSTANTS[name] if name in CONSTANTS else symbol(name)


def _rare(
    text: str, start: int, line: int, base: int, push: Callable[[Token], None], errors: list[ReaderError] | None
) -> tuple[int, int, int]:
    """Reads one token of an uncommon kind; returns the new line, base and position."""
    try:
        kind, value, end = rare_token(text, start)
    except LexError as error:
        kind, end = -1, _report(error, text, start, line, base, errors)
    end_line, end_base = line, base
    if newlines := text.count("\n", start, end):
        end_line = line + newlines
        end_base = text.rfind("\n", start, end)
    if kind >= 0:
        if kind == FSTRING:
            value = _placed_parts(text, value, start, line, base)
        push((kind, value, Span(line, start - base, end_line, end - end_base)))
    return end_line, end_base, end


def _placed_parts(text: str, parts: list[Any], first: int, line: int, base: int) -> list[tuple[bool, str, Span]]:
    """The parts (is_code, text, start, end) of an f-string with spans instead of offsets. first: where it begins."""
    placed = []
    for is_code, value, start, end in parts:
        here_line, here_base = _place(text, start, first, line, base)
        end_line, end_base = _place(text, end, first, line, base)
        span = Span(here_line, start - here_base, end_line, end - end_base)
        placed.append((is_code, value, span))
    return placed


def _place(text: str, offset: int, first: int, line: int, base: int) -> tuple[int, int]:
    """Line and base at an offset, given those of an earlier one: first."""
    newlines = text.count("\n", first, offset)
    return (line + newlines, text.rfind("\n", first, offset)) if newlines else (line, base)


def _report(error: LexError, text: str, start: int, line: int, base: int, errors: list[ReaderError] | None) -> int:
    """Raises the error with its place, or keeps it; returns the offset where reading continues."""
    here_line, here_base = _place(text, error.offset, start, line, base)
    col = error.offset - here_base
    placed = ReaderError(error.message, Span(here_line, col, here_line, col), error.hint)
    if errors is None:
        raise placed from None
    errors.append(placed)
    if error.message.startswith("unterminated"):
        newline = text.find("\n", start)
        return len(text) if newline < 0 else newline
    return max(start, error.offset) + 1
