"""The network: the only module that imports httpx, and only when a request is made.

Coroutines, to be waited for with `tasks.suspend`: inside a task only that task stops, elsewhere the program does.
Proxies come from HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from sema_runtime.llm.errors import ProviderError, config_error, network_error

TIMEOUT_MS = 120_000
MAX_REQUESTS = 128  # that wait for their reply at once, streams apart; the others wait for their turn

_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()
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
    limit = TIMEOUT_MS if timeout_ms is None else timeout_ms
    try:
        async with _turn(), asyncio.timeout(limit / 1000):
            reply = await _client().post(url, headers=_with_type(headers), content=encode(body))
    except TimeoutError:
        raise network_error(f"no reply from {_origin(url)} within {limit / 1000:g} s") from None
    except Exception as error:
        raise _translated(error, url) from error
    return HttpReply(reply.status_code, reply.text, _retry_after(reply.headers))


@asynccontextmanager
async def _opened(url: str, headers: dict[str, str], body: Any) -> AsyncIterator[Any]:
    async with _client().stream("POST", url, headers=_with_type(headers), content=encode(body)) as reply:
        yield reply


class ByteStream:
    """A reply read piece by piece: `await open()`, then `await read()` until b"", then `await close()`.

    Every wait is limited to 120 s. Errors are ProviderErrors.
    """

    def __init__(self, url: str, headers: dict[str, str], body: Any) -> None:
        self.url = url
        self._context = _opened(url, headers, body)
        self._pieces: AsyncIterator[bytes] | None = None

    async def open(self) -> HttpReply | None:
        """None when the server streams; the whole reply when its status is not 200."""
        try:
            reply = await asyncio.wait_for(self._context.__aenter__(), TIMEOUT_MS / 1000)
            if reply.status_code != 200:
                await reply.aread()
                return HttpReply(reply.status_code, reply.text, _retry_after(reply.headers))
        except Exception as error:
            raise _translated(error, self.url) from error
        self._pieces = reply.aiter_bytes()
        return None

    async def read(self) -> bytes:
        assert self._pieces is not None
        try:
            return await anext(self._pieces, b"")
        except Exception as error:
            raise _translated(error, self.url) from error

    async def close(self) -> None:
        if self._pieces is not None:
            await self._pieces.aclose()  # type: ignore[attr-defined]
        await self._context.__aexit__(None, None, None)


def encode(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _with_type(headers: dict[str, str]) -> dict[str, str]:
    return {"content-type": "application/json", "user-agent": "semac", **headers}


def _client() -> Any:
    """The client of the running loop: connections are kept and reused."""
    import httpx

    loop = asyncio.get_running_loop()
    client = _clients.get(loop)
    if client is None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=32)
        client = _clients[loop] = httpx.AsyncClient(limits=limits, timeout=TIMEOUT_MS / 1000)
        atexit.register(_close, loop)
    return client


def _close(loop: asyncio.AbstractEventLoop) -> None:
    """Closes the client of a loop of ours; a host closes its own."""
    client = _clients.pop(loop, None)
    if client is not None and not loop.is_closed() and not loop.is_running():
        loop.run_until_complete(client.aclose())


def _turn() -> asyncio.Semaphore:
    loop = asyncio.get_running_loop()
    turn = _turns.get(loop)
    if turn is None:
        turn = _turns[loop] = asyncio.Semaphore(MAX_REQUESTS)
    return turn


def _translated(error: Exception, url: str) -> ProviderError:
    import httpx

    if isinstance(error, ProviderError):
        return error
    if isinstance(error, httpx.ConnectError):
        return network_error(f"could not connect to {_origin(url)}{_cause(error)}")
    if isinstance(error, httpx.TimeoutException | TimeoutError):
        return network_error(f"no reply from {_origin(url)} within {TIMEOUT_MS / 1000:g} s")
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
        return config_error(f"invalid URL {url!r}: {error}")
    if isinstance(error, httpx.HTTPError | OSError):
        return network_error(f"{_origin(url)}: {str(error) or type(error).__name__}")
    if isinstance(error, UnicodeEncodeError):
        return config_error("a header holds characters that can't be sent (is the key pasted right?)")
    return config_error(f"{type(error).__name__}: {error}")


def _cause(error: BaseException) -> str:
    """The operating system's reason behind a failed connection, in brackets."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        if isinstance(cause, OSError) and cause.errno:
            return f" ({os.strerror(cause.errno) if cause.errno > 0 else cause.strerror})"
        cause = cause.__cause__ or cause.__context__
    return ""


def _origin(url: str) -> str:
    """Scheme, host and port; never the path or a key in it."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _retry_after(headers: Any) -> int | None:
    """Milliseconds; the header says seconds or a date."""
    text = headers.get("retry-after-ms")
    try:
        if text is not None:
            return max(0, int(float(text)))
        text = headers.get("retry-after")
        return None if text is None else max(0, int(float(text) * 1000))
    except (ValueError, OverflowError):
        return _until(text)


def _until(date: str) -> int | None:
    from email.utils import parsedate_to_datetime
    from time import time

    try:
        return max(0, int((parsedate_to_datetime(date).timestamp() - time()) * 1000))
    except (ValueError, TypeError):
        return None
