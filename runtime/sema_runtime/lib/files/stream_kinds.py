"""The classes of streams: in memory, over files, and the standard streams. streams.py has the functions."""

from __future__ import annotations

import sys

from sema_runtime.values.errors import SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, BinaryIO


class Stream:
    """A stream over binary files. kind: the name that `stream/type` returns; source, sink: the files to read and
    write."""

    __slots__ = ("closed", "kind", "pushed", "sink", "source")
    type_name = "stream"

    def __init__(self, kind: str, source: BinaryIO | None = None, sink: BinaryIO | None = None) -> None:
        self.kind = kind
        self.source = source
        self.sink = sink
        self.closed = False
        self.pushed = b""  # what was read to see whether there is more

    def sema_text(self) -> str:
        return f"<stream:{self.kind}>"

    def read(self, count: int = -1) -> bytes:
        """Up to count bytes; everything that is left for a negative count."""
        if self.closed:
            raise SemaError("stream/read: stream is closed")
        if self.source is None:
            raise SemaError(f"stream/read: stream is write-only ({self.kind} stream)")
        first, self.pushed = self.pushed, b""
        if count >= 0 and len(first) >= count:
            self.pushed = first[count:]
            return first[:count]
        try:
            return first + self.source.read(count - len(first) if count >= 0 else -1)
        except OSError as error:
            raise _failed("stream/read", error) from None

    def read_line(self) -> bytes:
        """The bytes up to and with the next line feed."""
        first = self.read(0) or self.pushed
        self.pushed = b""
        assert self.source is not None
        try:
            return first if first.endswith(b"\n") else first + self.source.readline()
        except OSError as error:
            raise _failed("stream/read-line", error) from None

    def write(self, data: bytes | bytearray) -> int:
        """Writes all of the data and returns its size."""
        if self.closed:
            raise SemaError("stream/write: stream is closed")
        if self.sink is None:
            raise SemaError(f"stream/write: stream is read-only ({self.kind} stream)")
        try:
            self.sink.write(data)
        except OSError as error:
            raise _failed("stream/write", error) from None
        return len(data)

    def is_ready(self) -> bool:
        """Whether there is something to read, without waiting. For readable streams only."""
        self.pushed = self.read(1)
        return bool(self.pushed)

    def flush(self) -> None:
        """Writes the data that is still buffered."""
        if self.sink is not None:
            try:
                self.sink.flush()
            except OSError as error:
                raise _failed("stream/flush", error) from None

    def readable(self) -> bool:
        """Whether it is open and can be read."""
        return not self.closed and self.source is not None

    def writable(self) -> bool:
        """Whether it is open and can be written."""
        return not self.closed and self.sink is not None

    def close(self) -> None:
        """Closes the files below; called once."""
        for file in (self.source, self.sink):
            if file is not None:
                try:
                    file.close()
                except OSError as error:
                    raise _failed("stream/close", error) from None


class Buffer(Stream):
    """A buffer in memory: writes append to it, each read continues after the last one."""

    __slots__ = ("data", "position")

    def __init__(self, data: bytes | bytearray = b"") -> None:
        super().__init__("byte-buffer")
        self.data = bytearray(data)
        self.position = 0

    def read(self, count: int = -1) -> bytes:
        if self.closed:
            raise SemaError("stream/read: stream is closed")
        end = len(self.data) if count < 0 else self.position + count
        taken = bytes(self.data[self.position : end])
        self.position += len(taken)
        return taken

    def is_ready(self) -> bool:
        return self.position < len(self.data)

    def readable(self) -> bool:
        return not self.closed

    def writable(self) -> bool:
        return not self.closed

    def read_line(self) -> bytes:
        newline = self.data.find(b"\n", self.position)
        return self.read(-1 if newline < 0 else newline + 1 - self.position)

    def write(self, data: bytes | bytearray) -> int:
        if self.closed:
            raise SemaError("stream/write: stream is closed")
        self.data += data
        return len(data)


class Console(Stream):
    """Standard output or error. Text that `println` has written comes first."""

    __slots__ = ()

    def read(self, count: int = -1) -> bytes:
        if self.closed:
            raise SemaError("stream/read: stream is closed")
        raise SemaError(f"stream/read: *{self.kind}* is write-only")

    def write(self, data: bytes | bytearray) -> int:
        file = getattr(sys, self.kind)  # looked up each time: the host of a program may replace it
        sink = getattr(file, "buffer", None)
        if self.closed:
            raise SemaError("stream/write: stream is closed")
        if sink is not None:
            self._try("stream/write", file.flush)
            self._try("stream/write", lambda: sink.write(data))
        elif file is not None:  # something in memory that takes only text
            file.write(data.decode(errors="replace"))
        return len(data)

    def flush(self) -> None:
        file = getattr(sys, self.kind)
        if file is not None:
            self._try("stream/flush", file.flush)

    def _try(self, function: str, action: Callable[[], Any]) -> None:
        try:
            action()
        except BrokenPipeError:  # the reader of the output is gone: the program ends quietly
            raise
        except OSError as error:
            raise _failed(function, error) from None

    def writable(self) -> bool:
        return not self.closed

    def close(self) -> None:
        """The file stays open for others."""


class StandardInput(Stream):
    """Standard input. Waiting for it suspends only the waiting task."""

    __slots__ = ()

    def read(self, count: int = -1) -> bytes:
        from sema_runtime.tasks.inputs import standard_input

        if self.closed:
            raise SemaError("stream/read: stream is closed")
        source = standard_input()
        return source.rest("stream/read") if count < 0 else source.some("stream/read", count)

    def read_line(self) -> bytes:
        from sema_runtime.tasks.inputs import standard_input

        if self.closed:
            raise SemaError("stream/read: stream is closed")
        return standard_input().line("stream/read-line")

    def write(self, data: bytes | bytearray) -> int:
        if self.closed:
            raise SemaError("stream/write: stream is closed")
        raise SemaError("stream/write: *stdin* is read-only")

    def is_ready(self) -> bool:
        from sema_runtime.tasks.inputs import standard_input

        return standard_input().is_ready()

    def readable(self) -> bool:
        return not self.closed


_standard: dict[str, Stream] = {}


def standard_stream(name: str) -> Stream:
    """`*stdin*`, `*stdout*` or `*stderr*`, by name without the stars; always the same one."""
    stream = _standard.get(name)
    if stream is None:
        stream = _standard[name] = StandardInput(name) if name == "stdin" else Console(name)
    return stream


def _failed(function: str, error: OSError) -> SemaError:
    from sema_runtime.support.file_access import reason

    return SemaError(f"{function}: I/O error: {reason(error)}")


def text_from(function: str, data: bytes | bytearray) -> str:
    """The bytes as UTF-8 text. Raises an error that names the first invalid byte."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        size = error.end - error.start
        raise SemaError(
            f"{function}: invalid UTF-8: invalid utf-8 sequence of {size} bytes from index {error.start}"
        ) from None
