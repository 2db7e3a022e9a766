"""Opens files that a library reads as a whole: regular files only, up to a limit."""

from __future__ import annotations

import os

from sema_runtime.support.file_access import checked, failed, opened
from sema_runtime.values.errors import SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

MAX_INPUT = 256 << 20  # bytes


def check_limit(function: str, what: str, actual: int, limit: int, hint: str) -> None:
    """Raises SemaError when actual is more than the limit. what: what is counted, in words."""
    if actual > limit:
        raise SemaError(f"{function}: {what} {actual} exceeds the quarantined limit {limit}", hint)


def path_of(function: str, path: Any) -> str:
    """The path, checked to be a string, an allowed path, and a possible file name."""
    text = checked(function, path)
    try:
        if b"\0" in os.fsencode(text):
            raise ValueError("embedded null byte")
    except ValueError as error:
        raise failed(function, text, error) from None
    return text


def open_input(function: str, path: Any, kind: str) -> BinaryIO:
    """A file, open for reading. kind: the expected kind as messages name it: `archive`, `PDF`."""
    from stat import S_ISREG

    text = path_of(function, path)
    try:
        descriptor = opened(text)
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
