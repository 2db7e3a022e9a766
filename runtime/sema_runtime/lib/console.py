"""The standard input, line by line or as a whole."""

from __future__ import annotations

import sys

from sema_runtime.catalogue import builtin

_ended = False  # whether a read has come to the end of the input


@builtin("read-line", "io/read-line", returns="string|nil")
def read_line() -> str | None:
    """The next line of the input without its end, nil when there is no more."""
    global _ended
    sys.stdout.flush()
    line = sys.stdin.readline()
    if not line:
        _ended = True
        return None
    return line.removesuffix("\n").removesuffix("\r")


@builtin("read-stdin", "io/read-stdin", returns="string")
def read_stdin() -> str:
    """All that is left of the input."""
    global _ended
    text = sys.stdin.read()
    _ended = True
    return text


@builtin("io/eof?", returns="bool")
def io_is_eof() -> bool:
    """Whether a read has come to the end of the input."""
    return _ended
