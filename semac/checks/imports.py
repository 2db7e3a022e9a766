"""Imports that fail when the program starts: of files that are not there, and in circles. Files are read, not run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from sema_runtime.values.atoms import Symbol
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List

IMPORTS = ("import", "load")
BODIES = ("module", "begin", "progn")
LONGEST = 200  # files that import each other in a row


class Problem(NamedTuple):
    """An import of the top level. is_error: it fails whatever the program does before."""

    span: Any
    is_error: bool
    message: str
    hint: str | None


def problems(forms: Any, file: str) -> Iterator[Problem]:
    """What is wrong with the imports at the top level of a file. A text that is no file has none."""
    from sema_runtime.compiler_bridge import resolve

    if not os.path.isfile(file):
        return
    start = os.path.realpath(file)
    seen: set[str] = set()
    for head, spec, form in _imports(forms):
        try:
            path = os.path.realpath(resolve(spec, file))
        except SemaError as error:
            yield Problem(form.span, False, error.message, error.hint)
            continue
        if not os.path.isfile(path):
            yield Problem(form.span, False, f"{head} {spec}: there is no file {_shown(path, start)}", None)
            continue
        circle = _circle(path, [start], seen)
        if circle is not None:
            names = " -> ".join(_shown(other, start) for other in circle)
            yield Problem(form.span, True, f"cyclic import: {names}", "move what both files use into a third one")


def _circle(path: str, chain: list[str], seen: set[str]) -> list[str] | None:
    """The files of a circle that a file leads into. chain: those that led to it; seen: those that lead into none."""
    if path in chain:
        return [*chain[chain.index(path) :], path]
    if path in seen or len(chain) > LONGEST:
        return None
    from sema_runtime.compiler_bridge import resolve

    for spec in _specs(path):
        try:
            other = os.path.realpath(resolve(spec, path))
        except SemaError:
            continue
        circle = _circle(other, [*chain, path], seen)
        if circle is not None:
            return circle
    seen.add(path)
    return None


def _specs(path: str) -> list[str]:
    """What a file imports at its top level; nothing where it can't be read."""
    from semac.sources import decode
    from semac.syntax.reader import read_recovering

    try:
        with open(path, "rb") as file:
            data = file.read()
        if not any(word.encode() in data for word in IMPORTS):
            return []
        return [spec for _, spec, _ in _imports(read_recovering(decode(data, path))[0])]
    except (OSError, SemaError):
        return []


def _imports(forms: Any) -> Iterator[tuple[str, str, List]]:
    """(head, what it names, form) of the imports among forms."""
    for form in forms:
        items = form.items if type(form) is List else ()
        head = items[0].name if items and type(items[0]) is Symbol else ""
        if head in BODIES:
            yield from _imports(items[1:])
        elif head in IMPORTS and len(items) > 1 and type(items[1]) is str:
            yield head, items[1], form


def _shown(path: str, start: str) -> str:
    """A path beside the file that is checked without its folder."""
    folder = os.path.dirname(start)
    return os.path.relpath(path, folder) if path.startswith(folder + os.sep) else path
