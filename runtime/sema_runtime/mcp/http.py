"""A server behind a URL: Streamable HTTP, and the older pair of an event stream and a URL to post to.

Streamable HTTP: each message is a POST; its reply holds the answer, as JSON or at the end of an event stream that may
carry other messages before it. A broken stream is resumed where it ended (`Last-Event-ID`). Redirects are followed
within the server's origin only: headers may hold secrets.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from urllib.parse import urljoin, urlsplit

from sema_runtime.mcp.protocol import MAX_BYTES, Failure, HttpFailure, Unreadable, decoded, encoded
from sema_runtime.net.failures import Failure as NoReply
from sema_runtime.net.http import Reply, Request, Stream, fetch
from sema_runtime.net.sse import SseParser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sema_runtime.mcp.protocol import Message, Peer
    from sema_runtime.net.sse import Event

BOTH = "application/json, text/event-stream"
EVENTS = "text/event-stream"
MAX_REDIRECTS = 5
SHOWN = 500  # characters of the body of an error
NO_LIMIT_MS = 1e9  # between two pieces of a stream; `Peer.request` limits the wait for an answer
REDIRECTS = (301, 302, 303, 307, 308)
CLOSE_MS = 2000.0
RESUME_SECONDS = 1.0  # before a stream is resumed, unless the server sets the time
DRAIN_SECONDS = 0.05
MOST_RESUMED = 5  # consecutive times without a new event


def origin(url: str) -> tuple[str, str, int | None]:
    """Returns scheme, host and port of a URL; empty for an invalid one."""
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return "", "", None


class Endpoint:
    """A URL and its headers. token: of OAuth; it replaces an Authorization header."""

    def __init__(self, url: str, headers: list[tuple[str, str]]) -> None:
        self.url = url
        self.program_headers = headers
        self.token: str | None = None

    def headers(self, *more: tuple[str, str]) -> list[tuple[str, str]]:
        if self.token is None:
            return [*self.program_headers, *more]
        own = [(name, value) for name, value in self.program_headers if name.lower() != "authorization"]
        return [*own, ("Authorization", f"Bearer {self.token}"), *more]

    def has_authorization(self) -> bool:
        """Whether the program gives an Authorization header itself."""
        return any(name.lower() == "authorization" for name, _ in self.program_headers)

    async def opened(self, request: Request) -> tuple[Stream, Reply]:
        """Returns the stream of a reply and its head, after redirects within the origin. Raises Failure."""
        for _ in range(MAX_REDIRECTS + 1):
            stream = Stream(request._replace(redirects=0, timeout_ms=NO_LIMIT_MS, max_bytes=MAX_BYTES))
            try:
                head = await stream.open()
            except NoReply as failure:
                raise Failure(f"failed to send MCP request: {_reason(failure)}") from None
            target = head.header("location")
            if head.status not in REDIRECTS or target is None:
                return stream, head
            await stream.close()
            target = joined(request.url, target)
            if origin(target) != origin(request.url):
                raise Failure(f"MCP server redirects to another server, {_shown(target)}", "connect to that URL itself")
            if request.method == "POST" and request.url == self.url:
                self.url = target
            request = request._replace(url=target)
        raise Failure("MCP server redirects in a circle")


def _reason(failure: NoReply) -> str:
    return f"could not connect ({failure.reason})" if failure.kind == "connect" else failure.reason


def joined(base: str, target: str) -> str:
    """Returns the URL that a reply names, which may be relative; "" for an invalid one."""
    try:
        return urljoin(base, target)
    except ValueError:
        return ""


def _shown(url: str) -> str:
    """Returns a URL without its secrets."""
    scheme, host, port = origin(url)
    if not host:
        return "which is no URL"
    return f"{scheme}://{host}{'' if port in (80, 443, None) else f':{port}'}{urlsplit(url).path}"


async def refusal(stream: Stream, head: Reply, method: str) -> HttpFailure:
    """Returns the error of a reply that is no success."""
    challenge = head.header("www-authenticate")
    if head.status == 401:
        return HttpFailure(401, challenge, f"MCP server requires authorization (HTTP 401) on `{method}`")
    try:
        text = Reply(head.status, head.headers, await stream.rest()).text().strip()
    except NoReply:
        text = ""
    with suppress(Unreadable):
        for message in decoded(text):
            error = message.get("error")
            if isinstance(error, dict) and isinstance(error.get("message"), str):
                text = error["message"]
    text = text if len(text) <= SHOWN else text[:SHOWN] + "..."
    return HttpFailure(head.status, challenge, f"MCP server returned HTTP {head.status} on `{method}`: {text}")


async def events(stream: Stream, parser: SseParser) -> AsyncIterator[Event]:
    """Yields the events of a stream. Raises net.http's Failure when it breaks."""
    size = 0  # bytes since the last event
    while True:
        piece = await stream.read()
        size += len(piece)
        for event in parser.feed(piece) if piece else parser.close():
            size = 0
            yield event
        if not piece:
            return
        if size > MAX_BYTES:
            raise NoReply("size", f"a message of more than {MAX_BYTES} bytes")


async def _drained(stream: Stream) -> None:
    """Reads the rest of a stream that ends soon, so that its connection can be reused."""
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            while await stream.read():
                pass
    except (NoReply, TimeoutError):
        return


