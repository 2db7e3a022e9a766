"""The C library of this process."""

from __future__ import annotations

import ctypes
from functools import cache


@cache
def system_library() -> ctypes.CDLL:
    """The C library, with what Linux has of it looked up."""
    libc = ctypes.CDLL(None, use_errno=True)
    for name in ("prctl", "syscall", "mallinfo2"):
        getattr(libc, name, None)
    return libc
