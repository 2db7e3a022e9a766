"""Printing: `println print display newline pprint` and their counterparts for stderr.

While `sink` is a list every call appends its text there as one entry and nothing is written; `error_sink` is the same
for stderr (when only `sink` is set, text for stderr is entered there after `[error] `). `sema eval` uses both.
"""

from __future__ import annotations

import sys

from sema_runtime.catalogue import builtin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

sink: list[str] | None = None
error_sink: list[str] | None = None


@builtin("println", type="any... -> nil")
def println(*values: Any) -> None:
    """Prints its arguments as `str` shows them, separated by spaces, and ends the line.

    (println "n =" 5 ["a"]) prints n = 5 ["a"]
    (println) prints
    """
    text = values[0] if len(values) == 1 and type(values[0]) is str else _displayed(values)
    if sink is None:
        sys.stdout.write(text + "\n")
    else:
        sink.append(text)


@builtin("display", type="any... -> nil")
def display(*values: Any) -> None:
    """Prints its arguments as `str` shows them, separated by spaces, without ending the line.

    (display "a" #\\b '("c")) prints a #\\b ("c")
    """
    _write(_displayed(values))


@builtin("print", type="any... -> nil")
def print_(*values: Any) -> None:
    """Prints the readable forms of its arguments (strings quoted), separated by spaces, without ending the line.

    (print "a" 1) prints "a" 1
    """
    _write(_readable(values))


@builtin("newline", type="any... -> nil")
def newline(*_ignored: Any) -> None:
    """Prints the end of a line.

    (begin (display 1) (newline) (display 2)) prints 1\\n2
    """
    if sink is None:
        sys.stdout.write("\n")


@builtin("pprint", type="any -> nil")
def pprint(x: Any) -> None:
    """Prints the readable form of x over several lines of at most 80 bytes (pretty-printing), and ends the line.

    (pprint {:a "b" :c [1 2]}) prints {:a "b" :c [1 2]}
    """
    from sema_runtime.values.printer import pretty

    println(pretty(x))


@builtin("print-error", "io/print-error", type="any... -> nil")
def print_error(*values: Any) -> None:
    """Prints to stderr as `display` does to stdout.

    (print-error "no such file") => nil
    """
    _write_error(values, "")


@builtin("println-error", "io/println-error", type="any... -> nil")
def println_error(*values: Any) -> None:
    """Prints to stderr as `println` does to stdout.

    (println-error "no such file") => nil
    """
    _write_error(values, "\n")


@builtin("io/flush", type="-> nil")
def io_flush() -> None:
    """Flushes stdout: hands the text printed so far to the operating system.

    (display "working ...")
    (io/flush) => nil
    """
    sys.stdout.flush()


def _write(text: str) -> None:
    if sink is not None:
        sink.append(text)
        return
    sys.stdout.write(text)
    if getattr(sys.stdout, "line_buffering", False):  # a terminal: prompts and progress dots must show at once
        sys.stdout.flush()


def _write_error(values: tuple[Any, ...], end: str) -> None:
    if error_sink is not None:
        error_sink.append(_displayed(values) + end)
    elif sink is not None:
        sink.append("[error] " + _readable(values))
    else:
        sys.stdout.flush()
        sys.stderr.write(_displayed(values) + end)
        sys.stderr.flush()


def _displayed(values: tuple[Any, ...]) -> str:
    from sema_runtime.values.printer import display as shown

    return " ".join(map(shown, values))


def _readable(values: tuple[Any, ...]) -> str:
    from sema_runtime.values.printer import to_text

    return " ".join(map(to_text, values))
