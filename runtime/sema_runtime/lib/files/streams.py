"""Byte streams: one set of functions for strings, buffers, files and the standard streams."""

from __future__ import annotations

import io

from sema_runtime.catalogue import builtin
from sema_runtime.lib.files.stream_kinds import Buffer
from sema_runtime.lib.files.stream_kinds import Stream as Stream  # others take these from here
from sema_runtime.lib.files.stream_kinds import standard_stream as standard_stream
from sema_runtime.lib.files.stream_kinds import text_from as text_from
from sema_runtime.values.errors import SemaError, SemaTypeError, type_error
from sema_runtime.values.maps import MISSING
from sema_runtime.values.numbers import is_int64
from sema_runtime.values.typenames import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CAP_HINT = "process the stream with stream/read and stream/write in bounded chunks, or raise max-bytes"
CHUNK = 1 << 16
TOTAL = 256 << 20  # bytes that one call reads or copies unless told otherwise


def stream_of(function: str, value: Any, position: int = 1) -> Stream:
    """The value, checked to be a stream."""
    if not isinstance(value, Stream):
        type_error("stream", value, f"{function} expects a stream as argument {position}")
    return value


def _bytes(value: Any) -> bytes | bytearray:
    if not isinstance(value, (bytes, bytearray)):
        type_error("bytevector", value)
    return value


def _int(value: Any) -> int:
    if not is_int64(value):
        type_error("int", value)
    return int(value)


# Making streams


@builtin("stream/from-string", type="str -> other")
def stream_from_string(text: Any) -> Stream:
    """A stream over the UTF-8 bytes of a text.

    (stream/read-line (stream/from-string "one\\ntwo")) => "one"
    """
    if type(text) is not str:
        type_error("string", text)
    return Stream("string", io.BytesIO(text.encode()))


@builtin("stream/from-bytes", type="bytevector -> other")
def stream_from_bytes(data: Any) -> Stream:
    """A buffer that holds the bytes of a bytevector.

    (stream/read-byte (stream/from-bytes #u8(7 8))) => 7
    """
    return Buffer(_bytes(data))


@builtin("stream/byte-buffer", type="-> other")
def stream_byte_buffer() -> Stream:
    """An empty buffer in memory, for writing and reading.

    (define buffer (stream/byte-buffer))
    (stream/write-string buffer "text")
    (stream/to-string buffer) => "text"
    """
    return Buffer()


@builtin("stream/open-input", type="str -> other", cap="fs-read")
def stream_open_input(path: Any) -> Stream:
    """Opens a file for reading as a stream.

    (file/write "a.txt" "one\\ntwo\\n")
    (with-open (in (stream/open-input "a.txt")) (stream/read-line in)) => "one"
    """
    return Stream("file-input", _open("stream/open-input", path, "rb"))


@builtin("stream/open-output", type="str -> other", cap="fs-write")
def stream_open_output(path: Any) -> Stream:
    """Opens a file for writing as a stream, replacing its contents.

    (with-open (out (stream/open-output "a.txt")) (stream/write-string out "text"))
    (file/read "a.txt") => "text"
    """
    return Stream("file-output", None, _open("stream/open-output", path, "wb"))


def _open(function: str, path: Any, mode: str) -> Any:
    import os

    from sema_runtime.support.file_access import FAILURES, checked, opened_regular, reason
    from sema_runtime.support.replacing import destination, opened_through

    target = checked(function, path)
    flags = os.O_RDONLY if mode == "rb" else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    try:
        if mode == "wb" and destination(target) is None:
            from sema_runtime.tasks.background import run

            return open(run(lambda work: opened_through(target, check=work.check)), mode)
        return open(opened_regular(function, target, flags), mode)
    except FAILURES as error:
        raise SemaError(f"{function}: {path}: {reason(error)}") from None


# Reading


