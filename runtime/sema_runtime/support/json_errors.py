"""Finds where a text stops being JSON, with the messages and positions of the reference's parser (serde_json).

Runs only when decoding failed or might have accepted too much: a plain recursive reader. Positions count bytes.
"""

from __future__ import annotations

import re

DIGITS = frozenset(b"0123456789")
HEX = frozenset(b"0123456789abcdefABCDEF")
ESCAPES = frozenset(b'"\\/bfnrt')
DEEPEST = 127
BLANK = frozenset(b" \t\n\r")
BLANKS = re.compile(rb"[ \t\n\r]*")
RUN_OF_DIGITS = re.compile(rb"[0-9]*")
HIGH, LOW = rb"[dD][89abAB][0-9a-fA-F]{2}", rb"[dD][c-fC-F][0-9a-fA-F]{2}"
CODE = rb"(?:[0-9a-ceA-CE-Ff][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2}|" + HIGH + rb"\\u" + LOW + rb")"
PLAIN = re.compile(
    rb'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u' + CODE + rb"))*+"
)  # of a string: nothing is wrong with it
ITEMS = re.compile(
    rb'(?:(?:0|[1-9][0-9]{0,17}|"[^"\\\x00-\x1f]*+"|true|false|null),(?=[\[{"0-9tfn-]))*+'
)  # of an array, which others follow
SHORT = re.compile(rb"(?:0|[1-9][0-9]{0,17})(?=[,\]}])")  # a number that nothing is wrong with


