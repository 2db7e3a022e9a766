"""Arranges the memory of the zygote so that a worker, which shares it until it writes to a page, writes to few pages.

Copying a page takes about 3 µs, and a small program took most of its time for that. Python writes to all that it uses,
since it counts references. So the code of functions, from the one that most programs run to the one that fewest do, is
made anew in one place, and the gaps between old objects are closed: what is made later lies together.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from types import CodeType, FrameType, FunctionType
from typing import Any

from sema_runtime.box.libc import system_library

SMALL = range(48, 513, 16)  # bytes of the objects that Python has pools for, a pool for each size
LARGE = (32_768, 16_384, 8_192, 4_096, 2_048, 1_024, 640)  # those of the C library
HEADER = sys.getsizeof(b"")
IN_A_ROW = 12_000  # bytes of objects that lie one behind the other: nothing of that size was free before
MOST = 50_000  # objects of a size
LARGE_PAGE = 2 << 20
MADV_COLLAPSE = 25

_fillings: list[Any] = []  # what closes gaps, for good


class Census:
    """Counts by how many programs each code is run."""

    def __init__(self) -> None:
        self.codes: dict[int, CodeType] = {}  # by identity: equal ones may be different objects
        self.counts: Counter[int] = Counter()

    def run(self, program: Callable[[], object]) -> None:
        seen: dict[int, CodeType] = {}

        def note(frame: FrameType, event: str, _: object) -> None:
            if event == "call":
                seen[id(frame.f_code)] = frame.f_code

        sys.setprofile(note)
        try:
            program()
        finally:
            sys.setprofile(None)
        self.codes.update(seen)
        self.counts.update(seen.keys())

    def ordered(self) -> list[CodeType]:
        return [self.codes[key] for key, _ in self.counts.most_common()]


def gather(codes: Iterable[CodeType]) -> None:
    """Makes codes anew, one behind the other in memory, and has the functions that have them take the new ones."""
    functions: dict[int, list[FunctionType]] = {}
    for value in gc.get_objects():
        if type(value) is FunctionType:
            functions.setdefault(id(value.__code__), []).append(value)
    old = list(codes)
    made: dict[int, CodeType] = {}
    for code in old:
        if id(code) in functions:
            made[id(code)] = anew(code, made)
    for code in old:
        for function in functions.get(id(code), ()):
            function.__code__ = made[id(code)]


def anew(code: CodeType, made: dict[int, CodeType]) -> CodeType:
    """A copy of a code, with copies of the codes inside."""
    inside = tuple(anew(value, made) if type(value) is CodeType else value for value in code.co_consts)
    return code.replace(co_consts=inside)


def close_gaps() -> None:
    """Fills the places of objects that are gone."""
    for size in SMALL:
        fill(size)
    try:
        top = system_library().sbrk
    except AttributeError:  # another C library
        return
    top.restype = ctypes.c_void_p
    end = top(0) or 0
    for size in LARGE:
        for _ in range(MOST):
            _fillings.append(bytes(size - HEADER))
            if id(_fillings[-1]) > end:
                break


def fill(size: int) -> None:
    """Makes objects of a size until they lie one behind the other."""
    wanted, row, before = IN_A_ROW // size, 0, 0
    for _ in range(MOST):
        value = bytes(size - HEADER)
        _fillings.append(value)
        row = row + 1 if id(value) - before == size else 0
        before = id(value)
        if row >= wanted:
            return


def share_large_pages() -> None:
    """Has the kernel keep this process's memory in pages of 2 MB, where it can: to share one with a worker, and to take
    it back, costs as much as for one of 4 KB, and there are 500 times fewer. A worker that writes to one still copies
    4 KB of it.
    """
    advise = getattr(system_library(), "madvise", None)
    if advise is None or not os.path.exists("/proc/self/maps"):
        return
    advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    with open("/proc/self/maps") as regions:
        lines = regions.read().splitlines()
    for line in lines:
        extent, rights, _, _, _, *name = line.split()
        if rights == "rw-p" and name in ([], ["[heap]"]):
            start, end = (int(address, 16) for address in extent.split("-"))
            for at in range(-(-start // LARGE_PAGE) * LARGE_PAGE, end - LARGE_PAGE + 1, LARGE_PAGE):
                advise(at, LARGE_PAGE, MADV_COLLAPSE)
