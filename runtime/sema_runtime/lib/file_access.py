"""Opening and replacing files without waiting for ever or leaving halves behind, and what failures are called."""

from __future__ import annotations

import os
from stat import S_ISBLK, S_ISCHR, S_ISDIR, S_ISFIFO, S_ISREG, S_ISSOCK

from sema_runtime.capabilities import check_path
from sema_runtime.lib.text_args import text_of
from sema_runtime.values.errors import IoError, SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

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


def opened(path: str, flags: int = os.O_RDONLY) -> int:
    """A descriptor of a file. A pipe that nobody writes to is opened at once, too. Raises OSError, ValueError."""
    return os.open(path, flags | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0), 0o666)


def opened_regular(function: str, path: str, flags: int = os.O_RDONLY) -> int:
    """A descriptor of a file that is no pipe, device or directory: reading and writing it come to an end."""
    refuse_special(function, path)  # opening a device can have effects
    descriptor = opened(path, flags)
    mode = os.fstat(descriptor).st_mode
    if S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if S_ISDIR(mode):
        raise IsADirectoryError(21, "Is a directory", path)
    raise _special(function, path, mode)


def refuse_special(function: str, path: str) -> None:
    """Raises a condition for a pipe, a device or a socket."""
    try:
        mode = os.stat(path).st_mode
    except FAILURES:
        return  # opening it will tell
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
    found = checked(function, path)
    try:
        with open(opened_regular(function, found), "rb", buffering=0) as file:
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


# Replacing


class Replacement:
    """A context in which a file is written anew; it is a binary file. Readers see the old contents or the new ones.

    The text goes into a new file beside the old one, which takes its name, owner and permissions when all is written.
    Where that can't be done (no new file can be made there, the owner can't be kept, other names are linked to the
    file) the file itself is written. permissions: of the new file; as before, or as usual, when None.
    """

    def __init__(self, path: str, permissions: int | None = None) -> None:
        name = path.rstrip("/") or path
        self.target = os.path.realpath(name) if os.path.islink(name) else name
        self.permissions = permissions
        self.temporary = ""

    def __enter__(self) -> BinaryIO:
        try:
            before = os.stat(self.target)
        except FileNotFoundError:
            before = None
        descriptor = self._new_file(before) if before is None or before.st_nlink == 1 else None
        if descriptor is None:
            descriptor = opened(self.target, os.O_WRONLY | os.O_TRUNC)
            if self.permissions is not None:
                os.fchmod(descriptor, self.permissions)
        self.file = open(descriptor, "wb", buffering=0)
        return self.file

    def _new_file(self, before: os.stat_result | None) -> int | None:
        """A descriptor of the file that shall take the name of the old one; None when that can't be."""
        if before is not None and not S_ISREG(before.st_mode):
            return None
        temporary = os.path.join(os.path.dirname(self.target), f".sema-{os.urandom(8).hex()}.tmp")
        try:
            private = 0o666 if before is None else 0o600
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, private)
        except OSError:
            if before is None:
                raise
            return None
        try:
            permissions = self.permissions
            if before is not None:
                made = os.fstat(descriptor)
                if (made.st_uid, made.st_gid) != (before.st_uid, before.st_gid):
                    os.fchown(descriptor, before.st_uid, before.st_gid)
                permissions = before.st_mode & 0o7777 if permissions is None else permissions
            if permissions is not None:
                os.fchmod(descriptor, permissions)
        except OSError:
            os.close(descriptor)
            os.remove(temporary)
            return None
        self.temporary = temporary
        return descriptor

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self.file.close()
            if self.temporary and kind is None:
                os.replace(self.temporary, self.target)
                self.temporary = ""
        finally:
            if self.temporary:
                os.remove(self.temporary)


def replace_file(path: str, data: bytes | bytearray) -> None:
    """Writes a file as a whole. Raises OSError, ValueError."""
    with Replacement(path) as file:
        write_all(file.fileno(), data)


def write_all(descriptor: int, data: bytes | bytearray) -> None:
    """Writes all of the data, in one go where the system does."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