def _end(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    match = pattern.match(data, at)
    assert match is not None
    return match.end()


class _Stop(Exception):
    """A parse error: its message and the number of bytes read before it."""


def first_error(text: str) -> tuple[str, str] | None:
    """(message, "at line L column C") of the first error; None for a correct text."""
    reader = _Reader(text.encode("utf-8", "surrogatepass"))
    try:
        reader.document()
    except _Stop as stop:
        message, end = stop.args
        read = reader.data[: min(end, len(reader.data))]
        line = read.count(b"\n") + 1
        column = len(read) - read.rfind(b"\n") - 1
        return message, f"at line {line} column {column}"
    return None


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.depth = 0

    def fail_here(self, message: str) -> _Stop:
        """An error after the bytes read so far."""
        return _Stop(message, self.at)

    def fail_next(self, message: str) -> _Stop:
        """An error that includes the next byte."""
        return _Stop(message, self.at + 1)

    def blank(self) -> int:
        """Skips white space and returns the next byte, -1 at the end."""
        data, at = self.data, self.at
        if at < len(data) and data[at] in BLANK:
            at = self.at = _end(BLANKS, data, at)
        return data[at] if at < len(data) else -1

    def peek(self) -> int:
        return self.data[self.at] if self.at < len(self.data) else -1

    def take(self) -> int:
        byte = self.peek()
        if byte >= 0:
            self.at += 1
        return byte

    def document(self) -> None:
        self.value()
        if self.blank() >= 0:
            raise self.fail_next("trailing characters")

    def value(self) -> None:
        mark = self.blank()
        if mark < 0:
            raise self.fail_next("EOF while parsing a value")
        if mark in b"[{":
            self.depth += 1
            if self.depth > DEEPEST:
                raise self.fail_next("recursion limit exceeded")
            self.at += 1
            if mark == ord("["):
                self.array()
            else:
                self.object()
            self.depth -= 1
        elif mark == ord('"'):
            self.at += 1
            self.string()
        elif mark == ord("-") or mark in DIGITS:
            self.at += mark == ord("-")
            self.number()
        elif mark in b"ntf":
            self.identifier({ord("n"): b"null", ord("t"): b"true", ord("f"): b"false"}[mark])
        else:
            raise self.fail_next("expected value")

    def identifier(self, word: bytes) -> None:
        for expected in word:
            byte = self.take()
            if byte < 0:
                raise self.fail_here("EOF while parsing a value")
            if byte != expected:
                raise self.fail_here("expected ident")

    def array(self) -> None:
        first = True
        while (mark := self.blank()) != ord("]"):
            if mark < 0:
                raise self.fail_next("EOF while parsing a list")
            if not first:
                if mark != ord(","):
                    raise self.fail_next("expected `,` or `]`")
                self.at += 1
                if self.blank() == ord("]"):
                    raise self.fail_next("trailing comma")
            self.at = _end(ITEMS, self.data, self.at)
            self.value()
            first = False
        self.at += 1

    def object(self) -> None:
        first = True
        while (mark := self.blank()) != ord("}"):
            if mark < 0:
                raise self.fail_next("EOF while parsing an object")
            if not first:
                if mark != ord(","):
                    raise self.fail_next("expected `,` or `}`")
                self.at += 1
                mark = self.blank()
                if mark < 0:
                    raise self.fail_next("EOF while parsing a value")
                if mark == ord("}"):
                    raise self.fail_next("trailing comma")
            if mark != ord('"'):
                raise self.fail_next("key must be a string")
            self.at += 1
            self.string()
            self.colon()
            self.value()
            first = False
        self.at += 1

    def colon(self) -> None:
        mark = self.blank()
        if mark < 0:
            raise self.fail_next("EOF while parsing an object")
        if mark != ord(":"):
            raise self.fail_next("expected `:`")
        self.at += 1

    def number(self) -> None:
        """Parses a number after its sign."""
        whole = SHORT.match(self.data, self.at)
        if whole is not None:
            self.at = whole.end()
            return
        first = self.take()
        if first < 0:
            raise self.fail_here("EOF while parsing a value")
        if first not in DIGITS:
            raise self.fail_here("invalid number")
        if first == ord("0") and self.peek() in DIGITS:
            raise self.fail_next("invalid number")
        self.digits()
        if self.peek() == ord("."):
            self.at += 1
            if not self.digits():
                raise self.fail_next("EOF while parsing a value" if self.peek() < 0 else "invalid number")
        if self.peek() in (ord("e"), ord("E")):
            self.at += 1
            if self.peek() in (ord("+"), ord("-")):
                self.at += 1
            byte = self.take()
            if byte not in DIGITS:
                raise self.fail_here("EOF while parsing a value" if byte < 0 else "invalid number")
            self.digits()

    def digits(self) -> bool:
        start = self.at
        self.at = _end(RUN_OF_DIGITS, self.data, start)
        return self.at > start

    def string(self) -> None:
        """Parses a string after its opening quote."""
        while True:
            self.at = _end(PLAIN, self.data, self.at)
            mark = self.take()
            if mark < 0:
                raise self.fail_here("EOF while parsing a string")
            if mark == ord('"'):
                return
            if mark < 0x20:
                raise self.fail_here("control character (\\u0000-\\u001F) found while parsing a string")
            if mark == ord("\\"):
                self.escape()

    def escape(self) -> None:
        mark = self.take()
        if mark < 0:
            raise self.fail_here("EOF while parsing a string")
        if mark == ord("u"):
            self.unicode_escape()
        elif mark not in ESCAPES:
            raise self.fail_here("invalid escape")

    def unicode_escape(self) -> None:
        code = self.four_digits()
        if 0xDC00 <= code < 0xE000:
            raise self.fail_here("lone leading surrogate in hex escape")
        if 0xD800 <= code < 0xDC00:
            for expected in b"\\u":
                byte = self.take()
                if byte < 0:
                    raise self.fail_here("EOF while parsing a string")
                if byte != expected:
                    raise self.fail_here("unexpected end of hex escape")
            if not 0xDC00 <= self.four_digits() < 0xE000:
                raise self.fail_here("lone leading surrogate in hex escape")

    def four_digits(self) -> int:
        digits = self.data[self.at : self.at + 4]
        self.at += len(digits)
        if len(digits) < 4:
            raise self.fail_here("EOF while parsing a string")
        if not HEX.issuperset(digits):
            raise self.fail_here("invalid escape")
        return int(digits, 16)