@builtin("stream/read", type="other, int -> bytevector")
def stream_read(stream: Any, count: Any) -> bytes:
    """Reads up to count bytes of a stream; fewer at the end.

    (stream/read (stream/from-string "hello") 2) => #u8(104 101)
    """
    source = stream_of("stream/read", stream)
    if _int(count) < 0:
        raise SemaError(f"stream/read: count must be non-negative, got {count}")
    return source.read(count)


@builtin("stream/read-byte", type="other -> int|nil")
def stream_read_byte(stream: Any) -> int | None:
    """Reads the next byte of a stream, nil at the end.

    (stream/read-byte (stream/from-string "a")) => 97
    """
    if type(stream) is Buffer and not stream.closed and stream.position < len(stream.data):
        stream.position += 1
        return stream.data[stream.position - 1]
    data = stream_of("stream/read-byte", stream).read(1)
    return data[0] if data else None


@builtin("stream/read-line", type="other -> str|nil")
def stream_read_line(stream: Any) -> str | None:
    """Reads the next line of a stream without its end (`\\n` or `\\r\\n`), nil at the end.

    (define s (stream/from-string "one\\n"))
    (stream/read-line s) => "one"
    (stream/read-line s) => nil
    """
    data = stream_of("stream/read-line", stream).read_line()
    if not data:
        return None
    return text_from("stream/read-line", data.removesuffix(b"\n").removesuffix(b"\r"))


@builtin("stream/read-all", type="other, int? -> bytevector")
def stream_read_all(stream: Any, max_bytes: Any = MISSING) -> bytes:
    """Reads the rest of a stream. Raises an error when that is more than max-bytes (256 MiB).

    (stream/read-all (stream/from-string "abc")) => #u8(97 98 99)
    (stream/read-all (stream/from-string "abc") 2) ! stream/read-all: input exceeds the configured 2-byte cap
    """
    source = stream_of("stream/read-all", stream)
    limit = _limit("stream/read-all", max_bytes)
    chunks = []
    left = limit
    while left >= 0 and (data := source.read(min(CHUNK, left + 1))):
        chunks.append(data)
        left -= len(data)
    if left < 0:
        raise _too_much("stream/read-all", limit)
    return b"".join(chunks)


def _limit(function: str, value: Any) -> int:
    if value is MISSING:
        return TOTAL
    if not is_int64(value):
        raise SemaTypeError("non-negative integer", type_name(value))
    if value < 0:
        raise SemaError(
            f"{function}: max-bytes must be a non-negative integer representable on this platform, got {value}"
        )
    return int(value)


def _too_much(function: str, limit: int) -> SemaError:
    return SemaError(f"{function}: input exceeds the configured {limit}-byte cap", CAP_HINT)


# Writing


@builtin("stream/write", type="other, bytevector -> int")
def stream_write(stream: Any, data: Any) -> int:
    """Writes a bytevector to a stream and returns the number of bytes.

    (stream/write (stream/byte-buffer) #u8(1 2)) => 2
    """
    return stream_of("stream/write", stream).write(_bytes(data))


@builtin("stream/write-byte", type="other, int -> nil")
def stream_write_byte(stream: Any, byte: Any) -> None:
    """Writes one byte to a stream.

    (define buffer (stream/byte-buffer))
    (stream/write-byte buffer 65)
    (stream/to-string buffer) => "A"
    """
    if type(stream) is Buffer and not stream.closed and type(byte) is int and 0 <= byte <= 255:
        stream.data.append(byte)
        return
    target = stream_of("stream/write-byte", stream)
    if not 0 <= _int(byte) <= 255:
        raise SemaError(f"stream/write-byte: value {byte} out of range 0..255")
    target.write(bytes((byte,)))


@builtin("stream/write-string", type="other, str -> int")
def stream_write_string(stream: Any, text: Any) -> int:
    """Writes a text to a stream as UTF-8 and returns the number of bytes.

    (stream/write-string (stream/byte-buffer) "é") => 2
    """
    target = stream_of("stream/write-string", stream)
    if type(text) is not str:
        type_error("string", text)
    return target.write(text.encode())


