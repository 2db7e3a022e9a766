"""What a name of a session means, as text for people."""

from __future__ import annotations

from sema_runtime.values.naming import name_of_code
from sema_runtime.values.printer import to_text
from sema_runtime.values.typenames import type_name
from semac.interact.completion import python_value
from semac.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST = 2000  # characters of a value


def describe_name(session: Session, name: str, source: bool = False) -> str | None:
    """The documentation of a name: of the session's own definitions first, then of Python's objects, then of builtins.

    source: with the text of a function. None for an unknown name.
    """
    from semac.docs.entries import lookup

    key = session.shared.global_name(name)
    if name in session.names and key in session.globals:
        return _of_value(session, name, session.globals[key], source)
    value = python_value(session, name) if name else None
    if value is not None and (name.partition(".")[0] in session.python_names or "." in name):
        return _of_python(name, value)
    if name in session.macros:
        return f"  {name} : macro"
    entry = lookup(name)
    return None if entry is None else entry.text()


def _of_value(session: Session, name: str, value: Any, source: bool) -> str:
    code = getattr(value, "__code__", None)
    if code is None:
        shown = to_text(value)
        cut = shown if len(shown) <= MOST else f"{shown[:MOST]} … ({len(shown)} characters)"
        return f"  {name} : {type_name(value)} = {cut}"
    lines = [f"  {name} : lambda ({parameters(session, code)})"]
    doc = getattr(value, "__doc__", None)
    if doc:
        from inspect import cleandoc

        lines += ["", *(f"  {line}".rstrip() for line in cleandoc(doc).split("\n"))]
    text = source_of(session, code) if source else None
    return "\n".join(lines if text is None else [*lines, "", text])


def source_of(session: Session, code: Any) -> str | None:
    """The text of the top-level form that a function of the session stands in; None where it isn't known."""
    from semac.syntax.reader import read_recovering

    text = session.globals.get("__sema_texts__", {}).get(code.co_filename)
    if text is None:
        return None
    forms, _, _ = read_recovering(text)
    lines = text.split("\n")
    for span in getattr(forms.span, "children", ()) or ():
        if span.line <= code.co_firstlineno <= span.end_line:
            return "\n".join(lines[span.line - 1 : span.end_line])
    return None


def _of_python(name: str, value: Any) -> str:
    import inspect

    try:
        heading = f"{name}{inspect.signature(value)}"
    except (TypeError, ValueError):
        heading = f"{name} : {type(value).__name__}"
    return f"{heading}\n\n{inspect.getdoc(value) or ''}".rstrip()


def parameters(session: Session, code: Any) -> str:
    """The parameters of a function, as Sema writes them."""
    table = session.shared.shown
    shown = [name_of_code(name, table) for name in code.co_varnames[: code.co_argcount]]
    if code.co_flags & 0x04:
        shown += [".", name_of_code(code.co_varnames[code.co_argcount + code.co_kwonlyargcount], table)]
    return " ".join(shown)


def summary(session: Session, name: str) -> str:
    """One line on a name: how it is called and the first sentence of its documentation; empty for an unknown name."""
    from semac.docs.entries import lookup

    key = session.shared.global_name(name)
    code = getattr(session.globals.get(key), "__code__", None) if name in session.names else None
    if code is not None:
        call = f"({' '.join([name, parameters(session, code)]).rstrip()})"
        doc = (getattr(session.globals[key], "__doc__", None) or "").strip().split("\n\n", 1)[0]
        return f"{call} — {' '.join(doc.split())}" if doc else call
    if name in session.names or "." in name:
        lines = (describe_name(session, name) or "").strip().split("\n")
        return " — ".join(line.strip() for line in lines[:3] if line.strip())
    entry = lookup(name)
    if entry is None:
        return ""
    return f"{entry.signatures[0]} — {entry.summary}" if entry.signatures else entry.summary
