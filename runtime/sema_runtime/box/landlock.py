"""Takes the file system, the network and signals to others away from a process, by Linux's landlock."""

from __future__ import annotations

import ctypes
import os
import platform
import struct

from sema_runtime.box.libc import system_library

CREATE_RULESET, RESTRICT_SELF = 444, 446  # on every machine
VERSION_FLAG = 1
FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}  # by version: how many kinds of access there are; from 5 on 16
MOST_FILE_RIGHTS = 16


def version() -> int:
    """The version of landlock that the kernel offers; 0 for none."""
    if platform.system() != "Linux":
        return 0
    return max(0, int(system_library().syscall(CREATE_RULESET, None, 0, VERSION_FLAG)))


def ruleset() -> int:
    """A descriptor of what denies every file, TCP port, signal to others and abstract socket. Raises OSError."""
    offered = version()
    if not offered:
        raise OSError(0, "landlock: not offered by this kernel")
    handled = [(1 << FILE_RIGHTS.get(offered, MOST_FILE_RIGHTS)) - 1]
    if offered >= 4:
        handled.append(0b11)  # bind and connect
    if offered >= 6:
        handled.append(0b11)  # abstract sockets and signals
    rules = struct.pack(f"{len(handled)}Q", *handled)
    return checked(system_library().syscall(CREATE_RULESET, rules, len(rules), 0))


def restrict(denied: int | None = None) -> None:
    """Takes away from this process what a ruleset denies, and closes it. Raises OSError where it can't.

    denied: the descriptor; None: of one that is made now. "No new privileges" must have been set.
    """
    held = ruleset() if denied is None else denied
    checked(system_library().syscall(RESTRICT_SELF, held, 0))
    os.close(held)


def checked(result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"landlock: {os.strerror(error)}")
    return result
