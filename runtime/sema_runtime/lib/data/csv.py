"""CSV: texts to lists of rows or of maps, and back."""

from __future__ import annotations

from functools import cache
from typing import Any

from sema_runtime.catalogue import builtin
from sema_runtime.support.text_arguments import strings
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import display


@cache
def _lift_limit() -> None:
    """Python's reader refuses fields over 128 KiB unless told otherwise."""
    from csv import field_size_limit

    field_size_limit(1 << 30)


def _rows(function: str, text: Any) -> list[list[str]]:
    """The rows, all of one length, without blank lines. Raises an error at the first row of another length."""
    from csv import reader
    from io import StringIO

    strings(text)
    _lift_limit()
    rows = [row for row in reader(StringIO(text.removeprefix("\ufeff"), newline="")) if row]
    width = len(rows[0]) if rows else 0
    for number, row in enumerate(rows):
        if len(row) != width:
            place = _place(text, number)
            raise SemaError(
                f"{function}: parse error: CSV error: record {number} ({place}): found record with {len(row)} fields, "
                f"but the previous record has {width} fields",
                f"{function} expects comma-separated values; check delimiters and quoting",
            )
    return rows


def _place(text: str, record: int) -> str:
    """The place where a record begins: after the line end of the one before, blank lines between them included."""
    quoted = False
    start, end = 0, 0
    filled = False
    for end, character in enumerate(text):
        if character == '"':
            quoted = not quoted
            filled = True
        elif character not in "\r\n" or quoted:
            filled = True
        elif filled:
            start = end + 1
            record -= 1
            filled = False
            if not record:
                break
    before = text[:start]
    return f"line: {before.count(chr(10)) + 1}, byte: {len(before.encode())}"


@builtin("csv/parse", type="str -> flat (flat str) fresh", pure=True)
def csv_parse(text: Any) -> List:
    """Parses the text of a CSV file and returns the list of its rows, which are lists of strings.

    (csv/parse "a,b\\n1,2") => (("a" "b") ("1" "2"))
    (csv/parse "a,\\"b, c\\"") => (("a" "b, c"))
    """
    return List(list(map(List, _rows("csv/parse", text))))


@builtin("csv/parse-maps", type="str -> flat (map keyword str) fresh", pure=True)
def csv_parse_maps(text: Any) -> List:
    """Parses the text of a CSV file and returns the list of its rows as maps; the first row holds the keys, which
    become keywords.

    (csv/parse-maps "name,age\\nAda,36") => ({:age "36" :name "Ada"})
    """
    rows = _rows("csv/parse-maps", text)
    if not rows:
        return List([])
    keys = list(map(keyword, rows[0]))
    return List([Map(dict(zip(keys, row, strict=True))) for row in rows[1:]])


@builtin("csv/encode", type="list seq -> str", pure=True)
def csv_encode(rows: Any) -> str:
    """Converts a list of rows to CSV; values are written as `str` shows them, quoted where needed.

    (csv/encode '(("a" "b,c") (1 2))) => "a,\\"b,c\\"\\n1,2\\n"
    """
    if not isinstance(rows, (List, list)):
        type_error("list", rows)
    lines: list[str] = []
    width = -1
    for row in rows:
        if not isinstance(row, (List, list, tuple)):
            type_error("list", row)
        if 0 <= width != len(row):
            message = f"found record with {len(row)} fields, but the previous record has {width} fields"
            raise SemaError(f"csv/encode: CSV error: {message}")
        width = len(row)
        line = ",".join(map(_field, row))
        lines.append(line or '""')
    return "\n".join([*lines, ""]) if lines else ""


def _field(value: Any) -> str:
    text = display(value)
    if "," in text or '"' in text or "\n" in text or "\r" in text:
        return '"' + text.replace('"', '""') + '"'
    return text
