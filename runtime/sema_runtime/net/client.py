"""Sends requests and follows redirects. httpx is imported here, when the first request is made.

httpx builds the requests. The bytes go over connections from connection.py and http1.py, which are pooled and reused;
redirects.py has the rules of redirects, decoding.py unpacks bodies. Errors are `Failure`s.
"""

from __future__ import annotations

import asyncio
import atexit
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from math import inf
from time import monotonic
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import httpx

from sema_runtime.net.connection import Connection, connect
from sema_runtime.net.decoding import Unpacked, coding_of
from sema_runtime.net.failures import CONNECT_MS, IDLE_MS, Failure, cause_of, timed_out
from sema_runtime.net.http1 import Http1, ProtocolError
from sema_runtime.net.messages import Part, Request, checked_header
from sema_runtime.net.proxies import Proxy, connect_through, proxy_for
from sema_runtime.net.redirects import PORTS, checked_url, following
from sema_runtime.net.tls import tls_context

MAX_IDLE = 512  # connections that are kept for later
IDLE_SECONDS = 5.0  # for which they are kept
REPEATABLE = frozenset(("GET", "HEAD", "OPTIONS", "PUT", "DELETE", "QUERY"))  # twice is as once: RFC 9110, 9.2.2
MOST_REQUESTS = 2048  # that wait for a reply at once, and as many streams; the others wait for their turn
ENOUGH_FILES = 8192  # that a process may open: each request needs one
DEFAULTS = {"accept": "*/*", "accept-encoding": "gzip, deflate", "connection": "keep-alive", "user-agent": "semac"}


class Origin(NamedTuple):
    """The destination of a connection. proxy: the proxy in between. reach: what its address was checked for."""

    scheme: str
    host: str
    port: int
    proxy: Proxy | None
    reach: str


@asynccontextmanager
async def open_reply(request: Request) -> AsyncIterator[OpenReply]:
    """The response to a request, its body unread. Raises Failure, or what failure_of understands."""
    answer = await _followed(connections().pool, _built(request), request.redirects)
    try:
        yield answer
    finally:
        answer.close()


_url = lru_cache(64)(checked_url)  # programs ask the same address again and again


def _built(request: Request) -> httpx.Request:
    own_headers = [checked_header(name, value) for name, value in request.headers]
    names = {name.lower() for name, _ in own_headers}
    headers = [(name, value) for name, value in DEFAULTS.items() if name not in names] + own_headers
    url = _url(request.url)
    if url.userinfo:
        if "authorization" not in names:
            headers.append(("authorization", _basic(url)))
        url = url.copy_with(userinfo=b"")
    idle = None if request.timeout_ms is not None else IDLE_MS / 1000  # limited by the caller otherwise
    parts = request.body if isinstance(request.body, list) else None
    return httpx.Request(
        request.method,
        url,
        headers=headers,
        content=None if isinstance(request.body, list) else request.body,
        files=[_field(part) for part in parts] if parts else None,
        extensions={
            "idle": idle,
            "repeatable": request.repeatable or request.method in REPEATABLE,
            "reach": request.reach,
        },
    )


def _field(part: Part) -> tuple[str, Any]:
    return part.name, (part.filename, part.content, part.content_type)


def _basic(url: httpx.URL) -> str:
    """The Authorization header for the user and the password in a URL."""
    return "Basic " + b64encode(f"{url.username}:{url.password}".encode()).decode()


async def _followed(pool: ConnectionPool, request: httpx.Request, redirects: int) -> OpenReply:
    """The response to a request, or to the last of those that it was redirected to."""
    answer = await pool.answer(request)
    for _ in range(redirects):
        following = answer.following()
        if following is None:
            return answer
        answer = await pool.answer(following)
    if redirects and answer.following() is not None:
        raise Failure("redirect", f"more than {redirects} redirects")
    return answer


class OpenReply:
    """A reply whose body is still to be read: `await read()` until b"", then `close()`.

    headers: names in lower case. coding: how the body is compressed, "" for not at all.
    """

    def __init__(self, pool: ConnectionPool, origin: Origin, http1: Http1, request: httpx.Request, status: int) -> None:
        self.request = request
        self.status = status
        self.headers: list[tuple[str, str]] = []
        self.coding = ""
        self._unpacked: Unpacked | None = None
        self._pool = pool
        self._origin = origin
        self._http1 = http1
        self._open = True

    def header(self, name: str) -> str:
        """The first header of that name, "" without one."""
        return next((value for header, value in self.headers if header == name), "")

    def unpack(self, most: int | None = None) -> None:
        """Makes `read` decompress the body. most: limit of compressed bytes. Raises Failure for several codings."""
        self.coding = coding_of(self.headers)
        if self.coding:
            self._unpacked = Unpacked(self._raw, self.coding, most)

    async def read(self) -> bytes:
        return await (self._raw() if self._unpacked is None else self._unpacked.read())

    def following(self) -> httpx.Request | None:
        """The request that it redirects to, None when it is no redirect. Closes this reply in the first case."""
        try:
            request = following(self.request, self.status, self.headers)
        except BaseException:
            self.close()
            raise
        if request is not None:
            self.close()
        return request

    async def _raw(self) -> bytes:
        try:
            return await self._http1.piece()
        except (OSError, ProtocolError) as error:
            raise _failure(error) from error

    def close(self) -> None:
        """Returns the connection to the pool."""
        if self._open:
            self._open = False
            self._pool.put_back(self._origin, self._http1)


