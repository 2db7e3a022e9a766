"""The standard input, line by line or as a whole."""

from __future__ import annotations

import sys

from sema_runtime.catalogue import builtin

_ended = False  # whether a read has come to the end of the input


def note_end() -> None:
    """Remembers, for `io/eof?`, that the input has ended."""
    global _ended
    _ended = True


@builtin("read-line", "io/read-line", returns="string|nil")
def read_line() -> str | None:
    """The next line of the input without its end, nil when there is no more."""
    sys.stdout.flush()
    line = sys.stdin.readline()
    if not line:
        note_end()
        return None
    return line.removesuffix("\n").removesuffix("\r")


@builtin("read-stdin", "io/read-stdin", returns="string")
def read_stdin() -> str:
    """All that is left of the input."""
    text = sys.stdin.read()
    note_end()
    return text


@builtin("io/eof?", returns="bool")
def io_is_eof() -> bool:
    """Whether a read has come to the end of the input."""
    return _ended
