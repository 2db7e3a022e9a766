"""A TCP or TLS connection as a client's reader and writer of bytes; errors are OSErrors."""

from __future__ import annotations

import asyncio
import select
from contextlib import suppress
from typing import Any

MOST_UNREAD = 1 << 18  # bytes that have come and nobody has read; then the other side has to wait
HAPPY_EYEBALLS = 0.25  # seconds until the next address of a host is tried beside the one before (RFC 8305)


class Link(asyncio.Protocol):
    """`await read()` until b"", `await write(data)`, `close()`. One reads and one writes at a time. idle: the most
    seconds that a wait may take, None for any; then it raises TimeoutError, as for the rest OSError."""

    def __init__(self) -> None:
        self.transport: Any = None
        self.ended = False  # the other side sends no more
        self.idle: float | None = None
        self._error: Exception | None = None
        self._unread = bytearray()
        self._reading_paused = False
        self._writing_paused = False
        self._news: asyncio.Future[None] | None = None

    # Called by the loop

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._unread += data
        if len(self._unread) > MOST_UNREAD and not self._reading_paused:
            self._reading_paused = True
            self.transport.pause_reading()
        self._tell()

    def eof_received(self) -> None:
        self.ended = True
        self._tell()

    def connection_lost(self, error: Exception | None) -> None:
        self.ended = True
        self._error = error
        self._writing_paused = False
        self._tell()

    def pause_writing(self) -> None:
        self._writing_paused = True

    def resume_writing(self) -> None:
        self._writing_paused = False
        self._tell()

    def _tell(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    async def _wait(self) -> None:
        self._news = asyncio.get_running_loop().create_future()
        try:
            if self.idle is None:
                await self._news
            else:
                async with asyncio.timeout(self.idle):
                    await self._news
        finally:
            self._news = None

    # Called by the client

    def is_quiet(self) -> bool:
        """Whether the connection is open and nothing has come that was not asked for."""
        return not self.ended and not self._unread

    def is_still_open(self) -> bool:
        """As `is_quiet`, for one that was idle: the loop may have stood still, so the system is asked too."""
        return self.is_quiet() and not _is_readable(self.transport.get_extra_info("socket").fileno())

    async def read(self) -> bytes:
        """What has come, b"" at the end. Raises OSError when the connection broke."""
        while not self._unread:
            if self._error is not None:
                raise self._error
            if self.ended:
                return b""
            await self._wait()
        return self.unread()

    def unread(self) -> bytes:
        """What has come, without waiting for it."""
        data = bytes(self._unread)
        self._unread.clear()
        if self._reading_paused:
            self._reading_paused = False
            with suppress(RuntimeError):  # closed meanwhile
                self.transport.resume_reading()
        return data

    async def write(self, data: bytes) -> bool:
        """Sends; waits while the other side is slow. False when it has answered, or gone, before it took all."""
        if self.ended:
            return False
        self.transport.write(data)
        while self._writing_paused and self.is_quiet():
            await self._wait()
        return not self._writing_paused and not self.ended

    async def encrypt(self, tls: Any, host: str, seconds: float) -> None:
        """Goes on in TLS. Raises OSError."""
        loop = asyncio.get_running_loop()
        self.transport = await loop.start_tls(
            self.transport, self, tls, server_hostname=host, ssl_handshake_timeout=seconds
        )

    def close(self) -> None:
        """Closes without a word: whoever wants the rest of an exchange has read it."""
        self.transport.abort()


def _is_readable(descriptor: int) -> bool:
    """Whether something has come at a socket, its end included."""
    if descriptor < 0:
        return True
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([descriptor], [], [], 0)[0])
    asked = select.poll()
    asked.register(descriptor, select.POLLIN)
    return bool(asked.poll(0))


async def opened(host: str, port: int, tls: Any, seconds: float, reach: str = "") -> Link:
    """A connection to a host; tls: an SSLContext or None. reach: what its addresses must be (addresses.py); then it is
    one of those that were checked which is connected to, however the name resolves a moment later.

    Raises OSError, TimeoutError after that many seconds, Failure for an address that may not be reached.
    """
    async with asyncio.timeout(seconds):
        if not reach:
            return await _opened(host, host, port, tls, seconds)
        from sema_runtime.net.addresses import allowed

        error: OSError | None = None
        for address in await allowed(host, port, reach):
            try:
                return await _opened(address, host, port, tls, seconds)
            except OSError as refused:
                error = error or refused
        raise error or OSError(f"{host} has no address")


async def _opened(place: str, name: str, port: int, tls: Any, seconds: float) -> Link:
    """place: a host or an address. name: of the host, which its certificate must have."""
    _, link = await asyncio.get_running_loop().create_connection(
        Link,
        place,
        port,
        ssl=tls,
        server_hostname=name if tls is not None else None,
        happy_eyeballs_delay=HAPPY_EYEBALLS,
        ssl_handshake_timeout=seconds if tls is not None else None,
    )
    return link
