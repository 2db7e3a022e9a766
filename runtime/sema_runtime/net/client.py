"""Sends requests and follows redirects: the only module that imports httpx, and only when a request is made.

httpx builds the requests, follows redirects and decodes bodies; the bytes go over connections of our own
(exchange.py, link.py), which are kept and used again. What can go wrong is a `Failure`.
"""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache, lru_cache
from math import inf
from time import monotonic
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import httpx

from sema_runtime.net.exchange import Broken, Exchanges
from sema_runtime.net.failures import CONNECT_MS, IDLE_MS, Failure, cause_of, timed_out
from sema_runtime.net.http import Part, Request, checked_header
from sema_runtime.net.link import Link, opened
from sema_runtime.net.proxies import Proxy, proxy_for, tunnelled

MAX_IDLE = 512  # connections that are kept for later
IDLE_SECONDS = 5.0  # for which they are kept
REPEATABLE = frozenset(("GET", "HEAD", "OPTIONS", "PUT", "DELETE", "QUERY"))  # twice is as once: RFC 9110, 9.2.2
MOST_REQUESTS = 2048  # that wait for a reply at once, and as many streams; the others wait for their turn
ENOUGH_FILES = 8192  # that a process may open: each request needs one
DEFAULTS = {"accept": "*/*", "accept-encoding": "gzip, deflate", "connection": "keep-alive", "user-agent": "semac"}


class Origin(NamedTuple):
    """Where a connection leads. proxy: through which one."""

    scheme: str
    host: str
    port: int
    proxy: Proxy | None


@asynccontextmanager
async def answered(request: Request) -> AsyncIterator[httpx.Response]:
    """The response to a request, its body unread. Raises Failure, or what failure_of understands."""
    response = await _followed(connections(), _built(request), request.redirects)
    try:
        yield response
    finally:
        await response.aclose()


@lru_cache(64)
def _url(text: str) -> httpx.URL:
    """Taken apart; programs ask the same address again and again."""
    url = httpx.URL(text)
    if url.scheme not in ("http", "https") or not url.host:
        raise Failure("url", "it must start with http:// or https:// and a host")
    if url.port is not None and not 0 < url.port < 65536:
        raise Failure("url", f"there is no port {url.port}")
    return url


def _built(request: Request) -> httpx.Request:
    given = [checked_header(name, value) for name, value in request.headers]
    names = {name.lower() for name, _ in given}
    headers = [(name, value) for name, value in DEFAULTS.items() if name not in names] + given
    idle = None if request.timeout_ms is not None else IDLE_MS / 1000  # limited by the caller otherwise
    parts = request.body if isinstance(request.body, list) else None
    return httpx.Request(
        request.method,
        _url(request.url),
        headers=headers,
        content=None if isinstance(request.body, list) else request.body,
        files=[_field(part) for part in parts] if parts else None,
        extensions={
            "timeout": {"connect": CONNECT_MS / 1000, "read": idle, "write": idle, "pool": None},
            "repeatable": request.repeatable or request.method in REPEATABLE,
        },
    )


def _field(part: Part) -> tuple[str, Any]:
    return part.name, (part.filename, part.content, part.content_type)


async def _followed(here: Connections, request: httpx.Request, redirects: int) -> httpx.Response:
    """The response to a request, or to the last of those that it was redirected to."""
    if not redirects and not request.url.userinfo:  # then there is nothing that a client would add
        response = await here.transport.handle_async_request(request)
        response.request = request
        return response
    response = await here.client.send(request, stream=True)
    for _ in range(redirects):
        following = response.next_request
        if following is None:
            return response
        await response.aclose()
        response = await here.client.send(following, stream=True)
    if redirects and response.next_request is not None:
        await response.aclose()
        raise Failure("redirect", f"more than {redirects} redirects")
    return response


class NoCookies(httpx.Cookies):
    """What one reply sets, a later request doesn't send."""

    def extract_cookies(self, response: httpx.Response) -> None:
        pass


class Client(httpx.AsyncClient):
    cookies = NoCookies()  # type: ignore[override]  # a property there


