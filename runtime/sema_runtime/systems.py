"""What not every system has under `os`: Windows lacks these flags and calls."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the half of `signal` that loads at once
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import Popen
    from typing import Any

KILL: int = getattr(_signal, "SIGKILL", _signal.SIGTERM)

# Not for child processes; and, on Windows, no translation of ends of lines.
O_CLOEXEC: int = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
O_NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
O_NONBLOCK: int = getattr(os, "O_NONBLOCK", 0)


def read_at(descriptor: int, size: int, place: int) -> bytes:
    """Bytes at a place of a file, whose own position stays."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, place)
    before = os.lseek(descriptor, 0, os.SEEK_CUR)
    try:
        os.lseek(descriptor, place, os.SEEK_SET)
        return os.read(descriptor, size)
    finally:
        os.lseek(descriptor, before, os.SEEK_SET)


def set_mode(descriptor: int, mode: int) -> None:
    """The permissions of an open file, where files have such."""
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, mode)


def set_blocking(descriptor: int) -> None:
    """Has reading and writing an open file wait, where it may have been opened otherwise."""
    if hasattr(os, "set_blocking"):
        os.set_blocking(descriptor, True)


def signal_group(process: Popen[Any], number: int) -> None:
    """Sends a signal to the processes of a group that a process leads; to that process alone where there are no groups.

    Raises ProcessLookupError and PermissionError.
    """
    if hasattr(os, "killpg"):
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