@builtin("stream/flush", type="other -> nil")
def stream_flush(stream: Any) -> None:
    """Flushes a stream: writes the data that it still buffers.

    (stream/flush (stream/byte-buffer)) => nil
    """
    target = stream_of("stream/flush", stream)
    if target.closed:
        raise SemaError("stream/flush: stream is closed")
    target.flush()


@builtin("stream/copy", type="other, other, int? -> int")
def stream_copy(source: Any, target: Any, max_bytes: Any = MISSING) -> int:
    """Copies the rest of source to target and returns the number of bytes. Raises an error above max-bytes (256 MiB).

    (define target (stream/byte-buffer))
    (stream/copy (stream/from-string "text") target) => 4
    (stream/to-string target) => "text"
    """
    reader, writer = stream_of("stream/copy", source), stream_of("stream/copy", target, 2)
    limit = _limit("stream/copy", max_bytes)
    left = limit
    while data := reader.read(min(CHUNK, left + 1)):
        left -= len(data)
        if left < 0:
            raise _too_much("stream/copy", limit)
        writer.write(data)
    return limit - left


@builtin("stream/close", type="other -> nil")
def stream_close(stream: Any) -> None:
    """Closes a stream; closing it again does nothing.

    (define s (stream/from-string "text"))
    (stream/close s)
    (stream/readable? s) => #f
    """
    opened = stream_of("stream/close", stream)
    if not opened.closed:
        opened.closed = True
        opened.close()


# Asking


@builtin("stream?", type="any -> bool", total=True, pure=True)
def is_stream(value: Any) -> bool:
    """Whether the value is a stream.

    (stream? (stream/byte-buffer)) => #t
    """
    return isinstance(value, Stream)


@builtin("stream/type", type="other -> str")
def stream_type(stream: Any) -> str:
    """The kind of stream: byte-buffer, string, file-input, file-output, stdin, stdout, stderr.

    (stream/type (stream/from-string "a")) => "string"
    """
    return stream_of("stream/type", stream).kind


@builtin("stream/readable?", type="other -> bool")
def stream_is_readable(stream: Any) -> bool:
    """Whether the stream is open and can be read.

    (stream/readable? (stream/from-string "a")) => #t
    """
    return stream_of("stream/readable?", stream).readable()


@builtin("stream/writable?", type="other -> bool")
def stream_is_writable(stream: Any) -> bool:
    """Whether the stream is open and can be written.

    (stream/writable? (stream/from-string "a")) => #f
    """
    return stream_of("stream/writable?", stream).writable()


@builtin("stream/available?", type="other -> bool")
def stream_is_available(stream: Any) -> bool:
    """Whether a stream has something to read, without waiting.

    (stream/available? (stream/from-string "a")) => #t
    """
    source = stream_of("stream/available?", stream)
    return source.readable() and source.is_ready()


@builtin("stream/to-bytes", type="other -> bytevector")
def stream_to_bytes(stream: Any) -> bytes:
    """Everything written to a buffer, as a bytevector.

    (define buffer (stream/byte-buffer))
    (stream/write-byte buffer 7)
    (stream/to-bytes buffer) => #u8(7)
    """
    return bytes(_buffer("stream/to-bytes", stream).data)


@builtin("stream/to-string", type="other -> str")
def stream_to_string(stream: Any) -> str:
    """Everything written to a buffer, as text.

    (define buffer (stream/byte-buffer))
    (stream/write-string buffer "text")
    (stream/to-string buffer) => "text"
    """
    return text_from("stream/to-string", _buffer("stream/to-string", stream).data)


def _buffer(function: str, value: Any) -> Buffer:
    buffer = stream_of(function, value)
    if not isinstance(buffer, Buffer):
        raise SemaError(f"{function}: expected byte-buffer stream, got {buffer.kind} stream")
    return buffer
