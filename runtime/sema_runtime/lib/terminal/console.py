"""The standard input, line by line or as a whole. Waiting for it suspends only the waiting task."""

from __future__ import annotations

import sys

from sema_runtime.catalogue import builtin

_ended = False  # whether a read has come to the end of the input


def note_end() -> None:
    """Remembers, for `io/eof?`, that the input has ended."""
    global _ended
    _ended = True


@builtin("read-line", "io/read-line", type="-> str|nil")
def read_line() -> str | None:
    """Reads a line of stdin without its end; nil at the end of the input.

    ; (begin (display "Your name: ") (println "Hello," (read-line)))
    """
    from sema_runtime.lib.files.streams import text_from
    from sema_runtime.tasks.inputs import standard_input

    sys.stdout.flush()
    line = standard_input().line("read-line")
    if not line:
        note_end()
        return None
    return text_from("read-line", line.removesuffix(b"\n").removesuffix(b"\r") if line.endswith(b"\n") else line)


@builtin("read-stdin", "io/read-stdin", type="-> str")
def read_stdin() -> str:
    """Reads the rest of stdin.

    ; (println (string/upper (read-stdin)))
    """
    from sema_runtime.lib.files.streams import text_from
    from sema_runtime.tasks.inputs import standard_input

    sys.stdout.flush()
    data = standard_input().rest("read-stdin")
    note_end()
    return text_from("read-stdin", data)


@builtin("io/eof?", type="-> bool")
def io_is_eof() -> bool:
    """Whether a read has reached the end of stdin.

    ; (while (not (io/eof?)) (println (read-line)))
    """
    return _ended
