"""Compressed bodies, unpacked step by step: no step makes more than STEP bytes, whatever it was given.

One coding, gzip or deflate, is undone. A body with several is refused, since each layer multiplies the size that a few
bytes can reach. A body with an unknown coding stays as it is. A body that ends too early is an error. Further gzip
members are read; anything else after the last one is an error, except zero padding.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Iterator

from sema_runtime.net.failures import Failure

STEP = 1 << 16  # bytes that come out of one step
BITE = 1 << 14  # bytes that go into one
STEPS_A_TURN = 16  # then the loop gets a turn: timeouts and other requests are not held up
SLACK = 1 << 16  # by how much a packed body may be larger than what is in it
NAMES = {"gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate"}


def coding_of(headers: list[tuple[str, str]]) -> str:
    """`gzip`, `deflate`, or "" when there is nothing to undo. Raises Failure for several codings."""
    header = ",".join(value for name, value in headers if name == "content-encoding")
    codings = [name for name in (part.strip().lower() for part in header.split(",")) if name not in ("", "identity")]
    if len(codings) > 1:
        shown = ", ".join(codings)[:60]
        raise Failure("encoding", f"the body is compressed {len(codings)} times ({shown}), more than once is refused")
    return NAMES.get(codings[0], "") if codings else ""


class Unpacked:
    """Decompresses the pieces of a source: `await read()` until b""."""

    def __init__(self, source: Callable[[], Awaitable[bytes]], coding: str, most: int | None = None) -> None:
        """source: gives the next packed bytes, b"" at the end. most: how many may come; None for any number."""
        self._source = source
        self._unpacker = Unpacker(coding)
        self._left = most
        self._steps: Iterator[bytes] = iter(())
        self._count = 0
        self._ended = False

    async def read(self) -> bytes:
        """The next piece, never more than STEP bytes. Raises Failure."""
        while True:
            for piece in self._steps:
                self._count += 1
                if self._count % STEPS_A_TURN == 0:
                    await asyncio.sleep(0)
                if piece:
                    return piece
            if self._ended:
                return b""
            data = await self._source()
            if not data:
                self._ended = True
                self._unpacker.close()
            elif self._left is not None:
                self._left -= len(data)
                if self._left < 0:
                    raise Failure("encoding", "the compressed body is larger than what may be in it")
            self._steps = self._unpacker.feed(data)


class Unpacker:
    """Undoes one coding."""

    def __init__(self, coding: str) -> None:
        self.coding = coding
        self._stream: zlib._Decompress | None = None
        self._start = b""  # of deflate data, until its form shows
        self._members = 0  # that have ended
        self._padded = False  # zeros came behind a member

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The steps of unpacking, some of which give b"". Raises Failure."""
        for start in range(0, len(data), BITE):
            yield from self._fed(data[start : start + BITE])

    def _fed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._stream is None:
                data = self._opened(data)
                if self._stream is None:
                    return
            try:
                piece = self._stream.decompress(data, STEP)
            except zlib.error as error:
                raise Failure("encoding", f"the body is not valid {self.coding} data ({_reason(error)})") from None
            yield piece
            if self._stream.eof:
                data, self._stream = self._stream.unused_data, None
                self._members += 1
            else:
                data = self._stream.unconsumed_tail
                while not data and len(piece) == STEP:  # all was taken in, and not all has come out
                    piece = self._stream.decompress(b"", STEP)
                    yield piece
                    if self._stream.eof:
                        data, self._stream = self._stream.unused_data, None
                        self._members += 1
                        break
                    data = self._stream.unconsumed_tail

    def _opened(self, data: bytes) -> bytes:
        """Starts a stream; returns the data that is left for it."""
        if self._members:
            data = self._behind(data)
            if not data:
                return b""
        if self.coding == "gzip":
            self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
            return data
        data = self._start + data
        if len(data) < 2:
            self._start = data
            return b""
        self._start = b""
        wrapped = data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0  # RFC 1950; else bare, RFC 1951
        self._stream = zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)
        return data

    def _behind(self, data: bytes) -> bytes:
        """The data after the end of a stream: another gzip member, or zeros."""
        rest = data.lstrip(b"\0")
        self._padded = self._padded or len(rest) < len(data)
        if rest and (self.coding != "gzip" or self._padded):
            raise Failure("encoding", f"the body goes on behind the end of its {self.coding} data")
        return rest

    def close(self) -> None:
        """Raises Failure when the body has ended in the middle."""
        if self._stream is not None or self._start:
            raise Failure("encoding", f"the body ends in the middle of its {self.coding} data")


def _reason(error: zlib.error) -> str:
    """`incorrect header check` of `Error -3 while decompressing data: incorrect header check`."""
    return str(error).rpartition(": ")[2]
