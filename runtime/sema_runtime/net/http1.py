"""HTTP/1.1 over one connection, with h11: a request, its reply, and the next request while both sides keep it open.

The transport of httpx takes four times as long for an exchange and interleaves concurrent ones step by step, so all of
them finish late (docs/decisions/0026-http-connections-of-our-own.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

import h11

from sema_runtime.net.connection import Connection

MOST_HEAD = 100 * 1024  # bytes of a reply's status line and headers
TOGETHER = 1 << 16  # bytes of a body that leave in one packet with the headers
MOST_HEADERS = 1000  # of one reply
MOST_INTERIM = 20  # replies with a status of 1xx before the reply itself
HEAD_SECONDS = 120.0  # that a reply's head may take from its first byte on
FREE_FRAMING = 1 << 20  # bytes that chunks may have around a body of any size
MOST_FRAMING = 16  # and beyond that for each of its bytes: a chunk of one byte takes five or seven
CHUNKS_AT_ONCE = 256  # that make one piece
MOST_DRAINED = 64  # pieces of a body that nobody wants, which are read so that its connection can be used again
MOST_SHOWN = 200  # characters of what h11 says, which quotes the server

Headers = list[tuple[bytes, bytes]]


class ProtocolError(Exception):
    """The server sent something other than HTTP, or nothing."""


class Http1:
    """HTTP/1.1 on one connection. For each exchange: `await send(...)`, `await head()`, `await piece()` until b"", then
    `start_next()` if it `is_reusable()`."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST_HEAD)
        self.heard = False  # whether a byte was received for this request
        self._over = False  # whether the body has ended
        self._doubtful = False  # whether the two sides may differ about where this reply ends
        self._framing = 0  # bytes received since the head, without those of the body
        self._body = 0  # bytes of the body

    async def send(self, method: str, target: bytes, headers: Headers, body: bytes | AsyncIterable[bytes]) -> None:
        """Sends a request. Stops early when the server answers before it has taken everything."""
        self._doubtful = not self.connection.is_quiet()  # it answers what it hasn't been asked
        try:
            data = self._http.send(h11.Request(method=method, target=target, headers=headers)) or b""
            if isinstance(body, bytes) and len(body) <= TOGETHER:
                data += (self._http.send(h11.Data(data=body)) or b"") if body else b""
                data += self._http.send(h11.EndOfMessage()) or b""
                await self.connection.write(data)
                return
            going_on = await self.connection.write(data)
            async for piece in _pieces_of(body):
                if not going_on:
                    return
                going_on = await self.connection.write(self._http.send(h11.Data(data=piece)) or b"")
            await self.connection.write(self._http.send(h11.EndOfMessage()) or b"")
        except h11.LocalProtocolError as error:
            raise ProtocolError(str(error)) from error

    async def head(self) -> tuple[int, Headers]:
        """The status and the headers of the reply; skips interim replies (100, 103)."""
        for _ in range(MOST_INTERIM + 1):
            event = await self._head_event()
            if type(event) is h11.Response or (type(event) is h11.InformationalResponse and event.status_code == 101):
                headers = event.headers.raw_items()
                if len(headers) > MOST_HEADERS:
                    raise ProtocolError(f"a reply with more than {MOST_HEADERS} headers")
                names = {name.lower() for name, _ in headers}
                if b"content-length" in names and b"transfer-encoding" in names:
                    self._doubtful = True
                self._framing = self._body = 0
                return event.status_code, headers
            if type(event) is not h11.InformationalResponse:
                raise ProtocolError("the server sent something else than a reply")
        raise ProtocolError(f"more than {MOST_INTERIM} interim replies")

    async def _head_event(self) -> Any:
        event = await self._next(until_begun=True)
        if event is not h11.NEED_DATA:
            return event
        async with asyncio.timeout(HEAD_SECONDS):
            return await self._next()

    async def piece(self) -> bytes:
        """The next piece of the body, b"" at its end. Small chunks that arrived together are one piece."""
        if self._over:
            return b""
        event = await self._next()
        data = bytearray()
        chunks = 0
        while type(event) is h11.Data:
            data += event.data
            chunks += 1
            if len(data) >= TOGETHER or chunks == CHUNKS_AT_ONCE:
                break
            event = self._ready()
        self._over = type(event) in (h11.EndOfMessage, h11.PAUSED)
        self._body += len(data)
        self._framing -= len(data)
        self._check_framing()
        if chunks == CHUNKS_AT_ONCE:  # tiny ones, which take long: others get a turn
            await asyncio.sleep(0)
        return bytes(data)

    async def _next(self, until_begun: bool = False) -> Any:
        """The next event. NEED_DATA only with until_begun, when a reply has begun and more bytes are needed."""
        while (event := self._ready()) is h11.NEED_DATA:
            if until_begun and self._http.trailing_data[0]:
                return event
            data = await self.connection.read()
            if not data and not self.heard:
                raise ProtocolError("Server disconnected without sending a response.")
            self.heard = True
            self._take(data)
        return event

    def _ready(self) -> Any:
        """The next event in the bytes received; NEED_DATA, PAUSED or EndOfMessage as h11 says."""
        try:
            return self._http.next_event()
        except h11.RemoteProtocolError as error:
            raise ProtocolError(_shortened(str(error))) from error

    def _take(self, data: bytes) -> None:
        self._framing += len(data)
        self._check_framing()
        try:
            self._http.receive_data(data)
        except h11.RemoteProtocolError as error:
            raise ProtocolError(_shortened(str(error))) from error

    def _check_framing(self) -> None:
        if self._framing > FREE_FRAMING + MOST_FRAMING * self._body:
            raise ProtocolError("the chunks of the body hold hardly any of it")

    def is_reusable(self) -> bool:
        """Whether the connection can take another request: the reply has ended, even if not all of it was read, and
        nothing follows it that would be taken for the next reply."""
        http = self._http
        try:
            for _ in range(MOST_DRAINED):
                if http.their_state is not h11.SEND_BODY:
                    break
                if http.next_event() is h11.NEED_DATA:
                    if not (data := self.connection.unread()):
                        return False
                    http.receive_data(data)
        except h11.RemoteProtocolError:
            return False
        done = http.our_state is h11.DONE and http.their_state is h11.DONE
        return done and not self._doubtful and not self.has_more()

    def has_more(self) -> bool:
        """Whether the connection has ended, or has received more than the reply."""
        return bool(self._http.trailing_data[0]) or not self.connection.is_quiet()

    def start_next(self) -> None:
        """Prepares the next exchange."""
        self._http.start_next_cycle()
        self.heard = self._over = False
        self._framing = self._body = 0


def _shortened(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "..."


async def _pieces_of(body: bytes | AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    if isinstance(body, bytes):
        for start in range(0, len(body), TOGETHER):
            yield body[start : start + TOGETHER]
    else:
        async for piece in body:
            yield piece
