"""Files that are read as a whole into a library: regular ones only, and not beyond a limit."""

from __future__ import annotations

import os

from sema_runtime.lib.files import checked, failed
from sema_runtime.lib.text_args import text_of
from sema_runtime.values.errors import IoError, SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

MAX_INPUT = 256 << 20  # bytes
READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # a pipe without a writer must not hang


def check_limit(function: str, what: str, actual: int, limit: int, hint: str) -> None:
    """Raises a condition when there is more than the limit of something."""
    if actual > limit:
        raise SemaError(f"{function}: {what} {actual} exceeds the quarantined limit {limit}", hint)


def path_of(function: str, path: Any) -> str:
    """The path, checked to be a string, to be one that a file can have, and to be allowed."""
    try:
        found = os.fsencode(text_of(path))
    except UnicodeEncodeError:
        found = b"\0"
    if b"\0" in found:
        raise IoError(f"{function} {path!a}: no file can have that name")
    return checked(function, path)


def open_input(function: str, path: Any, kind: str) -> BinaryIO:
    """A file, open for reading. kind: what it should be, as messages call it: `archive`, `PDF`."""
    from stat import S_ISREG

    found = path_of(function, path)
    try:
        descriptor = os.open(found, READ)
    except OSError as error:
        raise failed(function, path, error) from None
    info = os.fstat(descriptor)
    try:
        if not S_ISREG(info.st_mode):
            raise SemaError(f"{function}: {kind} input must be a regular file: {path}")
        check_limit(function, "input bytes", info.st_size, MAX_INPUT, f"reduce or split the {kind} input")
    except SemaError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")
