"""HTTP/1.1 over one connection: a request out, a reply back, as often as both sides keep it open. h11 speaks it.

httpx's own transport takes four times as long for an exchange, and those that are under way at the same time go on in
turns, a step each, so that all of them end late (docs/decisions.md, "HTTP connections").
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

import h11

from sema_runtime.net.link import Link

MOST_HEAD = 100 * 1024  # bytes of a reply's status line and headers
TOGETHER = 1 << 16  # bytes of a body that leave in one packet with the headers

Headers = list[tuple[bytes, bytes]]


class Broken(Exception):
    """The server said something else than HTTP, or nothing."""


class Exchanges:
    """Those of one link. For each: `await send(...)`, `await head()`, `pieces()`; `go_on()` if it `can_go_on()`."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST_HEAD)
        self.heard = False  # whether anything has come for this request

    async def send(self, method: str, target: bytes, headers: Headers, body: bytes | AsyncIterable[bytes]) -> None:
        """Stops early when the server answers before it has taken everything."""
        try:
            data = self._http.send(h11.Request(method=method, target=target, headers=headers)) or b""
            if isinstance(body, bytes) and len(body) <= TOGETHER:
                data += (self._http.send(h11.Data(data=body)) or b"") if body else b""
                data += self._http.send(h11.EndOfMessage()) or b""
                await self.link.write(data)
                return
            going_on = await self.link.write(data)
            async for piece in _pieces_of(body):
                if not going_on:
                    return
                going_on = await self.link.write(self._http.send(h11.Data(data=piece)) or b"")
            await self.link.write(self._http.send(h11.EndOfMessage()) or b"")
        except h11.LocalProtocolError as error:
            raise Broken(str(error)) from error

    async def head(self) -> tuple[int, Headers]:
        """The status and the headers of the reply; those of interim replies (100, 103) are passed over."""
        while True:
            event = await self._event()
            if type(event) is h11.Response or (type(event) is h11.InformationalResponse and event.status_code == 101):
                return event.status_code, event.headers.raw_items()

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        while True:
            event = await self._event()
            if type(event) is h11.Data:
                yield bytes(event.data)
            elif type(event) in (h11.EndOfMessage, h11.PAUSED):
                return

    async def _event(self) -> Any:
        http = self._http
        try:
            while (event := http.next_event()) is h11.NEED_DATA:
                data = await self.link.read()
                if not data and not self.heard:
                    raise Broken("Server disconnected without sending a response.")
                self.heard = True
                http.receive_data(data)
        except h11.RemoteProtocolError as error:
            raise Broken(str(error)) from error
        return event

    def can_go_on(self) -> bool:
        """Whether the connection can take another request: the reply has come to its end, if not all of it was read."""
        http = self._http
        try:
            while http.their_state is h11.SEND_BODY:
                if http.next_event() is h11.NEED_DATA:
                    if not (data := self.link.unread()):
                        return False
                    http.receive_data(data)
        except h11.RemoteProtocolError:
            return False
        return http.our_state is h11.DONE and http.their_state is h11.DONE and self.link.is_quiet()

    def go_on(self) -> None:
        self._http.start_next_cycle()
        self.heard = False


async def _pieces_of(body: bytes | AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    if isinstance(body, bytes):
        for start in range(0, len(body), TOGETHER):
            yield body[start : start + TOGETHER]
    else:
        async for piece in body:
            yield piece
