"""What a session keeps from program to program: the last three values, and how much memory its definitions take."""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress
from typing import Any

with suppress(ImportError):  # Windows, whose processes can't run programs
    import resource

from sema_runtime.box.libc import system_library
from semac.session import Session

HISTORY = ("*1", "*2", "*3")
BLOCK = 64  # bytes of a small object, on average


class MallocFacts(ctypes.Structure):
    """What glibc's `mallinfo2` gives."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
    )]  # fmt: skip


def memory_in_use() -> int:
    """About how many bytes the objects of this process take: small ones by their number, others as malloc has them."""
    try:
        ask = system_library().mallinfo2
    except AttributeError:  # another C library: large texts don't count
        return sys.getallocatedblocks() * BLOCK
    ask.restype = MallocFacts
    facts = ask()
    return sys.getallocatedblocks() * BLOCK + int(facts.uordblks) + int(facts.hblkhd)


def most_resident() -> int:
    """The most memory that this process has had at a time, in KB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class Keeping:
    """Of one session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.before = memory_in_use()  # without inputs and definitions
        self.resident: int | None = None  # when the first program came
        self.recent: list[Any] = [None] * len(HISTORY)
        self.bind()

    def bind(self) -> None:
        for name, value in zip(HISTORY, self.recent, strict=True):
            self.session.bind(name, value)

    def remember(self, value: Any) -> None:
        """The value of a program that ended ordinarily becomes `*1`."""
        self.recent = [value, *self.recent[:-1]]
        self.bind()

    def starts(self) -> None:
        """Notes what the process takes before its first program."""
        if self.resident is None:
            self.resident = most_resident()

    def granted(self, before: int) -> None:
        """Counts what inputs took as there before. before: memory in use without them."""
        self.before += memory_in_use() - before

    def exceeds(self, most_mb: int) -> bool:
        """Whether the session's definitions take more."""
        if self.resident is not None and most_resident() - self.resident < most_mb << 10:
            return False  # all that was done together took less; asking for more costs as much as a small program
        if memory_in_use() - self.before <= most_mb << 20:
            return False
        gc.collect()
        return memory_in_use() - self.before > most_mb << 20
