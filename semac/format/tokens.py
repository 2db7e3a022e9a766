"""Lossless tokens: what the reader's lexer finds, as the author wrote it, with comments and line breaks."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from sema_runtime.values.atoms import Char, Symbol
from sema_runtime.values.numbers import Complex
from sema_runtime.values.printer import to_text
from semac.syntax.lexer import CLOSER, COMMENT, INTEGER, KEYWORD, NEWLINE, OPENER, QUOTE, STRING, SYMBOL, TOKEN
from semac.syntax.literals import CLOSE, CONSTANTS, OPEN, LexError, rare_token

NAME, LITERAL, OPENING, CLOSING, PREFIX, REMARK, BREAK = range(7)
PLAIN = {INTEGER: LITERAL, STRING: LITERAL, KEYWORD: LITERAL, OPENER: OPENING, CLOSER: CLOSING, QUOTE: PREFIX}
NUMBERS = (int, float, Fraction, Complex)
CHARACTERS = {" ": "space", "\n": "newline", "\t": "tab", "\r": "return", "\0": "nul"}


class FormatError(Exception):
    """Text that cannot be formatted: a message, and the offset in the text that it is about."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset

    def place(self, text: str) -> tuple[int, int]:
        """Line and column in the text, both from 1."""
        return text.count("\n", 0, self.offset) + 1, self.offset - text.rfind("\n", 0, self.offset)


class Token(NamedTuple):
    """kind: NAME to BREAK; text: as written, booleans and characters in their usual spelling; start: its offset."""

    kind: int
    text: str
    start: int


def tokens_of(text: str) -> list[Token]:
    """All tokens of a text, one BREAK for each line break. A first line `#!...` is no token. Raises FormatError."""
    tokens: list[Token] = []
    push = tokens.append
    position = end_of_shebang(text)
    while True:
        for match in TOKEN.finditer(text, position):
            group = match.lastindex
            start = match.start(group or 0)
            if group == SYMBOL and match[SYMBOL].isascii():
                push(_name(match[SYMBOL], start))
            elif group == COMMENT:
                push(Token(REMARK, match[COMMENT].rstrip(" \t\r"), start))
            elif group == NEWLINE:
                breaks = match[NEWLINE]
                push(Token(BREAK, "", start))
                for _ in range(breaks.count("\n") - 1):
                    start = text.index("\n", start + 1)
                    push(Token(BREAK, "", start))
            elif group in PLAIN and (group not in (KEYWORD, INTEGER) or _is_plain(match[group])):
                push(Token(PLAIN[group], match[group], start))
            else:
                break
        else:
            return tokens
        position = _rare(text, start, tokens)


def end_of_shebang(text: str) -> int:
    """The offset behind a first line `#!...`, without its line break; 0 where there is none."""
    if not text.startswith("#!"):
        return 0
    newline = text.find("\n")
    return len(text) if newline < 0 else newline


def _is_plain(source: str) -> bool:
    """Whether a keyword or an integer needs no second look: long integers and letters beyond ASCII do."""
    return source.isascii() and (source[0] == ":" or len(source) < 19)


def _name(name: str, start: int) -> Token:
    if name in CONSTANTS:
        return Token(LITERAL, {"true": "#t", "false": "#f"}.get(name, name), start)
    return Token(NAME, name, start)


def _rare(text: str, start: int, tokens: list[Token]) -> int:
    """Adds one token of an uncommon kind and returns its end."""
    try:
        kind, value, end = rare_token(text, start)
    except LexError as error:
        raise FormatError(error.message, error.offset) from None
    source = text[start:end]
    if kind in (OPEN, CLOSE):
        tokens.append(Token(OPENING if kind == OPEN else CLOSING, source, start))
    elif type(value) is Symbol:
        tokens.append(Token(NAME, source, start))
    elif type(value) is bool:
        tokens.append(Token(LITERAL, "#t" if value else "#f", start))
    elif type(value) is Char:
        tokens.append(Token(LITERAL, "#\\" + CHARACTERS.get(value.value, value.value), start))
    else:
        tokens.append(Token(LITERAL, _number(source, value) if isinstance(value, NUMBERS) else source, start))
    return end


def _number(source: str, value: Any) -> str:
    """A number as it is written. Rational, complex and big numbers are printed, if that reads as the same number."""
    if type(value) is not Complex and source.endswith("i"):
        printed = f"{to_text(value)}+0i"
    elif type(value) is float or (type(value) is int and -(2**63) <= value < 2**63 and "/" not in source):
        return source
    else:
        printed = to_text(value)
    try:
        _, again, end = rare_token(printed, 0)
    except LexError:
        return source
    return printed if end == len(printed) and type(again) is type(value) and again == value else source
