"""A TCP or TLS connection of a client: reads and writes bytes. Errors are OSErrors."""

from __future__ import annotations

import asyncio
import select
from contextlib import suppress
from typing import Any

MOST_UNREAD = 1 << 18  # bytes that were received and not read; beyond that the other side waits
HAPPY_EYEBALLS = 0.25  # seconds until the next address of a host is tried beside the one before (RFC 8305)


class Connection(asyncio.Protocol):
    """A connection: `await read()` until b"", `await write(data)`, `close()`. One task reads and one writes at a time.

    idle: seconds that a wait may take at most, None for no limit. A longer wait raises TimeoutError; other failures
    raise OSError.
    """

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
        """Whether the connection is open and has received nothing unread."""
        return not self.ended and not self._unread

    def is_still_open(self) -> bool:
        """As `is_quiet`, for an idle connection: asks the operating system too, since the loop may not have run."""
        return self.is_quiet() and not _is_readable(self.transport.get_extra_info("socket").fileno())

    async def read(self) -> bytes:
        """The bytes received, b"" at the end. Waits for some. Raises OSError when the connection broke."""
        while not self._unread:
            if self._error is not None:
                raise self._error
            if self.ended:
                return b""
            await self._wait()
        return self.unread()

    def unread(self) -> bytes:
        """The bytes received so far, without waiting."""
        data = bytes(self._unread)
        self._unread.clear()
        if self._reading_paused:
            self._reading_paused = False
            with suppress(RuntimeError):  # closed meanwhile
                self.transport.resume_reading()
        return data

    async def write(self, data: bytes) -> bool:
        """Sends; waits while the other side is slow. False when it answered or closed before it took all."""
        if self.ended:
            return False
        self.transport.write(data)
        while self._writing_paused and self.is_quiet():
            await self._wait()
        return not self._writing_paused and not self.ended

    async def encrypt(self, tls: Any, host: str, seconds: float) -> None:
        """Switches to TLS. Raises OSError."""
        loop = asyncio.get_running_loop()
        self.transport = await loop.start_tls(
            self.transport, self, tls, server_hostname=host, ssl_handshake_timeout=seconds
        )

    def close(self) -> None:
        """Closes at once, without sending the data that is left: an exchange that matters has been read."""
        self.transport.abort()


def _is_readable(descriptor: int) -> bool:
    """Whether a socket has received something, its end included."""
    if descriptor < 0:
        return True
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([descriptor], [], [], 0)[0])
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(0))


async def connect(host: str, port: int, tls: Any, seconds: float, reach: str = "") -> Connection:
    """A new connection to a host. tls: an SSLContext or None.

    reach: what the host's addresses must be (addresses.py). The connection goes to one of the checked addresses, even
    if the name resolves to another one a moment later. Raises OSError, TimeoutError after that many seconds, Failure
    for an address that may not be reached.
    """
    async with asyncio.timeout(seconds):
        if not reach:
            return await _connect(host, host, port, tls, seconds)
        from sema_runtime.net.addresses import allowed

        error: OSError | None = None
        for address in await allowed(host, port, reach):
            try:
                return await _connect(address, host, port, tls, seconds)
            except OSError as refused:
                error = error or refused
        raise error or OSError(f"{host} has no address")


async def _connect(place: str, name: str, port: int, tls: Any, seconds: float) -> Connection:
    """place: a host or an address. name: of the host, which its certificate must have."""
    _, connection = await asyncio.get_running_loop().create_connection(
        Connection,
        place,
        port,
        ssl=tls,
        server_hostname=name if tls is not None else None,
        happy_eyeballs_delay=HAPPY_EYEBALLS,
        ssl_handshake_timeout=seconds if tls is not None else None,
    )
    return connection
