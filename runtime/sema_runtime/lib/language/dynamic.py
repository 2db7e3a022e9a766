"""Text to forms: `read` and its relatives. They need the compiler's reader; see compiler_bridge.py."""

from __future__ import annotations

from sema_runtime import compiler_bridge
from sema_runtime.catalogue import builtin
from sema_runtime.support.text_arguments import text_of
from sema_runtime.values.errors import ReaderError
from sema_runtime.values.lists import List

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@builtin("read", type="str -> any")
def read(text: Any) -> Any:
    """Parses a text and returns its first form as data; nil when there is none.

    (read "(+ 1 2)") => (+ 1 2)
    (eval (read "(+ 1 2)")) => 3
    """
    return compiler_bridge.read_text(text_of(text))


@builtin("read-many", "io/read-many", type="str -> list")
def read_many(text: Any) -> List:
    """Parses a text and returns the list of all its forms as data.

    (read-many "1 (a b)") => (1 (a b))
    """
    return compiler_bridge.read_many(text_of(text))


@builtin("read/string", type="str -> any")
def read_string(text: Any) -> Any:
    """Parses a text and returns its first form as data; nil when there is none.

    (read/string "[1 (f x)]") => [1 (f x)]
    (read/string "(") ! unterminated list
    """
    return compiler_bridge.read_text(text_of(text))


@builtin("read/all", type="str -> list")
def read_all(text: Any) -> List:
    """Parses a text and returns the list of all its forms as data.

    (read/all "1 (a b)") => (1 (a b))
    """
    return compiler_bridge.read_many(text_of(text))


@builtin("sema/check-string", type="str -> map fresh")
def sema_check_string(text: Any) -> Any:
    """Checks whether a text can be read as Sema. Returns `{:ok bool :diagnostics list}`; each diagnostic has :code,
    :level, :message and :span.

    (sema/check-string "(+ 1 2)") => {:diagnostics () :ok #t}
    (map :message (:diagnostics (sema/check-string "(+ 1 2"))) => ("Reader error at 1:1: unterminated list")
    """
    return _checked(text_of(text))


@builtin("sema/check-file", type="str -> map fresh", cap="fs-read")
def sema_check_file(path: Any) -> Any:
    """Checks whether the text of a file can be read as Sema. The result is that of sema/check-string.

    (file/write "a.sema" "(+ 1 2")
    (:ok (sema/check-file "a.sema")) => #f
    """
    from sema_runtime.lib.files.files import file_read

    return _checked(file_read(path))


def _checked(text: str) -> Any:
    from sema_runtime.values.atoms import keyword
    from sema_runtime.values.maps import Map

    diagnostics = []
    try:
        compiler_bridge.read_many(text)
    except ReaderError as error:
        diagnostics.append(_diagnostic(error))
    return Map({keyword("diagnostics"): List(diagnostics), keyword("ok"): not diagnostics})


def _diagnostic(error: ReaderError) -> Any:
    from sema_runtime.values.atoms import keyword
    from sema_runtime.values.maps import Map

    line, col, end_line, end_col = tuple(error.span)[:4]
    span = {"line": line, "col": col, "end-line": end_line, "end-col": end_col}
    return Map(
        {
            keyword("code"): "syntax",
            keyword("level"): keyword("error"),
            keyword("message"): f"Reader error at {line}:{col}: {error.message}",
            keyword("span"): Map({keyword(name): value for name, value in span.items()}),
        }
    )
