"""Files that several processes use: locks, and lines that are appended. A file that can't be locked is an error."""

from __future__ import annotations

import errno
import os

from sema_runtime.support.file_access import opened_regular, write_all
from sema_runtime.support.private_files import FILE_MODE, make_folders
from sema_runtime.systems import read_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LOCK_SECONDS = 0.2  # after that it writes without a lock: the system appends in one piece anyway
LOCK_PAUSE = 0.002


def append_to(path: str, lines: bytes, wanted: Callable[[], bool] | None = None) -> None:
    """Appends whole lines to a file in one piece. A missing file and its folders are made, for their owner alone.

    When another file replaces it meanwhile (`sema cassette prune`), the lines are in the new one. wanted: called when
    no other process can write any more; if it returns False, nothing is added. Raises OSError, SemaError for a pipe.
    """
    make_folders(os.path.dirname(path) or ".")
    while True:
        descriptor = opened_regular("append", path, os.O_RDWR | os.O_CREAT | os.O_APPEND, FILE_MODE)
        try:
            is_locked = lock(descriptor)
            if _is_current(path, descriptor):
                if wanted is not None and not wanted():
                    return
                append_line(descriptor, lines, is_locked)
                if is_locked or _is_current(path, descriptor):
                    return
        finally:
            os.close(descriptor)


def _is_current(path: str, descriptor: int) -> bool:
    """Whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def append_line(descriptor: int, line: bytes, is_locked: bool) -> None:
    """Appends a line to a file opened for reading and appending. An error leaves a locked file as it was."""
    size = os.fstat(descriptor).st_size
    if size and read_at(descriptor, 1, size - 1) != b"\n":  # the process that wrote it was killed meanwhile
        line = b"\n" + line
    try:
        write_all(descriptor, line)
    except OSError:
        if is_locked:  # so no other process has written after it
            os.ftruncate(descriptor, size)
        raise


def locked(descriptor: int) -> bool:
    """Locks an open file or folder until it is closed or the process dies. False when another process has locked it.

    Raises OSError where the operating system or the file system has no locks (ENOLCK, ENOTSUP).
    """
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock
    except ImportError:
        raise OSError(errno.ENOLCK, "this system has no file locks") from None
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock(descriptor: int, seconds: float = LOCK_SECONDS, check: Callable[[], None] | None = None) -> bool:
    """Locks a file or folder against other writers until it is closed. Returns whether that succeeded in that time.

    check: called while waiting; what it raises ends the wait.
    """
    from time import monotonic, sleep

    until = monotonic() + seconds
    while True:
        try:
            if locked(descriptor):
                return True
        except OSError:
            return False
        if monotonic() > until:
            return False
        if check is not None:
            check()
        sleep(LOCK_PAUSE)


def wait_for_writer(descriptor: int) -> None:
    """Waits, for a short time at most, until no process appends to a file."""
    if lock(descriptor):
        from fcntl import LOCK_UN, flock

        flock(descriptor, LOCK_UN)
