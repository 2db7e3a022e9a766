"""HTTP requests: the only module that imports httpx, and only when a request is made.

`await fetch(request)` gives a whole reply; `Stream` one that is read piece by piece. Both are awaited with
`tasks.suspend`: inside a task only that task waits, elsewhere the program does; cancelling closes the connection.
What can go wrong is a `Failure`. Proxies come from HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY.

Connections are kept and reused, one httpx client each (`Connections`): the time that a pool of httpx's own takes grows
with the square of the requests under way.
"""

from __future__ import annotations

import asyncio
import atexit
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from math import inf
from time import monotonic
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

CONNECT_MS = 30_000  # the longest wait for a connection
IDLE_MS = 120_000  # the longest wait for the next piece of a reply
MAX_BYTES = 256 << 20  # of a body, after decompression
MAX_REDIRECTS = 10
MAX_IDLE = 512  # connections that are kept for later
IDLE_SECONDS = 5.0  # for which they are kept
REPEATABLE = frozenset(("GET", "HEAD", "OPTIONS", "PUT", "DELETE", "QUERY"))  # twice is as once: RFC 9110, 9.2.2
MOST_REQUESTS = 2048  # that wait for a reply at once, streams apart; the others wait for their turn
USER_AGENT = "semac"
METHOD_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~")
NAME_CHARACTERS = METHOD_CHARACTERS | frozenset("abcdefghijklmnopqrstuvwxyz")


class Failure(Exception):
    """A request without a reply.

    kind: url, header, connect, timeout, size, redirect, broken. reason: in words, without the URL.
    ms: the limit that passed, of a timeout.
    """

    def __init__(self, kind: str, reason: str, ms: float = 0) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.ms = ms


class Part(NamedTuple):
    """One field of a form. filename: None for a plain field."""

    name: str
    content: bytes
    filename: str | None = None
    content_type: str | None = None


class Request(NamedTuple):
    """body: the bytes to send, or the parts of a form (multipart/form-data).

    timeout_ms: for the request as a whole, from its turn on; None for IDLE_MS between two pieces of the reply.
    """

    method: str
    url: str
    headers: Sequence[tuple[str, str]] = ()
    body: bytes | list[Part] | None = None
    timeout_ms: float | None = None
    redirects: int = MAX_REDIRECTS
    max_bytes: int = MAX_BYTES


class Reply(NamedTuple):
    """headers: (name in lower case, value) as they came."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """The first header of that name."""
        return next((value for found, value in self.headers if found == name), None)

    def text(self) -> str:
        """The body in the charset that its type names, UTF-8 without one; bytes that don't fit become U+FFFD."""
        return decoded(self.body, self.header("content-type") or "")


async def fetch(request: Request) -> Reply:
    """Sends a request and waits for the whole reply, whatever its status. Raises Failure when there is none."""
    limit = request.timeout_ms
    try:
        async with (
            connections().turns,
            asyncio.timeout(None if limit is None else limit / 1000),
            _answered(request) as response,
        ):
            body = await _body(response, request.max_bytes)
            return Reply(response.status_code, response.headers.multi_items(), body)
    except TimeoutError:
        raise timed_out(limit or 0) from None
    except Failure:
        raise
    except Exception as error:
        raise failure_of(error) from error