class ConnectionPool:
    """Open connections by origin. The last one returned is used first. A connection that was idle for IDLE_SECONDS is
    closed when another request ends."""

    def __init__(self) -> None:
        self._idle: dict[Origin, list[tuple[float, Http1]]] = {}  # since when; the oldest first
        self._count = 0

    async def answer(self, request: httpx.Request) -> OpenReply:
        """The reply to one request, whatever it says. Raises Failure."""
        url = request.url
        port = url.port or PORTS[url.scheme]
        origin = Origin(url.scheme, url.host, port, proxy_for(url.scheme, url.host, port), request.extensions["reach"])
        http1 = self._take(origin)
        if http1 is not None:
            try:
                return await self._exchange(origin, http1, request)
            except Failure as failure:
                if failure.kind != "broken" or http1.heard or not request.extensions["repeatable"]:
                    raise  # else the server closed the idle connection just when it was used again
        http1 = Http1(await _connect(origin))
        return await self._exchange(origin, http1, request)

    async def _exchange(self, origin: Origin, http1: Http1, request: httpx.Request) -> OpenReply:
        target, headers = request.url.raw_path, request.headers.raw
        if origin.proxy is not None and origin.scheme == "http":
            target = b"http://" + request.url.netloc + target
            headers = [*headers, *origin.proxy.headers()]
        body = request.stream
        content = await request.aread() if isinstance(body, httpx.ByteStream) else body
        http1.connection.idle = request.extensions["idle"]
        try:
            await http1.send(request.method, target, headers, content)  # type: ignore[arg-type]
            status, received = await http1.head()
        except (OSError, ProtocolError) as error:
            http1.connection.close()
            raise _failure(error) from error
        except BaseException:
            http1.connection.close()
            raise
        answer = OpenReply(self, origin, http1, request, status)
        answer.headers = [(name.lower().decode("latin-1"), _text(value)) for name, value in received]
        return answer

    def _take(self, origin: Origin) -> Http1 | None:
        """Takes an idle connection that is still open from the pool; None without one."""
        kept = self._idle.get(origin)
        while kept:
            since, http1 = kept.pop()
            self._count -= 1
            if not kept:
                del self._idle[origin]
            if monotonic() - since < IDLE_SECONDS and http1.connection.is_still_open():
                return http1
            http1.connection.close()
        return None

    def put_back(self, origin: Origin, http1: Http1) -> None:
        now = monotonic()
        if http1.is_reusable() and self._count < MAX_IDLE:
            http1.start_next()
            self._idle.setdefault(origin, []).append((now, http1))
            self._count += 1
        else:
            http1.connection.close()
        self.close_idle(now - IDLE_SECONDS)

    def close_idle(self, before: float = inf) -> None:
        """Closes the connections that have been idle since before that time."""
        for origin, kept in list(self._idle.items()):
            while kept and kept[0][0] <= before:
                self._count -= 1
                kept.pop(0)[1].connection.close()
            if not kept:
                del self._idle[origin]


def _text(value: bytes) -> str:
    """The value of a header: UTF-8 where it is that, else Latin-1."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


async def _connect(origin: Origin) -> Connection:
    tls = tls_context() if origin.scheme == "https" else None
    seconds = CONNECT_MS / 1000
    try:
        if origin.proxy is None:
            return await connect(origin.host, origin.port, tls, seconds, origin.reach)
        return await connect_through(origin.proxy, origin.scheme, origin.host, origin.port, tls, seconds, origin.reach)
    except TimeoutError:
        raise timed_out(CONNECT_MS) from None
    except (OSError, ProtocolError) as error:
        raise Failure("connect", cause_of(error) or str(error)) from error


def _failure(error: OSError | ProtocolError) -> Failure:
    """The failure of an exchange."""
    if isinstance(error, TimeoutError):
        return timed_out(IDLE_MS)
    return Failure("broken", cause_of(error) or str(error) or type(error).__name__)


def failure_of(error: Exception) -> Failure:
    """The failure for an exception of a request."""
    if isinstance(error, Failure):
        return error
    return Failure("broken", cause_of(error) or str(error) or type(error).__name__)


# One for each event loop


class Connections:
    """What one event loop has open. turns: limits the requests at once, streams: the streams at once."""

    def __init__(self) -> None:
        files = _open_files()
        self.turns = asyncio.Semaphore(max(16, min(files // 2, MOST_REQUESTS)))
        self.streams = asyncio.Semaphore(max(16, min(files // 4, MOST_REQUESTS)))
        self.pool = ConnectionPool()


_connections: WeakKeyDictionary[asyncio.AbstractEventLoop, Connections] = WeakKeyDictionary()


def connections() -> Connections:
    """The connections of the running loop."""
    loop = asyncio.get_running_loop()
    of_loop = _connections.get(loop)
    if of_loop is None:
        of_loop = _connections[loop] = Connections()
        atexit.register(_close, loop)
    return of_loop


def _close(loop: asyncio.AbstractEventLoop) -> None:
    """Closes the connections of a loop that the scheduler made; a host closes its own loop."""
    of_loop = _connections.pop(loop, None)
    if of_loop is not None and not loop.is_closed() and not loop.is_running():
        of_loop.pool.close_idle()


def _open_files() -> int:
    """How many files the process may open, after raising that limit as far as the system allows."""
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
