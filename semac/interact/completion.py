"""Completions at a place in a text: names, locals of open forms, attributes of Python's objects, files in strings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from sema_runtime.catalogue_index import INDEX
from sema_runtime.values.typenames import type_name
from semac.docs.special_forms import FORMS
from semac.interact.forms import NAME, open_brackets
from semac.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BINDERS = (
    "let",
    "define",
    "defun",
    "fn",
    "lambda",
    "defmacro",
    "do",
    "for",
    "match",
    "deftest",
    "defproperty",
    "catch",
)
MOST_FILES = 500


class Completion(NamedTuple):
    """text replaces what is typed from start on; kind is a word for people: function, macro, file, ..."""

    text: str
    kind: str


def complete(session: Session, text: str, cursor: int) -> tuple[int, list[Completion]]:
    """(start of what is replaced, completions in order) at an offset of the text."""
    before = text[:cursor]
    brackets, string = open_brackets(before)
    if string is not None:
        return files(before, string + 1)
    start = cursor
    while start and NAME.fullmatch(before[start - 1]):
        start -= 1
    typed = before[start:]
    if typed.startswith(":") or before[:start].rpartition("\n")[2].count(";"):
        return start, []
    if "." in typed:
        owner, _, part = typed.rpartition(".")
        value = python_value(session, owner) if owner else None
        if value is not None:
            return start, [Completion(f"{owner}.{name}", kind) for name, kind in attributes(value, part)]
    local = [Completion(name, "local") for name in locals_of(before, brackets, start) if name.startswith(typed)]
    known = {completion.text for completion in local}
    others = [name for name in names(session) if name.startswith(typed) and name not in known]
    return start, local + [Completion(name, kind_of(session, name)) for name in others]


def names(session: Session) -> list[str]:
    """Every name that is known in the session, sorted."""
    from sema_runtime.conditions.hints import visible_names

    return sorted({*visible_names(session.names), *FORMS, *session.macros, *session.python_names})


def kind_of(session: Session, name: str) -> str:
    """What a name means, in one word."""
    if name in session.macros:
        return "macro"
    value = session.globals.get(session.shared.global_name(name))
    if name in session.names and value is not None:
        return "function" if callable(value) else type_name(value)
    if name in FORMS:
        return "special form"
    return "function" if name in INDEX else "macro"


def python_value(session: Session, dotted: str) -> Any:
    """The object that a dotted name of an import reaches; None where there is none. Runs no code of properties."""
    first, *rest = dotted.split(".")
    value = session.globals.get(session.shared.global_name(first))
    for part in rest:
        value = _static_attribute(value, part.replace("-", "_"))
    return value


def _static_attribute(value: Any, name: str) -> Any:
    from inspect import getattr_static

    found = getattr_static(value, name, None)
    return None if isinstance(found, property) else getattr(value, name, None)


def attributes(value: Any, part: str) -> Iterator[tuple[str, str]]:
    """(name, kind) of the attributes of an object that begin with part, public ones unless part has an underscore."""
    try:
        found = sorted(dir(value))
    except Exception:
        return
    wanted = part.replace("-", "_")
    for name in found:
        if name.startswith(wanted) and (part.startswith("_") or not name.startswith("_")):
            yield name, "function" if callable(_static_attribute(value, name)) else "attribute"


def locals_of(before: str, brackets: list[int], start: int) -> list[str]:
    """Names that the open forms around the cursor bind, as far as their first lines of parameters tell."""
    found: dict[str, None] = {}
    for at in brackets:
        head = NAME.match(before, at + 1)
        if before[at] == "(" and head is not None and head.group().startswith(BINDERS):
            for name in NAME.finditer(_bindings(before, head.end()), 0):
                if name.group()[0] not in ":#." and not name.group()[0].isdigit():
                    found[name.group()] = None
    typed = before[start:]
    return [name for name in found if name != typed]


def _bindings(before: str, at: int) -> str:
    """The text of the first bracketed form after an offset: parameters or bindings. The names in it may be bound."""
    opening = min((place for place in (before.find(char, at) for char in "([") if place >= 0), default=len(before))
    depth = 0
    for index in range(opening, len(before)):
        depth += (before[index] in "([{") - (before[index] in ")]}")
        if depth == 0:
            return before[opening : index + 1]
    return before[opening:]


def files(before: str, start: int) -> tuple[int, list[Completion]]:
    """The files that complete a path which begins at start."""
    typed = before[start:]
    folder, part = os.path.split(typed)
    try:
        entries = sorted(os.scandir(os.path.expanduser(folder or ".")), key=lambda entry: entry.name)
    except OSError:
        return start, []
    found = [entry for entry in entries if entry.name.startswith(part) and (part or not entry.name.startswith("."))]
    return start, [
        Completion(os.path.join(folder, entry.name) + ("/" if entry.is_dir() else ""), _kind_of_file(entry))
        for entry in found[:MOST_FILES]
    ]


def _kind_of_file(entry: os.DirEntry[str]) -> str:
    return "folder" if entry.is_dir() else "file"