class Stream:
    """A reply read piece by piece: `await open()`, then `await read()` until b"", then `await close()`.

    The request's timeout_ms limits each of the waits. Errors are Failures.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.limit = request.timeout_ms or IDLE_MS
        self._context = _answered(request._replace(timeout_ms=self.limit))
        self._response: Any = None
        self._pieces: AsyncIterator[bytes] | None = None

    async def open(self) -> Reply:
        """The status and the headers of the reply; its body is still to be read."""
        self._response = await self._waited(self._context.__aenter__())
        self._pieces = self._response.aiter_bytes()
        return Reply(self._response.status_code, self._response.headers.multi_items(), b"")

    async def read(self) -> bytes:
        """The next piece, b"" at the end."""
        assert self._pieces is not None
        return await self._waited(anext(self._pieces, b""))  # type: ignore[no-any-return]

    async def pour(self, take: Callable[[bytes], Awaitable[None] | bool]) -> None:
        """Hands each piece to take, instead of `read`, until take says False or the reply ends. What take wants awaited
        is awaited, without limit. Raises what take raises. One timer watches over all pieces, right to a hundredth of
        the limit."""
        raised: list[Exception] = []

        def guarded(piece: bytes) -> Awaitable[None] | bool:
            try:
                return take(piece)
            except Exception as error:
                raised.append(error)
                return False

        await self._waited(self._pour(guarded), limited=False)
        if raised:
            raise raised[0]

    async def _pour(self, take: Callable[[bytes], Awaitable[None] | bool]) -> None:
        assert self._pieces is not None
        clock = asyncio.get_running_loop().time
        limit = self.limit / 1000
        heard = clock()
        async with asyncio.timeout(limit) as timer:
            async for piece in self._pieces:
                wanted = take(piece)
                if wanted is False:
                    return
                if wanted is not True:
                    timer.reschedule(None)
                    await wanted
                    heard = 0.0
                now = clock()
                if now - heard > limit / 100:
                    heard = now
                    timer.reschedule(now + limit)

    async def rest(self) -> bytes:
        """The whole body, instead of `read`."""
        return await self._waited(_body(self._response, self.request.max_bytes))  # type: ignore[no-any-return]

    async def close(self) -> None:
        if self._pieces is not None:
            await self._pieces.aclose()  # type: ignore[attr-defined]
        if self._response is not None:
            response, self._response = self._response, None
            await response.aclose()
            await self._context.__aexit__(None, None, None)

    async def _waited(self, work: Any, limited: bool = True) -> Any:
        try:
            async with asyncio.timeout(self.limit / 1000 if limited else None):
                return await work
        except TimeoutError:
            raise timed_out(self.limit) from None
        except Failure:
            raise
        except Exception as error:
            raise failure_of(error) from error


# One request


@asynccontextmanager
async def _answered(request: Request) -> AsyncIterator[Any]:
    """The httpx response to a request, its body unread."""
    import httpx

    here = connections()
    url = httpx.URL(request.url)
    if url.scheme not in ("http", "https") or not url.host:
        raise Failure("url", "it must start with http:// or https:// and a host")
    if url.port is not None and not 0 < url.port < 65536:
        raise Failure("url", f"there is no port {url.port}")
    origin = (url.scheme, url.host, url.port)
    client, used = here.take(origin)
    complete = False
    try:
        try:
            response = await _followed(client, _built(client, request, url), request.redirects)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
            if not used or request.method not in REPEATABLE:
                raise
            await client.aclose()  # the server hung up on what was idle just when it was used again
            client = _new_client()
            response = await _followed(client, _built(client, request, url), request.redirects)
        try:
            yield response
            complete = True
        finally:
            await response.aclose()
    finally:
        await here.give_back(origin, client, complete)


def _built(client: Any, request: Request, url: Any) -> Any:
    import httpx

    parts = request.body if isinstance(request.body, list) else None
    form = [(part.name, (part.filename, part.content, part.content_type)) for part in parts or ()]
    idle = None if request.timeout_ms is not None else IDLE_MS / 1000  # limited by the caller otherwise
    return client.build_request(
        request.method,
        url,
        headers=[checked_header(name, value) for name, value in request.headers],
        content=None if parts is not None else request.body,
        files=form or None,
        timeout=httpx.Timeout(idle, connect=CONNECT_MS / 1000, pool=None),
    )


def checked_header(name: str, value: str) -> tuple[str, str]:
    """The header as it is sent. Raises Failure for one that can't be; the message doesn't show its value."""
    if not name or not NAME_CHARACTERS.issuperset(name):
        raise Failure("header", f"{name!r} can't be the name of a header")
    stripped = value.strip(" \t")
    if not (stripped.isascii() and stripped.replace("\t", " ").isprintable()):
        raise Failure("header", f"the header {name} holds characters that can't be sent")
    return name, stripped


async def _followed(client: Any, request: Any, redirects: int) -> Any:
    """The response to a request, or to the last of those that it was redirected to."""
    response = await client.send(request, stream=True)
    for _ in range(redirects):
        following = response.next_request
        if following is None:
            return response
        await response.aclose()
        response = await client.send(following, stream=True)
    if redirects and response.next_request is not None:
        await response.aclose()
        raise Failure("redirect", f"more than {redirects} redirects")
    return response


async def _body(response: Any, limit: int) -> bytes:
    announced = response.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limit and response.request.method != "HEAD":
        raise _too_large(limit)
    pieces: list[bytes] = []
    size = 0
    async for piece in response.aiter_bytes():
        size += len(piece)
        if size > limit:
            raise _too_large(limit)
        pieces.append(piece)
    return b"".join(pieces)


def _too_large(limit: int) -> Failure:
    return Failure("size", f"the body is larger than {limit} bytes")


# Connections


class Connections:
    """The connections of one event loop, each an httpx client that holds one. Those of an origin are used last in,
    first out; what was idle for long is closed when another request ends."""

    def __init__(self) -> None:
        self.idle: dict[Any, list[tuple[float, Any]]] = {}  # origin → since when, and the client; the oldest first
        self.count = 0
        self.turns = asyncio.Semaphore(_most_requests())

    def take(self, origin: Any) -> tuple[Any, bool]:
        """A client for an origin, and whether it was used before."""
        clients = self.idle.get(origin)
        if not clients:
            return _new_client(), False
        _, client = clients.pop()
        self.count -= 1
        if not clients:
            del self.idle[origin]
        return client, True

    async def give_back(self, origin: Any, client: Any, reusable: bool) -> None:
        now = monotonic()
        if reusable and self.count < MAX_IDLE:
            self.idle.setdefault(origin, []).append((now, client))
            self.count += 1
        else:
            await client.aclose()
        await self.close(now - IDLE_SECONDS)

    async def close(self, before: float = inf) -> None:
        """Closes the connections that have been idle since before that time."""
        for origin, clients in list(self.idle.items()):
            while clients and clients[0][0] <= before:
                _, client = clients.pop(0)
                self.count -= 1
                await client.aclose()
            if not clients and self.idle.get(origin) is clients:
                del self.idle[origin]


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
        loop.run_until_complete(found.close())


def _most_requests() -> int:
    """Half of the files that the process may open: each request needs one."""
    try:
        from resource import RLIMIT_NOFILE, getrlimit
    except ImportError:  # Windows
        return 512
    soft, _ = getrlimit(RLIMIT_NOFILE)
    return max(16, min(soft // 2, MOST_REQUESTS)) if soft > 0 else MOST_REQUESTS


def _new_client() -> Any:
    import httpx

    try:
        return _client_class()(
            verify=tls_context(),
            headers={"user-agent": USER_AGENT, "accept-encoding": "gzip, deflate"},
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1),
        )
    except Exception as error:
        raise Failure("connect", f"the proxy of the environment can't be used: {error}") from None


@cache
def tls_context() -> Any:
    """What certificates are checked with: an ssl.SSLContext."""
    import httpx

    return httpx.create_ssl_context()


@cache
def _client_class() -> Any:
    """httpx.AsyncClient without cookies: what one reply sets, a later request doesn't send."""
    import httpx

    class NoCookies(httpx.Cookies):
        def extract_cookies(self, response: httpx.Response) -> None:
            pass

    class Client(httpx.AsyncClient):
        cookies = NoCookies()  # type: ignore[override]  # a property there

    return Client


