"""Calls that run in the process of a program, and what they print.

Several calls wait at the same time, so standard output asks the context variables whose text it is. Text that goes past
Python, straight to the descriptor, is read by the server's process. Both take the same pipe, so they keep their order:
what a call has printed leaves before the program starts another process.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

PAUSE = 0.05  # seconds for which text is collected before it is sent
MOST = 8192  # characters that are collected at most

STARTING = ("subprocess.Popen", "os.system", "os.posix_spawn", "os.fork", "os.exec")  # audit events

current: ContextVar[Call | None] = ContextVar("current", default=None)


class Call:
    """A request of a client. say: takes text, with the number of its call, to the server's process."""

    def __init__(self, number: int, say: Callable[[int, str], None]) -> None:
        self.number = number
        self.say = say
        self.parts: list[str] = []
        self.size = 0
        self.sent = 0.0
        self.ended = False

    def write(self, text: str) -> None:
        """Collects text; sends it when there is much of it or a moment has passed: little is lost in a crash."""
        self.parts.append(text)
        self.size += len(text)
        now = time.monotonic()
        if self.size >= MOST or now - self.sent >= PAUSE:
            self.sent = now
            self.flush()

    def flush(self) -> None:
        """Sends what was collected."""
        if self.parts:
            parts, self.parts, self.size = self.parts, [], 0
            self.say(self.number, "".join(parts))


class CallStream(io.TextIOBase):
    """Standard output or errors: the text of a call goes to the call, any other to the stream that was there."""

    line_buffering = False
    encoding = "utf-8"
    errors = "replace"

    def __init__(self, fallback: Any) -> None:
        self.fallback = fallback
        self.buffer = _Bytes(self)

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        call = current.get()
        if call is None or call.ended:
            self.fallback.write(text)
            self.fallback.flush()
        else:
            call.write(text)
        return len(text)

    def flush(self) -> None:
        self.fallback.flush()

    def fileno(self) -> int:
        return int(self.fallback.fileno())

    def isatty(self) -> bool:
        return False


class _Bytes(io.RawIOBase):
    """The bytes side of a stream."""

    def __init__(self, stream: CallStream) -> None:
        self.stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.stream.write(bytes(data).decode("utf-8", "replace"))
        return len(data)


def install() -> None:
    """Has standard output and errors belong to calls. Both fall back to the descriptor of errors."""
    sys.stdout = CallStream(sys.stderr)
    sys.stderr = CallStream(sys.stderr)
    sys.addaudithook(_flush_before)


def _flush_before(event: str, _: tuple[Any, ...]) -> None:
    """Sends what the running call has printed before a process starts that may print more."""
    if event in STARTING and (call := current.get()) is not None:
        call.flush()