class StreamableHttp:
    """session: the id that the server set. version: of the protocol, once negotiated."""

    answers_while_sending = True

    def __init__(self, peer: Peer, endpoint: Endpoint) -> None:
        self.peer = peer
        self.endpoint = endpoint
        self.session: str | None = None
        self.version: str | None = None

    def set_version(self, version: str) -> None:
        self.version = version

    def _headers(self, *more: tuple[str, str]) -> list[tuple[str, str]]:
        headers = list(more)
        if self.session is not None:
            headers.append(("Mcp-Session-Id", self.session))
        if self.version is not None:
            headers.append(("MCP-Protocol-Version", self.version))
        return self.endpoint.headers(*headers)

    async def send(self, message: Message) -> None:
        """Posts a message. For a request, passes on the messages of the reply, up to the answer."""
        method = str(message.get("method", "answer"))
        headers = self._headers(("Accept", BOTH), ("Content-Type", "application/json"))
        stream, head = await self.endpoint.opened(Request("POST", self.endpoint.url, headers, encoded(message)))
        try:
            if not 200 <= head.status < 300:
                raise await refusal(stream, head, method)
            if method == "initialize":
                self.session = head.header("mcp-session-id") or self.session
            if "method" in message and "id" in message:
                await self._answered(stream, head, message["id"], method)
        finally:
            await stream.close()

    async def _answered(self, stream: Stream, head: Reply, number: int, method: str) -> None:
        kind = (head.header("content-type") or "").partition(";")[0].strip().lower()
        if kind == EVENTS:
            await self._streamed(stream, number)
        else:
            try:
                body = await stream.rest()
            except NoReply as failure:
                raise Failure(f"failed to read MCP response body: {failure.reason}") from None
            messages = decoded(body)
            if not messages:
                raise Failure(f"failed to decode MCP response: no JSON-RPC message in the reply ({kind or 'no type'})")
            for message in messages:
                self.peer.receive(message)
            if self.peer.is_open(number):
                raise Failure(f"MCP response id mismatch on `{method}` (expected {number})")

    async def _streamed(self, stream: Stream, number: int) -> None:
        """Passes on the messages of a stream, and of those that resume it, up to the answer."""
        parser, last, tries = SseParser(), "", 0
        try:
            while True:
                try:
                    async for event in events(stream, parser):
                        last, tries = event.id or last, 0
                        self.peer.hear(event.data)
                        if not self.peer.is_open(number):
                            return await _drained(stream)
                    ended = "MCP SSE stream ended before the response arrived"
                except NoReply as failure:
                    ended = f"failed to read MCP SSE stream: {failure.reason}"
                tries += 1
                if not last or tries > MOST_RESUMED:
                    raise Failure(ended)
                await stream.close()
                await asyncio.sleep(RESUME_SECONDS if parser.retry_ms is None else parser.retry_ms / 1000)
                parser = SseParser()
                headers = self._headers(("Accept", EVENTS), ("Last-Event-ID", last))
                stream, head = await self.endpoint.opened(Request("GET", self.endpoint.url, headers))
                if head.status != 200:
                    raise Failure(ended)
        finally:
            await stream.close()

    async def close(self) -> None:
        """Ends the session; a server may refuse that."""
        if self.session is None:
            return
        request = Request("DELETE", self.endpoint.url, self._headers(), timeout_ms=CLOSE_MS, redirects=0)
        self.session = None
        try:
            await fetch(request)
        except NoReply:
            return


class LegacySse:
    """The transport of the revision 2024-11-05: messages of the server come on one stream, opened by `connect`."""

    answers_while_sending = False

    def __init__(self, peer: Peer, endpoint: Endpoint) -> None:
        self.peer = peer
        self.endpoint = endpoint
        self.post_url = ""
        self.stream: Stream | None = None
        self.reader: asyncio.Task[None] | None = None

    def set_version(self, version: str) -> None:
        """Does nothing: this transport does not depend on the version."""

    async def connect(self) -> None:
        """Opens the stream and waits for the URL to post to. Raises Failure."""
        try:
            async with asyncio.timeout(self.peer.timeout_ms / 1000):
                await self._connect()
        except BaseException as error:
            await self.close()
            if isinstance(error, TimeoutError):
                raise Failure("legacy SSE stream stalled") from None
            raise

    async def _connect(self) -> None:
        request = Request("GET", self.endpoint.url, self.endpoint.headers(("Accept", EVENTS)))
        self.stream, head = await self.endpoint.opened(request)
        kind = (head.header("content-type") or "").partition(";")[0].strip().lower()
        if head.status != 200 or kind != EVENTS:
            raise await refusal(self.stream, head, "legacy SSE GET")
        announced: asyncio.Future[str] = self.peer.loop.create_future()
        self.reader = self.peer.loop.create_task(self._read(self.stream, announced))
        self.post_url = joined(self.endpoint.url, await announced)
        if origin(self.post_url) != origin(self.endpoint.url):
            raise Failure(f"MCP server names an endpoint on another server, {_shown(self.post_url)}")

    async def _read(self, stream: Stream, announced: asyncio.Future[str]) -> None:
        reason = "legacy SSE stream closed unexpectedly"
        try:
            async for event in events(stream, SseParser()):
                if event.name == "endpoint":
                    if not announced.done():
                        announced.set_result(event.data.strip())
                    continue
                self.peer.hear(event.data)
        except NoReply as failure:
            reason = f"legacy SSE read error: {failure.reason}"
        failed = Failure(reason, "reconnect with mcp/connect")
        if not announced.done():
            announced.set_exception(failed)
        self.peer.fail(failed)

    async def send(self, message: Message) -> None:
        headers = self.endpoint.headers(("Content-Type", "application/json"))
        stream, head = await self.endpoint.opened(Request("POST", self.post_url, headers, encoded(message)))
        try:
            if not 200 <= head.status < 300:
                raise await refusal(stream, head, str(message.get("method", "answer")))
        finally:
            await stream.close()

    async def close(self) -> None:
        if self.reader is not None:
            self.reader.cancel()
            await asyncio.wait((self.reader,))
        if self.stream is not None:
            await self.stream.close()