# Failures


def timed_out(ms: float) -> Failure:
    return Failure("timeout", f"timed out after {ms:g} ms", ms)


def failure_of(error: Exception) -> Failure:
    """What went wrong, in our words."""
    import httpx

    if isinstance(error, httpx.TimeoutException):
        return timed_out(CONNECT_MS if isinstance(error, httpx.ConnectTimeout) else IDLE_MS)
    if isinstance(error, httpx.ConnectError | httpx.ProxyError):
        return Failure("connect", cause_of(error) or str(error))
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
        return Failure("url", str(error))
    return Failure("broken", cause_of(error) or str(error) or type(error).__name__)


def cause_of(error: BaseException) -> str:
    """The reason that the operating system or TLS gives behind an error, "" when there is none."""
    from socket import gaierror
    from ssl import SSLError

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        if isinstance(cause, SSLError):
            reason = (cause.reason or str(cause)).replace("_", " ").lower()
            return f"TLS: {getattr(cause, 'verify_message', '') or reason}"
        if isinstance(cause, gaierror):
            return f"host not found: {cause.strerror}"
        if isinstance(cause, OSError) and cause.errno:
            return os.strerror(cause.errno)
        cause = cause.__cause__ or cause.__context__
    return ""


# Text


def decoded(body: bytes, content_type: str) -> str:
    """A body as text, in the charset that its content type names."""
    name = charset_of(content_type)
    if name == "utf-8":
        return body.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    return body.decode(name, "replace")


def charset_of(content_type: str) -> str:
    """The Python codec for the charset of a content type; `utf-8` without one, or for one that isn't known."""
    import codecs

    for parameter in content_type.split(";")[1:]:
        key, _, value = parameter.partition("=")
        if key.strip().lower() == "charset":
            try:
                found = codecs.lookup(value.strip().strip("\"'"))
            except (LookupError, ValueError):
                break
            if not getattr(found, "_is_text_encoding", True):
                break
            return "cp1252" if found.name in ("iso8859-1", "ascii") else found.name
    return "utf-8"
