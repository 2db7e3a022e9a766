"""HTTP requests. Sending them (client.py) and httpx are loaded when the first one is made.

`await fetch(request)` returns a whole reply; a `Stream` is read piece by piece. Sema code waits for both with
`tasks.suspend`: inside a task only that task waits, elsewhere the program does. Cancelling closes the connection.
Errors are `Failure`s. Proxies come from HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from sema_runtime.net.failures import IDLE_MS, Failure, timed_out
from sema_runtime.net.messages import (
    MAX_BYTES,
    METHOD_CHARACTERS,
    Part,
    Reply,
    Request,
    checked_header,
    decoded,
)
from sema_runtime.values.digits import small

if TYPE_CHECKING:
    from sema_runtime.net.client import OpenReply

__all__ = [
    "MAX_BYTES",
    "METHOD_CHARACTERS",
    "Part",
    "Reply",
    "Request",
    "Stream",
    "checked_header",
    "decoded",
    "fetch",
]


async def fetch(request: Request) -> Reply:
    """Sends a request and waits for the whole reply, whatever its status. Raises Failure when there is none."""
    from sema_runtime.net.client import connections, failure_of, open_reply

    limit = request.timeout_ms
    try:
        async with (
            connections().turns,
            asyncio.timeout(None if limit is None else limit / 1000),
            open_reply(request) as answer,
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
        self._answer: OpenReply | None = None

    async def open(self) -> Reply:
        """The status and the headers of the reply; its body is still to be read."""
        from sema_runtime.net.client import connections, open_reply

        turn = connections().streams
        await turn.acquire()
        try:
            self._context = open_reply(self.request._replace(timeout_ms=self.limit))
            answer: OpenReply = await self._waited(self._context.__aenter__())
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
        """Passes each piece to take, instead of `read`, until take returns False or the reply ends.

        An awaitable that take returns is awaited, without a limit. Raises what take raises. One timer covers all
        pieces, accurate to a hundredth of the limit.
        """
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


async def _body(answer: OpenReply, limit: int) -> bytes:
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
