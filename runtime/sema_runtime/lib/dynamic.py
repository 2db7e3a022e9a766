"""Text to forms: `read` and its relatives. They need the compiler's reader; see seam.py."""

from __future__ import annotations

from sema_runtime import seam
from sema_runtime.catalogue import builtin
from sema_runtime.lib.text_args import text_of
from sema_runtime.values.errors import ReaderError
from sema_runtime.values.lists import List

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@builtin("read")
def read(text: Any) -> Any:
    """The first form of a text, as data; nil when there is none.

    (read "(+ 1 2)") => (+ 1 2)
    """
    return seam.read_text(text_of(text))


@builtin("read-many", "io/read-many", returns="list")
def read_many(text: Any) -> List:
    """All forms of a text, as data.

    (read-many "1 (a b)") => (1 (a b))
    """
    return seam.read_many(text_of(text))


@builtin("read/string")
def read_string(text: Any) -> Any:
    """The first form of a text, as data; nil when there is none."""
    return seam.read_text(text_of(text))


@builtin("read/all", returns="list")
def read_all(text: Any) -> List:
    """All forms of a text, as data."""
    return seam.read_many(text_of(text))


@builtin("sema/check-string", returns="map")
def sema_check_string(text: Any) -> Any:
    """Whether a text can be read: `{:ok bool :diagnostics list}`, each with :code, :level, :message and :span."""
    return _checked(text_of(text))


@builtin("sema/check-file", returns="map", cap="fs-read")
def sema_check_file(path: Any) -> Any:
    """As sema/check-string, for a file."""
    from sema_runtime.lib.files import file_read

    return _checked(file_read(path))


def _checked(text: str) -> Any:
    from sema_runtime.values.atoms import keyword
    from sema_runtime.values.maps import Map

    found = []
    try:
        seam.read_many(text)
    except ReaderError as error:
        found.append(_diagnostic(error))
    return Map({keyword("diagnostics"): List(found), keyword("ok"): not found})


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
