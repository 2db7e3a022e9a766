"""The ASGI application around a Sema handler. Each request is a task: a handler that never waits is answered without a
further turn of the loop; one that waits lets other requests proceed, and is cancelled when its client goes away."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from sema_runtime.values.digits import small
from sema_runtime.web.asgi import send_parts
from sema_runtime.web.messages import (
    HANDLER_FAILED,
    Refused,
    request_map,
    response_parts,
    special_headers,
    special_kind,
    text_response,
    with_body,
)
from sema_runtime.web.reports import report_request
from sema_runtime.web.request_tasks import ClientGone, RequestTasks
from sema_runtime.web.responses import FILE, FILE_PATH, STREAM, STREAM_HANDLER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from sema_runtime.tasks.waiting import Task
    from sema_runtime.web.asgi import App, Receive, Scope, Send

CLOSE = (b"connection", b"close")
SLOWEST = 1024  # bytes a second of a body, besides the time that a client may pause


class Application:
    """An ASGI application. origins: of the pages that may open WebSockets besides the server's own (origins.py).
    requests: how handlers run as tasks."""

    def __init__(
        self,
        handler: Callable[[Any], Any],
        *,
        max_body: int,
        read_timeout: float,
        origins: frozenset[str] = frozenset(),
        requests: RequestTasks | None = None,
    ) -> None:
        self.handler = handler
        self.max_body = max_body
        self.read_timeout = read_timeout
        self.origins = origins
        self.requests = requests if requests is not None else RequestTasks()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "http":
            await self._guarded(self._answer(scope, receive, send))
        elif kind == "websocket":
            from sema_runtime.web.sockets import serve_socket

            await self._guarded(serve_socket(self.handler, self.origins, self.requests, scope, receive, send))
        elif kind == "lifespan":
            await _lifespan(receive, send)

    async def _guarded(self, work: Awaitable[None]) -> None:
        """Does the work until its client is gone; then the server closes the connection."""
        with suppress(ClientGone, OSError, asyncio.CancelledError):
            await work

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            request, has_body = request_map(scope)
            if has_body:
                request = with_body(request, await self._body(scope, receive))
        except Refused as refused:
            await send_parts(send, *text_response(refused.status, refused.text, CLOSE))
            return
        handler = self.handler
        await self.respond(self.requests.start(lambda: handler(request)), scope, receive, send)

    def responding(self, task: Task) -> App:
        """Returns an application that answers with the result of a task."""
        return lambda scope, receive, send: self._guarded(self.respond(task, scope, receive, send))

    async def respond(self, task: Task, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the response that a task returns."""
        try:
            value = await self.requests.result(task, receive, scope)
            kind = special_kind(value)
            headers = special_headers(value, kind) if kind else []
            parts = None if kind else response_parts(value)
        except ClientGone:
            raise
        except Exception as error:
            report_request(scope, error)
            parts = HANDLER_FAILED
        if parts is not None:
            await send_parts(send, *parts)
        elif kind is STREAM:
            from sema_runtime.web.streams import send_events

            await send_events(self.requests, value.d[STREAM_HANDLER], headers, scope, receive, send)
        elif kind is FILE:
            from sema_runtime.web.files import send_file

            await send_file(value.d[FILE_PATH], headers, send)
        else:
            await send_parts(send, *text_response(400, "WebSocket upgrade required"))

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """Returns the whole body. Raises Refused when it is too large, stalls or is too slow, and ClientGone."""
        for name, value in scope["headers"]:
            if (
                name == b"content-length"
                and value.isdigit()
                and small(value.decode(), self.max_body + 1) > self.max_body
            ):
                raise self._too_large()
        body = bytearray()
        clock = asyncio.get_running_loop().time
        began = clock()
        while True:
            slowest = began + self.read_timeout + len(body) / SLOWEST
            try:
                async with asyncio.timeout_at(min(slowest, clock() + self.read_timeout)):
                    message = await receive()
            except TimeoutError:
                raise Refused(408, "Request Timeout") from None
            if message["type"] == "http.disconnect":
                raise ClientGone
            part = message.get("body", b"")
            if len(body) + len(part) > self.max_body:
                raise self._too_large()
            body += part
            if not message.get("more_body", False):
                return bytes(body)

    def _too_large(self) -> Refused:
        return Refused(413, f"Request body too large or unreadable (max {self.max_body} bytes)")


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
