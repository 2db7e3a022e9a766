"""Which files `sema fmt` formats, and what becomes of one of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from errno import EEXIST
from fnmatch import fnmatchcase
from glob import glob
from typing import NamedTuple

from semac.format.document import Style, format_text
from semac.format.tokens import FormatError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
GLOB_CHARACTERS = frozenset("*?[")


class Outcome(NamedTuple):
    """What formatting made of a text. error: why it could not be formatted, else empty."""

    name: str
    before: str = ""
    after: str = ""
    error: str = ""

    @property
    def changed(self) -> bool:
        return self.before != self.after


def chosen_files(arguments: Sequence[str], ignore: Sequence[str]) -> list[str]:
    """The files that arguments stand for, without duplicates; no arguments: all below the current folder.

    ignore: entries of the settings. Files that are named one by one are not ignored.
    """
    names: dict[str, None] = {}
    found: Iterator[str]
    for argument in arguments or ["."]:
        if GLOB_CHARACTERS & set(argument):
            found = filter(os.path.isfile, sorted(glob(argument, recursive=True)))
        elif os.path.isdir(argument):
            found = sources_below(argument)
        else:
            names[argument] = None
            continue
        names.update((name, None) for name in found if not is_ignored(name, ignore))
    return list(names)


def sources_below(folder: str) -> Iterator[str]:
    """The `.sema` files below a folder in a fixed order, those in hidden folders left out."""
    for current, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = os.path.normpath(os.path.join(current, name))
            if name.endswith(".sema") and os.path.isfile(path):
                yield path


def is_ignored(name: str, ignore: Sequence[str]) -> bool:
    """Whether an entry covers a file: a glob (`*` also matches `/`), or a prefix of its path."""
    path = os.path.relpath(name).replace(os.sep, "/")
    return any(
        fnmatchcase(path, entry)
        if GLOB_CHARACTERS & set(entry)
        else path == entry.rstrip("/") or path.startswith(entry.rstrip("/") + "/")
        for entry in ignore
        if entry
    )


def formatted_file(name: str, style: Style) -> Outcome:
    """Reads and formats a regular file, and writes nothing. Raises OSError."""
    if not os.path.isfile(name) and os.path.exists(name):
        raise FileExistsError(EEXIST, "it is a device or a pipe, not a regular file; use - for stdin", name)
    with open(name, "rb") as file:
        return formatted_bytes(file.read(), name, style)


def formatted_bytes(source: bytes, name: str, style: Style) -> Outcome:
    """Formats UTF-8 text; a byte order mark stays. name: of the text in messages."""
    try:
        text = source.decode()
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        col = error.start - source.rfind(b"\n", 0, error.start)
        return Outcome(name, error=f"not UTF-8 text\n  at {name}:{line}:{col}")
    mark = "\ufeff" if source.startswith(BYTE_ORDER_MARK) else ""
    body = text.removeprefix(mark)
    try:
        return Outcome(name, text, mark + format_text(body, style))
    except FormatError as error:
        line, col = error.place(body)
        return Outcome(name, text, text, f"{error.message}\n  at {name}:{line}:{col}")


def write(outcome: Outcome) -> None:
    """Replaces the file as a whole with the formatted text; links, mode and owner stay. Raises OSError."""
    from sema_runtime.support.replacing import Replacement

    with Replacement(outcome.name, in_place=True) as file:
        file.write(outcome.after.encode())


def difference(outcome: Outcome) -> Iterator[str]:
    """The lines of `--diff`: lines with the same number are compared, up to two equal ones follow a difference."""
    yield f"--- {outcome.name}"
    yield f"+++ {outcome.name}"
    old, new = outcome.before.split("\n"), outcome.after.split("\n")
    if old[-1] == new[-1] == "":
        del old[-1], new[-1]
    equal = 3  # lines since the last difference; a hunk shows two
    for index in range(max(len(old), len(new))):
        before = old[index] if index < len(old) else None
        after = new[index] if index < len(new) else None
        if before == after:
            equal += 1
            if equal <= 2:
                yield f" {before}"
            continue
        if equal > 2:
            yield f"@@ -{index + 1} +{index + 1} @@"
        equal = 0
        if before is not None:
            yield f"-{before}"
        if after is not None:
            yield f"+{after}"
