"""Adding lines to a file that several processes add to."""

from __future__ import annotations

import os

from sema_runtime.support.file_access import opened_regular, write_all
from sema_runtime.support.private_files import FILE_MODE, make_folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LOCK_SECONDS, LOCK_PAUSE = 0.2, 0.002  # then it is written without: the system appends in one go in any case


def append_to(path: str, lines: bytes, wanted: Callable[[], bool] | None = None) -> None:
    """Adds whole lines behind what is in a file, in one piece; makes the file and its folders, for their
    owner alone. When another file is put
    in its place meanwhile (`sema cassette prune`), they are in that one. Raises OSError, SemaError for a pipe.

    wanted: asked when nobody else can write any more; without its consent nothing is added.
    """
    make_folders(os.path.dirname(path) or ".")
    while True:
        descriptor = opened_regular("append", path, os.O_RDWR | os.O_CREAT | os.O_APPEND, FILE_MODE)
        try:
            locked = lock(descriptor)
            if _is_current(path, descriptor):
                if wanted is not None and not wanted():
                    return
                append_line(descriptor, lines, locked)
                if locked or _is_current(path, descriptor):
                    return
        finally:
            os.close(descriptor)


def _is_current(path: str, descriptor: int) -> bool:
    """Whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def append_line(descriptor: int, line: bytes, locked: bool) -> None:
    """Adds a line to a file opened for reading and appending. After an error the file is as it was, if it is locked."""
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":  # who wrote that was killed while doing it
        line = b"\n" + line
    try:
        write_all(descriptor, line)
    except OSError:
        if locked:  # so nobody else has written behind it
            os.ftruncate(descriptor, size)
        raise


def lock(descriptor: int, seconds: float = LOCK_SECONDS, check: Callable[[], None] | None = None) -> bool:
    """Locks a file or folder against other writers until it is closed; whether that could be done in that time.

    check: called while waiting; what it raises ends that.
    """
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock
    except ImportError:
        return False
    from time import monotonic, sleep

    until = monotonic() + seconds
    while True:
        try:
            flock(descriptor, LOCK_EX | LOCK_NB)
            return True
        except BlockingIOError:
            if monotonic() > until:
                return False
        except OSError:
            return False
        if check is not None:
            check()
        sleep(LOCK_PAUSE)


def wait_for_writer(descriptor: int) -> None:
    """Returns when nobody is adding to a file that way, or after a short time."""
    if lock(descriptor):
        from fcntl import LOCK_UN, flock

        flock(descriptor, LOCK_UN)
