"""Requests to providers: JSON out, text or a stream of bytes back, errors as ProviderErrors."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from sema_runtime.llm.budgets import reservations
from sema_runtime.llm.errors import ProviderError, config_error, network_error, parse_error
from sema_runtime.net import http
from sema_runtime.net.addresses import PUBLIC
from sema_runtime.net.failures import Failure, timed_out
from sema_runtime.values.digits import small

TIMEOUT_MS = 120_000
MAX_BYTES = http.MAX_BYTES  # of a reply
LARGEST_TURNS = 1_000_000
MAX_REQUESTS = 200  # that wait for their reply at once, streams apart; the others wait for their turn

_public: set[str] = set()  # origins that must not resolve to an internal address

_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


class HttpReply(NamedTuple):
    """retry_after_ms: from the header of that name, None without one."""

    status: int
    text: str
    retry_after_ms: int | None


async def post(url: str, headers: dict[str, str], body: Any, timeout_ms: int | None = None) -> HttpReply:
    """Sends JSON and waits for the whole reply, whatever its status. Raises ProviderError when there is none.

    timeout_ms: for the request as a whole, from its turn on; None for 120 s.
    """
    request = _request(url, headers, body, TIMEOUT_MS if timeout_ms is None else timeout_ms)
    async with _turn():
        try:
            reply = await http.fetch(request)
        except Failure as failure:
            raise _translated(failure, url) from failure
    return _read(reply)


class ByteStream:
    """A reply that comes piece by piece: `await open()`, then `await pour(take)`, then `await close()`.

    Every wait is limited to 120 s: for the head, and for something new in the stream, which `advanced` tells of: a
    server that only says that it is alive doesn't extend it. Errors are ProviderErrors.
    """

    def __init__(self, url: str, headers: dict[str, str], body: Any) -> None:
        self.url = url
        self._stream = http.Stream(_request(url, headers, body, TIMEOUT_MS))
        self._timer: asyncio.Timeout | None = None  # while it is poured
        self._heard = 0.0  # when it was set
        self._size = 0

    async def open(self) -> HttpReply | None:
        """None when the server streams; the whole reply when its status is not 200, or a web page comes."""
        try:
            reply = await self._stream.open()
            page = (reply.header("content-type") or "").startswith("text/html")
            return _read(reply._replace(body=await self._stream.rest())) if page or reply.status != 200 else None
        except Failure as failure:
            raise _translated(failure, self.url) from failure

    async def pour(self, take: Callable[[bytes], Awaitable[None] | bool]) -> None:
        """As Stream.pour of net/http.py. Raises ProviderError too for a stream that has grown too large."""

        def counted(piece: bytes) -> Awaitable[None] | bool:
            self._size += len(piece)
            if self._size > MAX_BYTES:
                raise parse_error(f"the stream is longer than {MAX_BYTES} bytes")
            wanted = take(piece)
            return wanted if isinstance(wanted, bool) else self._unlimited(wanted)

        try:
            async with asyncio.timeout(TIMEOUT_MS / 1000) as self._timer:
                await self._stream.pour(counted)
        except TimeoutError:
            raise no_reply(self.url, TIMEOUT_MS) from None
        except Failure as failure:
            raise _translated(failure, self.url) from failure
        finally:
            self._timer = None

    async def _unlimited(self, wanted: Awaitable[None]) -> None:
        """Waits for the reader of the stream, whose time isn't the server's."""
        if self._timer is not None:
            self._timer.reschedule(None)
        await wanted
        self._heard = 0.0
        self.advanced()

    def advanced(self) -> None:
        """Notes that the stream has brought something new."""
        now = asyncio.get_running_loop().time()
        if self._timer is not None and now - self._heard > TIMEOUT_MS / 100_000:  # right to a hundredth
            self._heard = now
            self._timer.reschedule(now + TIMEOUT_MS / 1000)

    async def close(self) -> None:
        await self._stream.close()


def encode(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _request(url: str, headers: dict[str, str], body: Any, timeout_ms: int) -> http.Request:
    given = {"content-type": "application/json", **headers}
    is_reserved = reservations.is_required()  # a server that hangs up may bill: a repetition needs a new reservation
    return http.Request(
        "POST",
        url,
        list(given.items()),
        encode(body),
        timeout_ms,
        redirects=0,
        max_bytes=MAX_BYTES,
        repeatable=not is_reserved,
        reach=PUBLIC if _public and _origin(url).lower() in _public else "",
    )


def keep_public(url: str) -> None:
    """From now on requests to the origin of a URL go to public addresses only, whatever its name resolves to later."""
    _public.add(_origin(url).lower())


def _turn() -> asyncio.Semaphore:
    loop = asyncio.get_running_loop()
    turn = _turns.get(loop)
    if turn is None:
        turn = _turns[loop] = asyncio.Semaphore(_most_requests())
    return turn


def _most_requests() -> int:
    """MAX_REQUESTS, or what SEMA_LLM_CONCURRENCY says."""
    given = os.environ.get("SEMA_LLM_CONCURRENCY", "")
    return max(1, small(given, LARGEST_TURNS)) if given.isdecimal() else MAX_REQUESTS


def _translated(failure: Failure, url: str) -> ProviderError:
    if failure.kind == "connect":
        return network_error(f"could not connect to {_origin(url)} ({failure.reason})")
    if failure.kind == "timeout":
        return network_error(f"no reply from {_origin(url)} within {failure.ms / 1000:g} s", maybe_billed=True)
    if failure.kind == "url":
        return config_error(f"invalid URL {url!r}: {failure.reason}")
    if failure.kind == "address":
        return config_error(f"{failure.reason}; the sandbox forbids that")
    if failure.kind == "header":
        return config_error(f"{failure.reason} (is the key pasted right?)")
    return network_error(f"{_origin(url)}: {failure.reason}", maybe_billed=True)


def no_reply(url: str, timeout_ms: float) -> ProviderError:
    """The error for a reply that has taken too long."""
    return _translated(timed_out(timeout_ms), url)


def _origin(url: str) -> str:
    """Scheme, host and port; never the path or a key in it."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _read(reply: http.Reply) -> HttpReply:
    return HttpReply(reply.status, reply.text(), _retry_after(reply))


def _retry_after(reply: http.Reply) -> int | None:
    """Milliseconds; the header says seconds or a date."""
    text = reply.header("retry-after-ms")
    try:
        if text is not None:
            return max(0, int(float(text)))
        text = reply.header("retry-after")
        return None if text is None else max(0, int(float(text) * 1000))
    except (ValueError, OverflowError):
        return _until(text)


def _until(date: str | None) -> int | None:
    from email.utils import parsedate_to_datetime
    from time import time

    try:
        return max(0, int((parsedate_to_datetime(date or "").timestamp() - time()) * 1000))
    except (ValueError, TypeError):
        return None
