"""Opens and reads files without waiting for ever, and words their errors."""

from __future__ import annotations

import os
from stat import S_ISBLK, S_ISCHR, S_ISDIR, S_ISFIFO, S_ISREG, S_ISSOCK

from sema_runtime.bundle import bundled
from sema_runtime.capabilities import check_path
from sema_runtime.support.text_arguments import text_of
from sema_runtime.systems import O_CLOEXEC, O_NONBLOCK
from sema_runtime.values.errors import IoError, SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WRITES = os.O_WRONLY | os.O_RDWR
READ_LIMIT = 256 << 20  # bytes of a file that is read as a whole
FAILURES = (OSError, ValueError)  # what Python raises for files, names and bytes that don't work
KINDS = (
    (S_ISFIFO, "named pipe (FIFO)"),
    (S_ISSOCK, "socket"),
    (S_ISCHR, "character device"),
    (S_ISBLK, "block device"),
)


def reason(error: OSError | ValueError) -> str:
    """Why a file operation failed, in words."""
    if isinstance(error, FileNotFoundError):
        return "No such file"
    if isinstance(error, OSError):
        return f"{error.strerror} (os error {error.errno})" if error.errno else str(error)
    if isinstance(error, UnicodeDecodeError):
        return "stream did not contain valid UTF-8"
    if isinstance(error, UnicodeEncodeError):
        return "a lone surrogate is no Unicode character"
    return "file name contained an unexpected NUL byte" if "embedded null" in str(error) else str(error)


def failed(function: str, path: str, error: OSError | ValueError) -> IoError:
    """The condition of a failed operation: `file/read /x: No such file`."""
    return IoError(f"{function} {path}: {reason(error)}")


def checked(function: str, path: Any) -> str:
    """The path, checked to be a string and to be allowed."""
    text = text_of(path)
    try:
        check_path(function, text)
    except ValueError as error:
        raise failed(function, text, error) from None
    return text


def readable_name(name: str) -> str:
    """A name as the system gives it, with bytes that are no UTF-8 replaced, so that it can be written."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return os.fsencode(name).decode(errors="replace")
    return name


# Opening


def opened(path: str, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
    """A descriptor of a file. Opening a pipe without a writer doesn't wait. mode: permissions of a new file. Raises
    OSError, ValueError."""
    if not flags & WRITES:
        path = bundled(path)
    return os.open(path, flags | O_CLOEXEC | O_NONBLOCK, mode)


def opened_regular(function: str, path: str, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
    """A descriptor of a regular file: reads and writes of it don't wait for ever. mode: permissions of a new file.
    Raises OSError, SemaError for a pipe, a device or a socket."""
    if not flags & WRITES:
        path = bundled(path)
    refuse_special(function, path)  # opening a device can have effects
    descriptor = opened(path, flags, mode)
    kind = os.fstat(descriptor).st_mode
    if S_ISREG(kind):
        return descriptor
    os.close(descriptor)
    if S_ISDIR(kind):
        raise IsADirectoryError(21, "Is a directory", path)
    raise _special(function, path, kind)


def refuse_special(function: str, path: str) -> None:
    """Raises a condition for a pipe, a device or a socket."""
    try:
        mode = os.stat(path).st_mode
    except FAILURES:
        return  # opening it will report the error
    if not S_ISREG(mode) and not S_ISDIR(mode):
        raise _special(function, path, mode)


def _special(function: str, path: str, mode: int) -> SemaError:
    kind = next((name for is_kind, name in KINDS if is_kind(mode)), "special file")
    return SemaError(
        f"{function}: {path} is a {kind}, not a regular file",
        "go through it with file/for-each-line or file/fold-lines; the standard input is *stdin*",
    )


def contents(function: str, path: Any) -> bytes:
    """All bytes of a regular file."""
    allowed_path = checked(function, path)
    try:
        with open(opened_regular(function, allowed_path), "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(READ_LIMIT + 1) if size <= READ_LIMIT else b""
    except FAILURES as error:
        raise failed(function, path, error) from None
    if size > READ_LIMIT or len(data) > READ_LIMIT:
        raise SemaError(
            f"{function} {path}: file size {max(size, len(data))} bytes exceeds the "
            f"{READ_LIMIT}-byte quarantined read cap",
            "read it a part at a time, with file/fold-lines or stream/read",
        )
    return data


def write_all(descriptor: int, data: bytes | bytearray) -> None:
    """Writes all of the data, in one piece where the system allows it."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
