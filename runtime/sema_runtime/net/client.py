"""Sends requests and follows redirects: the only module that imports httpx, and only when a request is made.

httpx builds the requests; the bytes go over connections of our own (exchange.py, link.py), which are kept and used
again. Redirects are followed (redirects.py) and bodies unpacked (decoding.py) by rules of our own, too. What can go
wrong is a `Failure`.
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

from sema_runtime.net.connection import Link, opened
from sema_runtime.net.decoding import Unpacked, coding_of
from sema_runtime.net.failures import CONNECT_MS, IDLE_MS, Failure, cause_of, timed_out
from sema_runtime.net.http1 import Broken, Exchanges
from sema_runtime.net.messages import Part, Request, checked_header
from sema_runtime.net.proxies import Proxy, proxy_for, tunnelled
from sema_runtime.net.redirects import PORTS, checked_url, following
from sema_runtime.net.tls import tls_context

MAX_IDLE = 512  # connections that are kept for later
IDLE_SECONDS = 5.0  # for which they are kept
REPEATABLE = frozenset(("GET", "HEAD", "OPTIONS", "PUT", "DELETE", "QUERY"))  # twice is as once: RFC 9110, 9.2.2
MOST_REQUESTS = 2048  # that wait for a reply at once, and as many streams; the others wait for their turn
ENOUGH_FILES = 8192  # that a process may open: each request needs one
DEFAULTS = {"accept": "*/*", "accept-encoding": "gzip, deflate", "connection": "keep-alive", "user-agent": "semac"}


class Origin(NamedTuple):
    """Where a connection leads. proxy: through which one. reach: what its address was checked for."""

    scheme: str
    host: str
    port: int
    proxy: Proxy | None
    reach: str


@asynccontextmanager
async def answered(request: Request) -> AsyncIterator[Answer]:
    """The response to a request, its body unread. Raises Failure, or what failure_of understands."""
    answer = await _followed(connections().transport, _built(request), request.redirects)
    try:
        yield answer
    finally:
        answer.close()


_url = lru_cache(64)(checked_url)  # programs ask the same address again and again


def _built(request: Request) -> httpx.Request:
    given = [checked_header(name, value) for name, value in request.headers]
    names = {name.lower() for name, _ in given}
    headers = [(name, value) for name, value in DEFAULTS.items() if name not in names] + given
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


async def _followed(transport: Transport, request: httpx.Request, redirects: int) -> Answer:
    """The response to a request, or to the last of those that it was redirected to."""
    answer = await transport.answer(request)
    for _ in range(redirects):
        following = answer.following()
        if following is None:
            return answer
        answer = await transport.answer(following)
    if redirects and answer.following() is not None:
        raise Failure("redirect", f"more than {redirects} redirects")
    return answer


class Answer:
    """A reply. `await read()` gives the next piece of its body, unpacked, b"" at the end; then `close`.

    headers: names in lower case. coding: what the body is packed in, "" for nothing.
    """

    def __init__(
        self, transport: Transport, origin: Origin, exchanges: Exchanges, request: httpx.Request, status: int
    ) -> None:
        self.request = request
        self.status = status
        self.headers: list[tuple[str, str]] = []
        self.coding = ""
        self._unpacked: Unpacked | None = None
        self._transport = transport
        self._origin = origin
        self._exchanges = exchanges
        self._open = True

    def header(self, name: str) -> str:
        """The first header of that name, "" without one."""
        return next((value for given, value in self.headers if given == name), "")

    def unpack(self, most: int | None = None) -> None:
        """Has `read` unpack the body. most: bytes that it may have before that. Raises Failure for several codings."""
        self.coding = coding_of(self.headers)
        if self.coding:
            self._unpacked = Unpacked(self._raw, self.coding, most)

    async def read(self) -> bytes:
        return await (self._raw() if self._unpacked is None else self._unpacked.read())

    def following(self) -> httpx.Request | None:
        """What it redirects to; then this reply is closed."""
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
            return await self._exchanges.piece()
        except (OSError, Broken) as error:
            raise _failure(error) from error

    def close(self) -> None:
        """Gives its connection back."""
        if self._open:
            self._open = False
            self._transport.give_back(self._origin, self._exchanges)


class Transport:
    """Our connections. Those of an origin are used last in, first out; what was idle for long is closed when another
    request ends."""

    def __init__(self) -> None:
        self._idle: dict[Origin, list[tuple[float, Exchanges]]] = {}  # since when; the oldest first
        self._count = 0

    async def answer(self, request: httpx.Request) -> Answer:
        """The reply to one request, whatever it says. Raises Failure."""
        url = request.url
        port = url.port or PORTS[url.scheme]
        origin = Origin(url.scheme, url.host, port, proxy_for(url.scheme, url.host, port), request.extensions["reach"])
        exchanges = self._take(origin)
        if exchanges is not None:
            try:
                return await self._exchanged(origin, exchanges, request)
            except Failure as failure:
                if failure.kind != "broken" or exchanges.heard or not request.extensions["repeatable"]:
                    raise  # else the server hung up on what was idle just when it was used again
        exchanges = Exchanges(await _connected(origin))
        return await self._exchanged(origin, exchanges, request)

    async def _exchanged(self, origin: Origin, exchanges: Exchanges, request: httpx.Request) -> Answer:
        target, headers = request.url.raw_path, request.headers.raw
        if origin.proxy is not None and origin.scheme == "http":
            target = b"http://" + request.url.netloc + target
            headers = [*headers, *origin.proxy.headers()]
        body = request.stream
        content = await request.aread() if isinstance(body, httpx.ByteStream) else body
        exchanges.link.idle = request.extensions["idle"]
        try:
            await exchanges.send(request.method, target, headers, content)  # type: ignore[arg-type]
            status, received = await exchanges.head()
        except (OSError, Broken) as error:
            exchanges.link.close()
            raise _failure(error) from error
        except BaseException:
            exchanges.link.close()
            raise
        answer = Answer(self, origin, exchanges, request, status)
        answer.headers = [(name.lower().decode("latin-1"), _text(value)) for name, value in received]
        return answer

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


def _text(value: bytes) -> str:
    """The value of a header: UTF-8 where it is that, else Latin-1."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


async def _connected(origin: Origin) -> Link:
    tls = tls_context() if origin.scheme == "https" else None
    seconds = CONNECT_MS / 1000
    try:
        if origin.proxy is None:
            return await opened(origin.host, origin.port, tls, seconds, origin.reach)
        return await tunnelled(origin.proxy, origin.scheme, origin.host, origin.port, tls, seconds, origin.reach)
    except TimeoutError:
        raise timed_out(CONNECT_MS) from None
    except (OSError, Broken) as error:
        raise Failure("connect", cause_of(error) or str(error)) from error


def _failure(error: OSError | Broken) -> Failure:
    """What went wrong in an exchange, in our words."""
    if isinstance(error, TimeoutError):
        return timed_out(IDLE_MS)
    return Failure("broken", cause_of(error) or str(error) or type(error).__name__)


def failure_of(error: Exception) -> Failure:
    """What went wrong, in our words."""
    if isinstance(error, Failure):
        return error
    return Failure("broken", cause_of(error) or str(error) or type(error).__name__)


# One for each event loop


class Connections:
    def __init__(self) -> None:
        files = _open_files()
        self.turns = asyncio.Semaphore(max(16, min(files // 2, MOST_REQUESTS)))
        self.streams = asyncio.Semaphore(max(16, min(files // 4, MOST_REQUESTS)))
        self.transport = Transport()


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
