"""`format` and other ways to make text of values."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.support.text_arguments import strings
from sema_runtime.values.atoms import Symbol
from sema_runtime.values.printer import brackets, display, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sema_runtime.form_layout import Node

MOST_TEMPLATES = 500  # that are kept parsed
LONGEST_TEMPLATE = 500
_templates: dict[str, list[tuple[str, Callable[[Any], str] | None]]] = {}
DEEPEST = 200  # levels of lists that are laid out; deeper ones stay on one line


@builtin("format", type="str, any... -> str", pure=True)
def format_(template: Any, *values: Any) -> str:
    """Formats values into a template (string interpolation): `~a` shows the next one as `str` does, `~s` as `print`
    does; `~%` is a newline, `~~` is `~`.

    Other text stays as it is. Missing values are empty; extra values are ignored.

    (format "~a is ~s" "x" "y") => "x is \\"y\\""
    (format "~a of ~d" 1) => "1 of ~d"
    """
    parsed = _templates.get(template) if type(template) is str else None
    if parsed is None:
        strings(template)
        parsed = _parsed(template)
        if len(_templates) < MOST_TEMPLATES and len(template) <= LONGEST_TEMPLATE:
            _templates[template] = parsed
    out: list[str] = []
    rest = iter(values)
    for text, show in parsed:
        out.append(text)
        if show is not None:
            for value in rest:
                out.append(value if type(value) is str and show is display else show(value))
                break
    return "".join(out)


def _parsed(template: str) -> list[tuple[str, Callable[[Any], str] | None]]:
    """The pieces of a template: a text, and the function that shows the value behind it, if there is one."""
    first, *pieces = template.split("~")
    parsed: list[tuple[str, Callable[[Any], str] | None]] = []
    text = first
    index = 0
    while index < len(pieces):
        piece = pieces[index]
        mark = piece[:1]
        if mark in ("a", "A", "s", "S"):
            parsed.append((text, display if mark in "aA" else to_text))
            text = piece[1:]
        elif mark == "%":
            text += "\n" + piece[1:]
        elif not mark and index + 1 < len(pieces):  # `~~`: the second one starts the next piece
            index += 1
            text += "~" + pieces[index]
        else:
            text += "~" + piece
        index += 1
    parsed.append((text, None))
    return parsed


@builtin("format/form", type="any -> str", pure=True)
def format_form(form: Any) -> str:
    """The text of a form, laid out as code in lines of up to 80 columns.

    (format/form '(define (f) (a) (b))) => "(define (f)\\n  (a)\\n  (b))"
    """
    from sema_runtime.form_layout import Layout

    node = _node(form, 0)
    if node is None:
        return to_text(form)
    layout = Layout()
    layout.node(node, 0)
    return layout.text()


def _node(form: Any, depth: int) -> Node | None:
    """A value as a node of the layout; None when it is too deep."""
    from sema_runtime.form_layout import Atom, Group

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
