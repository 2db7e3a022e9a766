"""Which layers this machine gives the box."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable

from sema_runtime.values.errors import SemaError

LAYERS = ("landlock", "seccomp")  # those that a kernel may lack


class Unprotected(SemaError):
    """The machine lacks a layer, and nobody has said that the box may do without it."""


class UnprotectedWarning(UserWarning):
    """Programs run although the machine lacks a layer, as somebody has said."""


def layers() -> frozenset[str]:
    """The layers of LAYERS that a process can have here, tried in a child."""
    if not sys.platform.startswith("linux"):
        return frozenset()
    from sema_runtime.box import landlock, seccomp

    tries: dict[str, Callable[[], None]] = {"landlock": landlock.restrict}
    if seccomp.is_known():
        filter_ = seccomp.program()
        tries["seccomp"] = lambda: seccomp.restrict(filter_)
    return frozenset(name for name, attempt in tries.items() if _works(attempt))


def _works(attempt: Callable[[], None]) -> bool:
    child = os.fork()
    if not child:
        status = 1
        try:
            from sema_runtime.box.hardening import PR_SET_NO_NEW_PRIVS

            ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            attempt()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] == 0
