"""The limits of programs that `sema eval` runs, how sizes are written, and the messages for programs that pass a
limit."""

from __future__ import annotations

import re
from typing import NamedTuple

TIMEOUT = "evaluation exceeded time budget (looks like an infinite loop?)"
ENDED = "the program ended the evaluation process"
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)I?B?\s*", re.IGNORECASE)


class Limits(NamedTuple):
    """The limits of one program. seconds: wall-clock time; memory: bytes of the program and its child processes beyond
    those of the empty worker; output: bytes that it may print, the value included. 0: no limit."""

    seconds: float = 5.0
    memory: int = 2 << 30
    output: int = 16 << 20

    def out_of_memory(self) -> str:
        return f"out of memory: the program needs more than {shown(self.memory)}; --memory SIZE raises the limit"

    def too_much_output(self) -> str:
        return (
            f"too much output: the program printed more than {shown(self.output)}; print less, or raise the limit"
            " with --max-output SIZE"
        )


def size(text: str) -> int:
    """The number of bytes in a size: `512MB`, `2GB`, `1.5G`, `4096`; each unit is 1024 of the one before. Raises
    ValueError."""
    match = SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"'{text}' is not a size; write bytes or a number with KB, MB or GB, such as 512MB")
    return int(float(match[1]) * UNITS[match[2].upper()])


def shown(count: int) -> str:
    """A number of bytes for people: `512 MB`."""
    for unit in "TGMK":
        if count >= UNITS[unit] and count % (UNITS[unit] // 4) == 0:
            return f"{count / UNITS[unit]:g} {unit}B"
    return f"{count} bytes"
