"""What a program imports by names that stand in its text, found without running it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from sema_runtime.values.atoms import Symbol
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from semac.sources import decode
from semac.syntax.definitions import bound_name

INIT = "__init__.sema"
FILE_FORMS = ("import", "load")
PYTHON_FORMS = ("py/import", "py/from", "py/module")


class Named(NamedTuple):
    """What a form or a statement imports. kind: "import" and "load" for Sema files, "module" for Python's modules.

    name: as it is written, of a module with leading dots where it is relative. members: what is taken from a module,
    which may be modules in it.
    """

    kind: str
    name: str
    members: tuple[str, ...] = ()


def named_in_sema(source: bytes, path: str) -> Iterator[Named]:
    """What is imported or loaded by literal names, wherever these stand; nothing for a text that can't be read."""
    if not any(name.encode() in source for name in (*FILE_FORMS, *PYTHON_FORMS)):
        return
    from semac.syntax.reader import read_program

    try:
        waiting: list[Any] = list(read_program(decode(source, path)))
    except SemaError:
        return  # importing it will say so
    while waiting:
        form = waiting.pop()
        if isinstance(form, Map):
            waiting += [part for pair in form.pairs() for part in pair]
        items = form.items if isinstance(form, List) else form
        if not isinstance(items, list | tuple):
            continue
        waiting += items
        if len(items) < 2 or type(items[0]) is not Symbol or type(items[1]) is not str:
            continue
        if items[0].name in FILE_FORMS:
            yield Named(items[0].name, items[1])
        elif items[0].name == "py/from":
            names = [pair[0] for part in items[2:] if (pair := bound_name(part)) is not None]
            yield Named("module", items[1], tuple(name.replace("-", "_") for name in names))
        elif items[0].name in PYTHON_FORMS:
            yield Named("module", items[1])


def named_in_python(source: bytes) -> Iterator[Named]:
    """What a Python module imports, wherever the statements stand; nothing for a text that is no Python."""
    import ast

    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Named("module", alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            name = "." * node.level + (node.module or "")
            yield Named("module", name, tuple(alias.name for alias in node.names))


def files_of(named: Named, path: str, folder: str) -> Iterator[str]:
    """The files of a program that an import in the file path executes; none for those of the language and of others.

    folder: from where Python modules of the program are imported.
    """
    if named.kind != "module":
        file = sema_file(named.name, path)
        if file is not None:
            yield file
        return
    absolute = named.name.lstrip(".")
    level = len(named.name) - len(absolute)
    start = os.path.normpath(os.path.join(os.path.dirname(path), *[".."] * (level - 1))) if level else folder
    module = absolute.split(".") if absolute else []
    if module:
        yield from _python_files(start, module)
    for member in named.members:
        yield from _python_files(start, [*module, member])


def sema_file(name: str, importer: str) -> str | None:
    """The file that `(import "name")` means in a file; None when there is none, and for those of the language."""
    from sema_runtime.compiler_bridge import SHIPPED, resolve

    try:
        path = resolve(name, importer)
    except (SemaError, ValueError):
        return None
    return path if os.path.isfile(path) and not path.startswith(SHIPPED) else None


def _python_files(folder: str, parts: list[str]) -> Iterator[str]:
    """The modules in a folder that importing a dotted name executes."""
    path = folder
    for part in parts:
        path = os.path.join(path, part)
        candidates = (f"{path}.py", f"{path}.sema", os.path.join(path, "__init__.py"), os.path.join(path, INIT))
        yield from filter(os.path.isfile, candidates)
