"""HTTP requests. Sending them (client.py) and httpx are loaded when the first one is made.

`await fetch(request)` gives a whole reply; `Stream` one that is read piece by piece. Both are awaited with
`tasks.suspend`: inside a task only that task waits, elsewhere the program does; cancelling closes the connection.
What can go wrong is a `Failure`. Proxies come from HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sema_runtime.net.failures import IDLE_MS, Failure, timed_out
from sema_runtime.values.digits import small

if TYPE_CHECKING:
    from sema_runtime.net.client import Answer

MAX_BYTES = 256 << 20  # of a body, after decompression
MAX_REDIRECTS = 10
METHOD_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~")
NAME_CHARACTERS = METHOD_CHARACTERS | frozenset("abcdefghijklmnopqrstuvwxyz")


class Part(NamedTuple):
    """One field of a form. filename: None for a plain field."""

    name: str
    content: bytes
    filename: str | None = None
    content_type: str | None = None


class Request(NamedTuple):
    """body: the bytes to send, or the parts of a form (multipart/form-data).

    timeout_ms: for the request as a whole, from its turn on; None for IDLE_MS between two pieces of the reply.
    repeatable: may be sent again, when a connection that was used before turns out to have ended; else its method says.
    reach: PUBLIC or LOOPBACK of addresses.py for what the host must resolve to, "" for anything.
    """

    method: str
    url: str
    headers: Sequence[tuple[str, str]] = ()
    body: bytes | list[Part] | None = None
    timeout_ms: float | None = None
    redirects: int = MAX_REDIRECTS
    max_bytes: int = MAX_BYTES
    repeatable: bool = False
    reach: str = ""


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
    from sema_runtime.net.client import answered, connections, failure_of

    limit = request.timeout_ms
    try:
        async with (
            connections().turns,
            asyncio.timeout(None if limit is None else limit / 1000),
            answered(request) as answer,
        ):
            body = await _body(answer, request.max_bytes)
            return Reply(answer.status, answer.headers, body)
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
        self._context: Any = None
        self._turn: asyncio.Semaphore | None = None  # held while it is open
        self._answer: Answer | None = None

    async def open(self) -> Reply:
        """The status and the headers of the reply; its body is still to be read."""
        from sema_runtime.net.client import answered, connections

        turn = connections().streams
        await turn.acquire()
        try:
            self._context = answered(self.request._replace(timeout_ms=self.limit))
            answer: Answer = await self._waited(self._context.__aenter__())
        except BaseException:
            turn.release()
            raise
        self._turn = turn
        self._answer = answer
        answer.unpack()
        return Reply(answer.status, answer.headers, b"")

    async def read(self) -> bytes:
        """The next piece, b"" at the end."""
        assert self._answer is not None
        return await self._waited(self._answer.read())  # type: ignore[no-any-return]

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
        assert self._answer is not None
        clock = asyncio.get_running_loop().time
        limit = self.limit / 1000
        heard = clock()
        async with asyncio.timeout(limit) as timer:
            while piece := await self._answer.read():
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
        assert self._answer is not None
        return await self._waited(_body(self._answer, self.request.max_bytes))  # type: ignore[no-any-return]

    async def close(self) -> None:
        if self._answer is not None:
            self._answer = None
            await self._context.__aexit__(None, None, None)
        if self._turn is not None:
            self._turn.release()
            self._turn = None

    async def _waited(self, work: Any, limited: bool = True) -> Any:
        try:
            async with asyncio.timeout(self.limit / 1000 if limited else None):
                return await work
        except TimeoutError:
            raise timed_out(self.limit) from None
        except Failure:
            raise
        except Exception as error:
            from sema_runtime.net.client import failure_of

            raise failure_of(error) from error


def checked_header(name: str, value: str) -> tuple[str, str]:
    """The header as it is sent. Raises Failure for one that can't be; the message doesn't show its value."""
    if not name or not NAME_CHARACTERS.issuperset(name):
        raise Failure("header", f"{name!r} can't be the name of a header")
    stripped = value.strip(" \t")
    if not (stripped.isascii() and stripped.replace("\t", " ").isprintable()):
        raise Failure("header", f"the header {name} holds characters that can't be sent")
    return name, stripped


async def _body(answer: Answer, limit: int) -> bytes:
    from sema_runtime.net.decoding import SLACK

    if not answer.coding:  # not of a stream that is being read
        answer.unpack(limit + limit // 1000 + SLACK)
    announced = answer.header("content-length")
    most = limit + SLACK if answer.coding else limit
    if announced.isdecimal() and small(announced, most + 1) > most and answer.request.method != "HEAD":
        raise _too_large(limit)
    whole = bytearray()
    while piece := await answer.read():
        if len(whole) + len(piece) > limit:
            raise _too_large(limit)
        whole += piece
    return bytes(whole)


def _too_large(limit: int) -> Failure:
    return Failure("size", f"the body is larger than {limit} bytes")


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
