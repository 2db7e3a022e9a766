"""Reads from inputs that may have nothing to read yet: standard input, pipes, terminals. Other tasks run meanwhile."""

from __future__ import annotations

import os
import sys

from sema_runtime.values.errors import IoError, SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

CHUNK = 1 << 16
LINE_LIMIT = 256 * 1024  # bytes of a line
TOTAL_LIMIT = 256 * 1024 * 1024  # bytes of all that is read at once
HINT = "process standard input with stream/read in bounded chunks"


class Input:
    """An input with a buffer. Bytes that a read didn't use, or that a cancelled read had collected, stay in it.

    read: returns at most that many bytes, none at the end. descriptor: polled for something to read; None without one.
    """

    __slots__ = ("buffer", "descriptor", "ended", "read")

    def __init__(self, read: Callable[[int], bytes], descriptor: int | None) -> None:
        self.read = read
        self.descriptor = descriptor
        self.buffer = bytearray()
        self.ended = False

    def more(self, function: str) -> bool:
        """Waits for more bytes and adds them to the buffer. False at the end."""
        if self.ended:
            return False
        size = len(self.buffer)
        wait_readable(self.descriptor)
        if len(self.buffer) > size or self.ended:  # another task was faster
            return len(self.buffer) > size
        try:
            data = self.read(CHUNK)
        except OSError as error:
            raise IoError(f"{function}: {error.strerror}") from None
        except ValueError:  # closed
            data = b""
        self.buffer += data
        self.ended = not data
        return bool(data)

    def is_ready(self) -> bool:
        """Whether something can be read without waiting."""
        return bool(self.buffer) or (not self.ended and is_readable(self.descriptor))

    def some(self, function: str, count: int) -> bytes:
        """The available bytes, at most count; waits only when there are none."""
        while count and not self.buffer and self.more(function):
            pass
        return self._taken(count)

    def line(self, function: str, limit: int = LINE_LIMIT) -> bytes:
        """The bytes up to and with the next line feed, or the last ones."""
        searched = 0
        while (end := self.buffer.find(b"\n", searched)) < 0 and len(self.buffer) <= limit + 1:
            searched = len(self.buffer)
            if not self.more(function):
                end = len(self.buffer) - 1
                break
            searched = min(searched, len(self.buffer))  # another task may have taken some
        if end < 0 < len(self.buffer) or len(self.buffer[: end + 1].removesuffix(b"\n").removesuffix(b"\r")) > limit:
            raise SemaError(f"{function}: line exceeds the configured {limit}-byte cap", HINT)
        return self._taken(end + 1)

    def rest(self, function: str, limit: int = TOTAL_LIMIT, hint: str = HINT) -> bytes:
        """All bytes up to the end."""
        while self.more(function):
            if len(self.buffer) > limit:
                break
        if len(self.buffer) > limit:
            raise SemaError(f"{function}: input exceeds the configured {limit}-byte cap", hint)
        return self._taken(len(self.buffer))

    def _taken(self, count: int) -> bytes:
        taken = bytes(self.buffer[:count])
        del self.buffer[:count]
        return taken


class PatientFile:
    """A pipe or device, read as bytes or as text. A read returns what is available and waits only for nothing."""

    def __init__(self, descriptor: int, as_text: bool) -> None:
        from codecs import getincrementaldecoder

        self.descriptor = descriptor
        self.decode = getincrementaldecoder("utf-8")().decode if as_text else None

    def __enter__(self) -> PatientFile:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)

    def read(self, count: int) -> str | bytes:
        """At most that many bytes, or their text; nothing at the end. Raises OSError, UnicodeDecodeError."""
        while True:
            wait_readable(self.descriptor, always=True)
            try:
                data = os.read(self.descriptor, count)
            except BlockingIOError:  # another reader of the pipe was faster
                continue
            decoded = data if self.decode is None else self.decode(data, not data)
            if decoded or not data:
                return decoded


def wait_readable(descriptor: int | None, always: bool = False) -> None:
    """Waits until the descriptor has something to read or has ended; other tasks run meanwhile.

    Without tasks it returns at once, since the read itself waits, unless `always`.
    """
    if descriptor is None:
        return
    if "sema_runtime.tasks.scheduler" in sys.modules:
        from sema_runtime.tasks import suspend

        while not is_readable(descriptor):  # asked again: another task may have taken what there was
            suspend(until_readable(descriptor))
    elif always:
        is_readable(descriptor, None)


def is_readable(descriptor: int | None, milliseconds: int | None = 0) -> bool:
    """Whether a read would not wait, now or after waiting for that long (None: for ever)."""
    if descriptor is None:
        return True
    from select import POLLIN, poll

    polled = poll()
    polled.register(descriptor, POLLIN)
    return bool(polled.poll(milliseconds))


async def until_readable(descriptor: int, seconds: float | None = None) -> None:
    """Waits until the descriptor has something to read, or has ended, at most that long."""
    from asyncio import Event, get_running_loop, wait_for
    from contextlib import suppress

    ready = Event()
    loop = get_running_loop()
    own = os.dup(descriptor)  # a loop has one reader for each descriptor, and several tasks may wait
    try:
        loop.add_reader(own, ready.set)
        try:
            with suppress(TimeoutError):
                await wait_for(ready.wait(), seconds)
        finally:
            loop.remove_reader(own)
    finally:
        os.close(own)


class _Standard:
    file: object = None
    input: Input | None = None


def standard_input() -> Input:
    """The input of the current sys.stdin, which a host may replace."""
    file = sys.stdin
    if _Standard.input is None or _Standard.file is not file:
        _Standard.file = file
        _Standard.input = _input_of(file)
    return _Standard.input


def _input_of(file: TextIO | None) -> Input:
    if file is None:  # closed before the program began
        return Input(lambda count: b"", None)
    try:
        descriptor = file.fileno()
        return Input(file.buffer.read1, descriptor)  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):  # something in memory
        return Input(lambda count: file.readline().encode(errors="surrogateescape"), None)
