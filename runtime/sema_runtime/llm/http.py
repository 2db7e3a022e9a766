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
LARGEST_SETTING = 1_000_000
MAX_REQUESTS = 200  # concurrent requests, streams apart; further ones wait

_public: set[str] = set()  # origins that must not resolve to internal addresses

_slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


class HttpReply(NamedTuple):
    """retry_after_ms: from the header of that name, None without one."""

    status: int
    text: str
    retry_after_ms: int | None


async def post(url: str, headers: dict[str, str], body: Any, timeout_ms: int | None = None) -> HttpReply:
    """Sends JSON and returns the whole reply, whatever its status. Raises ProviderError when there is none.

    timeout_ms: for the whole request, once it is sent; None for 120 s.
    """
    request = _request(url, headers, body, TIMEOUT_MS if timeout_ms is None else timeout_ms)
    async with _slot():
        try:
            reply = await http.fetch(request)
        except Failure as failure:
            raise _translated(failure, url) from failure
    return _read(reply)


class ByteStream:
    """A reply that comes piece by piece: `await open()`, then `await pour(take)`, then `await close()`.

    Every wait is limited to 120 s: for the head, and for new content, which `advanced` reports; keep-alive messages
    don't extend it. Errors are ProviderErrors.
    """

    def __init__(self, url: str, headers: dict[str, str], body: Any) -> None:
        self.url = url
        self._stream = http.Stream(_request(url, headers, body, TIMEOUT_MS))
        self._timer: asyncio.Timeout | None = None  # while the stream is read
        self._advanced_at = 0.0  # when the timer was set
        self._size = 0

    async def open(self) -> HttpReply | None:
        """Returns None when the server streams; the whole reply when its status is not 200, or it is a web page."""
        try:
            reply = await self._stream.open()
            page = (reply.header("content-type") or "").startswith("text/html")
            return _read(reply._replace(body=await self._stream.rest())) if page or reply.status != 200 else None
        except Failure as failure:
            raise _translated(failure, self.url) from failure

    async def pour(self, take: Callable[[bytes], Awaitable[None] | bool]) -> None:
        """Reads the stream as Stream.pour of net/http.py does. Raises ProviderError, also for too large a stream."""

        def counted(piece: bytes) -> Awaitable[None] | bool:
            self._size += len(piece)
            if self._size > MAX_BYTES:
                raise parse_error(f"the stream is longer than {MAX_BYTES} bytes")
            result = take(piece)
            return result if isinstance(result, bool) else self._unlimited(result)

        try:
            async with asyncio.timeout(TIMEOUT_MS / 1000) as self._timer:
                await self._stream.pour(counted)
        except TimeoutError:
            raise no_reply(self.url, TIMEOUT_MS) from None
        except Failure as failure:
            raise _translated(failure, self.url) from failure
        finally:
            self._timer = None

    async def _unlimited(self, room: Awaitable[None]) -> None:
        """Waits for the reader of the stream, which does not count against the server."""
        if self._timer is not None:
            self._timer.reschedule(None)
        await room
        self._advanced_at = 0.0
        self.advanced()

    def advanced(self) -> None:
        """Extends the wait: the stream brought new content."""
        now = asyncio.get_running_loop().time()
        if self._timer is not None and now - self._advanced_at > TIMEOUT_MS / 100_000:  # exact to a hundredth
            self._advanced_at = now
            self._timer.reschedule(now + TIMEOUT_MS / 1000)

    async def close(self) -> None:
        await self._stream.close()


def encode(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _request(url: str, headers: dict[str, str], body: Any, timeout_ms: int) -> http.Request:
    all_headers = {"content-type": "application/json", **headers}
    is_reserved = reservations.is_required()  # a server that hangs up may bill: a repetition needs a new reservation
    return http.Request(
        "POST",
        url,
        list(all_headers.items()),
        encode(body),
        timeout_ms,
        redirects=0,
        max_bytes=MAX_BYTES,
        repeatable=not is_reserved,
        reach=PUBLIC if _public and _origin(url).lower() in _public else "",
    )


def require_public_address(url: str) -> None:
    """Limits requests to the origin of a URL to public addresses, whatever its name resolves to later."""
    _public.add(_origin(url).lower())


def _slot() -> asyncio.Semaphore:
    loop = asyncio.get_running_loop()
    slot = _slots.get(loop)
    if slot is None:
        slot = _slots[loop] = asyncio.Semaphore(_most_requests())
    return slot


def _most_requests() -> int:
    """Returns SEMA_LLM_CONCURRENCY, or MAX_REQUESTS."""
    setting = os.environ.get("SEMA_LLM_CONCURRENCY", "")
    return max(1, small(setting, LARGEST_SETTING)) if setting.isdecimal() else MAX_REQUESTS


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
    """Returns the error for a reply that took too long."""
    return _translated(timed_out(timeout_ms), url)


def _origin(url: str) -> str:
    """Returns scheme, host and port, without the path and a key in it."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _read(reply: http.Reply) -> HttpReply:
    return HttpReply(reply.status, reply.text(), _retry_after(reply))


def _retry_after(reply: http.Reply) -> int | None:
    """Returns milliseconds; the header has seconds or a date."""
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
