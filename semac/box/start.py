"""Starts the process that forks workers (`zygote.py`), with Python's memory in one piece.

The zygote shares its memory with the workers, and the kernel shares a page of 2 MB at the price of one of 4 KB. Python
takes its memory by the megabyte wherever there is room between libraries, where none of these fits. So libraries are
loaded first, and then what room there is between them is taken until all else is loaded.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from importlib import import_module
from typing import Any

EXTENSIONS = (  # modules of Python that load libraries
    "_bisect", "_blake2", "_contextvars", "_csv", "_datetime", "_decimal", "_hashlib", "_heapq", "_json", "_opcode",
    "_socket", "_struct", "_typing", "array", "binascii", "greenlet", "math", "resource",
    "select", "unicodedata", "zlib",
)  # fmt: skip
PIECE = 1 << 20  # bytes that Python takes at a time
LARGE_PAGE = 2 << 20
MOST_PIECES = 256
PRIVATE, ANONYMOUS = 0x2, 0x20  # kinds of mappings, on Linux


def main() -> None:
    for name in EXTENSIONS:
        with suppress(ImportError):
            import_module(name)
    gaps = Gaps()
    gaps.take()
    from semac.box import zygote  # which loads the compiler

    zygote.main(gaps.give_back)


class Gaps:
    """The room between libraries."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        self.map: Any = getattr(library, "mmap", None)
        self.unmap: Any = getattr(library, "munmap", None)
        self.taken: list[tuple[int, int]] = []

    def take(self) -> None:
        """Takes what lies above the lowest library, and some more, so that a large page begins where Python's memory
        does: from now on that grows from there downwards."""
        lowest = lowest_library()
        if self.map is None or self.unmap is None or not lowest:
            return
        self.map.restype = ctypes.c_void_p
        self.map.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        self.unmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        while len(self.taken) < MOST_PIECES and (at := self.piece(PIECE)):
            if at < lowest:
                self.piece(at % LARGE_PAGE)
                break

    def piece(self, size: int) -> int:
        """Takes memory that nobody can use. Where it lies; 0 where there is none."""
        at = self.map(None, size, 0, PRIVATE | ANONYMOUS, -1, 0) if size else None
        if at is None or at == ctypes.c_void_p(-1).value:
            return 0
        self.taken.append((at, size))
        return int(at)

    def give_back(self) -> None:
        while self.taken:
            self.unmap(*self.taken.pop())


def lowest_library() -> int:
    """The address of the lowest library that this process has loaded; 0 where the system doesn't say."""
    try:
        with open("/proc/self/maps") as regions:
            lines = [line.split() for line in regions]
    except OSError:
        return 0
    starts = [int(line[0].partition("-")[0], 16) for line in lines if ".so" in line[-1]]
    return min(starts, default=0)


if __name__ == "__main__":
    main()
