"""`format` and other ways to make text of values."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.support.text_arguments import strings
from sema_runtime.values.atoms import Symbol
from sema_runtime.values.printer import brackets, display, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.lib.text.form_layout import Node

NOTHING: Any = object()
DEEPEST = 200  # levels of lists that are laid out; deeper ones stay on one line


@builtin("format", returns="string", pure=True)
def format_(template: Any, *values: Any) -> str:
    """Formats values into a template (string interpolation): `~a` shows the next one as `str` does, `~s` as `print`
    does; `~%` is a newline, `~~` is `~`.

    Other text stays as it is. Missing values are empty; extra values are ignored.

    (format "~a is ~s" "x" "y") => "x is \\"y\\""
    (format "~a of ~d" 1) => "1 of ~d"
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


@builtin("format/form", returns="string", pure=True)
def format_form(form: Any) -> str:
    """The text of a form, laid out as code in lines of up to 80 columns.

    (format/form '(define (f) (a) (b))) => "(define (f)\\n  (a)\\n  (b))"
    """
    from sema_runtime.lib.text.form_layout import Layout

    node = _node(form, 0)
    if node is None:
        return to_text(form)
    layout = Layout()
    layout.node(node, 0)
    return layout.text()


def _node(form: Any, depth: int) -> Node | None:
    """A value as a node of the layout; None when it is too deep."""
    from sema_runtime.lib.text.form_layout import Atom, Group

    if depth > DEEPEST:
        return None
    parts = ("#u8(", form, ")") if isinstance(form, bytes | bytearray) else brackets(form)
    if parts is None:
        return Atom(to_text(form), type(form) is Symbol)
    nodes = []
    for item in parts[1]:
        node = _node(item, depth + 1)
        if node is None:
            return None
        nodes.append(node)
    return Group(parts[0], nodes)
