"""The version of a program that an approval is good for: a digest of its file and of all it imports."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from sema_runtime.values.atoms import Symbol
from sema_runtime.values.lists import List

MARK = b"sema-workflow-approval-revision-v1"
ENTRY = "<entry>"
MOST_FILES, MOST_BYTES = 4096, 64 << 20
PROJECT = ("sema.toml", "sema.lock")


class TooLarge(Exception):
    """The program has more files or bytes than can be part of an approval."""


def revision(file: str, source: bytes) -> str:
    """SHA-256 over the names and contents of the program's file, of the files that it imports or loads by name, and of
    the nearest sema.toml and sema.lock. Raises TooLarge."""
    folder = os.path.dirname(os.path.abspath(file))
    found = {ENTRY: source}
    waiting = [(source, folder)]
    while waiting:
        text, beside = waiting.pop()
        for path in _imports(text, beside):
            name = os.path.relpath(path, folder)
            if name in found or os.path.realpath(path) == os.path.realpath(file):
                continue
            found[name] = _read(path)
            waiting.append((found[name], os.path.dirname(path)))
            _check(found)
    for name in PROJECT:
        nearest = _nearest(folder, name)
        if nearest is not None:
            found[os.path.relpath(nearest, folder)] = _read(nearest)
    _check(found)
    made = sha256()
    for part in (MARK, *(part for name in sorted(found) for part in (name.encode(errors="replace"), found[name]))):
        made.update(len(part).to_bytes(8, "little"))
        made.update(part)
    return made.hexdigest()


def _check(found: dict[str, bytes]) -> None:
    if len(found) > MOST_FILES or sum(map(len, found.values())) > MOST_BYTES:
        raise TooLarge(f"the program has more than {MOST_FILES} files or {MOST_BYTES >> 20} MiB")


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(MOST_BYTES + 1)


def _imports(source: bytes, folder: str) -> Iterator[str]:
    """The files that a text imports or loads by their names."""
    from sema_runtime.values.errors import SemaError
    from semac.reader import read_program

    try:
        forms = read_program(source.decode())
    except (SemaError, ValueError):
        return
    waiting: list[Any] = list(forms)
    while waiting:
        form = waiting.pop()
        items = form.items if isinstance(form, List) else form
        if not isinstance(items, list | tuple):
            continue
        waiting += items
        for name in _named(items):
            path = os.path.join(folder, name)
            for candidate in (path, f"{path}.sema"):
                if os.path.isfile(candidate):
                    yield candidate
                    break


def _named(items: Any) -> Iterator[str]:
    """The strings of an `import` or a `load`."""
    if items and isinstance(items[0], Symbol) and items[0].name in ("import", "load"):
        yield from (item for item in items[1:] if isinstance(item, str))


def _nearest(folder: str, name: str) -> str | None:
    """In the folder or one above it."""
    while True:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
