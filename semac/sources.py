"""The text of source files, as it is on the disk or as it was when an approved run started."""

from __future__ import annotations

import os

from sema_runtime.values.errors import ReaderError, SemaError

_snapshot: dict[str, bytes] | None = None  # real path → contents, where only these files are code


def decode(source: bytes, path: str) -> str:
    """The text of a source file, UTF-8 with or without byte order mark. Raises ReaderError."""
    try:
        return source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        col = error.start - source.rfind(b"\n", 0, error.start)
        raise ReaderError(f"{path} is not UTF-8 text", (line, col, line, col + 1)) from None


def read(path: str) -> bytes:
    """The bytes of a source file. Raises OSError, and SemaError for a file that isn't one of those of `keep_to`."""
    known = None if _snapshot is None else _snapshot.get(os.path.realpath(path))
    if known is not None:
        return known
    if _snapshot is not None and not _is_shipped(path):
        os.stat(path)
        raise SemaError(
            f"{path} was not a part of the program when it started, so no approval covers it",
            'name it in the program by a literal path, (import "file.sema"), and run it again',
        )
    return read_file(path)


def read_file(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read()


def _is_shipped(path: str) -> bool:
    """Whether a file comes with the language: it is as much a part of it as the builtins are."""
    from sema_runtime.compiler_bridge import SHIPPED

    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(SHIPPED), ""))


def keep_to(files: dict[str, bytes] | None) -> None:
    """From now on these are all the Sema files that can be read, with these contents, whatever becomes of them on the
    disk. files: contents by real path; None: the disk again."""
    global _snapshot
    _snapshot = files


def is_snapshot() -> bool:
    """Whether source files are read from what `keep_to` was given."""
    return _snapshot is not None
