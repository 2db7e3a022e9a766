"""Locks on files that several processes use. A file that can't be locked is an error."""

from __future__ import annotations

import errno


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
