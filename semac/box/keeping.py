"""What a session keeps from program to program: the last three values, and how much memory its definitions take."""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Any

from sema_runtime.box.hardening import system_library
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


class Keeping:
    """Of one session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.before: int | None = None  # memory in use before the first program
        self.recent: list[Any] = [None] * len(HISTORY)
        self.bind()

    def bind(self) -> None:
        for name, value in zip(HISTORY, self.recent, strict=True):
            self.session.bind(name, value)

    def remember(self, value: Any) -> None:
        """The value of a program that ended ordinarily becomes `*1`."""
        self.recent = [value, *self.recent[:-1]]
        self.bind()

    def granted(self, before: int) -> None:
        """Counts what inputs took as there before. before: memory in use without them."""
        taken = memory_in_use()
        self.before = taken if self.before is None else self.before + taken - before

    def exceeds(self, most_mb: int) -> bool:
        """Whether the session's definitions take more."""
        if self.before is None or memory_in_use() - self.before <= most_mb << 20:
            return False
        gc.collect()
        return memory_in_use() - self.before > most_mb << 20
