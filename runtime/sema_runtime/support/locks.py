"""Locks on files that several processes use. What can't be locked is an error, never taken for a lock."""

from __future__ import annotations

import errno


def locked(descriptor: int) -> bool:
    """Locks an open file or folder until it is closed, or its process dies; False when somebody else has locked it.
    Raises OSError where that can't be told: the system has no such locks, or the file system none (ENOLCK, ENOTSUP)."""
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock
    except ImportError:
        raise OSError(errno.ENOLCK, "this system has no file locks") from None
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True
