"""`format` and other ways to make text of values."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.lib.text_args import strings
from sema_runtime.values.printer import display, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NOTHING: Any = object()


@builtin("format", returns="string", pure=True)
def format_(template: Any, *values: Any) -> str:
    """Fills in a template: `~a` shows the next value as `str` does, `~s` as `print` does; `~%` is newline, `~~` is `~`.

    Everything else stays as it is; missing values are empty, further ones are left out.
    (format "~a is ~s" "x" "y") => "x is \\"y\\""
    """
    strings(template)
    first, *pieces = template.split("~")
    out = [first]
    rest = iter(values)
    index = 0
    while index < len(pieces):
        piece = pieces[index]
        mark = piece[:1]
        if mark in ("a", "A", "s", "S"):
            value = next(rest, NOTHING)
            if value is not NOTHING:
                out.append(display(value) if mark in "aA" else to_text(value))
            out.append(piece[1:])
        elif mark == "%":
            out.append("\n" + piece[1:])
        elif not mark and index + 1 < len(pieces):  # `~~`: the second one starts the next piece
            index += 1
            out.append("~" + pieces[index])
        else:
            out.append("~" + piece)
        index += 1
    return "".join(out)