class Transport(httpx.AsyncBaseTransport):
    """Our connections as httpx sees them. Those of an origin are used last in, first out; what was idle for long is
    closed when another request ends."""

    def __init__(self) -> None:
        self._idle: dict[Origin, list[tuple[float, Exchanges]]] = {}  # since when; the oldest first
        self._count = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        if url.scheme not in ("http", "https"):  # of a redirect
            raise Failure("url", f"it leads to {url.scheme}:, not http or https")
        port = url.port or (443 if url.scheme == "https" else 80)
        origin = Origin(url.scheme, url.host, port, proxy_for(url.scheme, url.host, port))
        limits = request.extensions["timeout"]
        exchanges = self._take(origin)
        if exchanges is not None:
            try:
                return await self._exchanged(origin, exchanges, request, limits["read"])
            except Failure as failure:
                if failure.kind != "broken" or exchanges.heard or not request.extensions.get("repeatable"):
                    raise  # else the server hung up on what was idle just when it was used again
        exchanges = Exchanges(await _connected(origin, limits["connect"]))
        return await self._exchanged(origin, exchanges, request, limits["read"])

    async def _exchanged(
        self, origin: Origin, exchanges: Exchanges, request: httpx.Request, idle: float | None
    ) -> httpx.Response:
        target, headers = request.url.raw_path, request.headers.raw
        if origin.proxy is not None and origin.scheme == "http":
            target = b"http://" + request.url.netloc + target
            headers = [*headers, *origin.proxy.headers()]
        body = request.stream
        content = await request.aread() if isinstance(body, httpx.ByteStream) else body
        exchanges.link.idle = idle
        try:
            await exchanges.send(request.method, target, headers, content)  # type: ignore[arg-type]
            status, received = await exchanges.head()
        except (OSError, Broken) as error:
            exchanges.link.close()
            raise _failure(error) from error
        except BaseException:
            exchanges.link.close()
            raise
        return httpx.Response(status, headers=received, stream=Body(self, origin, exchanges))

    def _take(self, origin: Origin) -> Exchanges | None:
        """An idle connection that is still open."""
        kept = self._idle.get(origin)
        while kept:
            since, exchanges = kept.pop()
            self._count -= 1
            if not kept:
                del self._idle[origin]
            if monotonic() - since < IDLE_SECONDS and exchanges.link.is_still_open():
                return exchanges
            exchanges.link.close()
        return None

    def give_back(self, origin: Origin, exchanges: Exchanges) -> None:
        now = monotonic()
        if exchanges.can_go_on() and self._count < MAX_IDLE:
            exchanges.go_on()
            self._idle.setdefault(origin, []).append((now, exchanges))
            self._count += 1
        else:
            exchanges.link.close()
        self.close_idle(now - IDLE_SECONDS)

    def close_idle(self, before: float = inf) -> None:
        """Closes the connections that have been idle since before that time."""
        for origin, kept in list(self._idle.items()):
            while kept and kept[0][0] <= before:
                self._count -= 1
                kept.pop(0)[1].link.close()
            if not kept:
                del self._idle[origin]


class Body(httpx.AsyncByteStream):
    """The body of a reply; its connection is given back when it is closed."""

    def __init__(self, transport: Transport, origin: Origin, exchanges: Exchanges) -> None:
        self._transport = transport
        self._origin = origin
        self._exchanges = exchanges
        self._open = True

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._exchanges.pieces():
                yield piece
        except (OSError, Broken) as error:
            raise _failure(error) from error

    async def aclose(self) -> None:
        if self._open:
            self._open = False
            self._transport.give_back(self._origin, self._exchanges)


async def _connected(origin: Origin, seconds: float) -> Link:
    tls = tls_context() if origin.scheme == "https" else None
    try:
        if origin.proxy is None:
            return await opened(origin.host, origin.port, tls, seconds)
        return await tunnelled(origin.proxy, origin.scheme, origin.host, origin.port, tls, seconds)
    except TimeoutError:
        raise timed_out(CONNECT_MS) from None
    except OSError as error:
        raise Failure("connect", cause_of(error) or str(error)) from error


def _failure(error: OSError | Broken) -> Failure:
    """What went wrong in an exchange, in our words."""
    if isinstance(error, TimeoutError):
        return timed_out(IDLE_MS)
    return Failure("broken", cause_of(error) or str(error) or type(error).__name__)


def failure_of(error: Exception) -> Failure:
    """What went wrong, in our words, with what httpx raises."""
    if isinstance(error, Failure):
        return error
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
        return Failure("url", str(error))
    return Failure("broken", cause_of(error) or str(error) or type(error).__name__)


# One for each event loop


class Connections:
    def __init__(self) -> None:
        files = _open_files()
        self.turns = asyncio.Semaphore(max(16, min(files // 2, MOST_REQUESTS)))
        self.streams = asyncio.Semaphore(max(16, min(files // 4, MOST_REQUESTS)))
        self.transport = Transport()
        self.client = Client(transport=self.transport, trust_env=False)


_connections: WeakKeyDictionary[asyncio.AbstractEventLoop, Connections] = WeakKeyDictionary()


def connections() -> Connections:
    """Those of the running loop."""
    loop = asyncio.get_running_loop()
    found = _connections.get(loop)
    if found is None:
        found = _connections[loop] = Connections()
        atexit.register(_close, loop)
    return found


def _close(loop: asyncio.AbstractEventLoop) -> None:
    """Closes the connections of a loop of ours; a host closes its own."""
    found = _connections.pop(loop, None)
    if found is not None and not loop.is_closed() and not loop.is_running():
        found.transport.close_idle()


def _open_files() -> int:
    """How many files the process may open, after that was raised as far as the system lets it be."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit, setrlimit
    except ImportError:  # Windows
        return 1024
    soft, hard = getrlimit(RLIMIT_NOFILE)
    if soft == RLIM_INFINITY:
        return ENOUGH_FILES
    wanted = ENOUGH_FILES if hard == RLIM_INFINITY else min(hard, ENOUGH_FILES)
    if soft < wanted:
        try:
            setrlimit(RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (ValueError, OSError):  # forbidden after all
            return soft
    return soft


@cache
def tls_context() -> Any:
    """What certificates are checked with: an ssl.SSLContext."""
    context = httpx.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
