"""The ASGI application around a Sema handler. Each request is a task: one that needs not wait is answered without a
further turn of the loop, one that waits lets the others go on, and is cancelled when its client goes away."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from contextvars import copy_context

from sema_runtime.tasks.promises import CANCELLED
from sema_runtime.values.digits import small
from sema_runtime.values.maps import Map
from sema_runtime.web.messages import (
    Headers,
    Refused,
    header_list,
    request_map,
    response_parts,
    text_response,
    with_body,
)
from sema_runtime.web.reports import report_request
from sema_runtime.web.responses import (
    FILE,
    FILE_PATH,
    FILE_TYPE,
    HEADERS,
    STREAM,
    STREAM_HANDLER,
    WEBSOCKET,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextvars import Context
    from typing import Any

    from sema_runtime.tasks.scheduler import Scheduler
    from sema_runtime.tasks.waiting import Task
    from sema_runtime.values.atoms import Keyword

    Scope = dict[str, Any]
    Receive = Callable[[], Awaitable[Any]]
    Send = Callable[[Any], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]

BROKEN = text_response(500, "Handler did not respond")
CLOSE = (b"connection", b"close")
SLOWEST = 1024  # bytes a second of a body, beyond the time that a client may stall
LINK = "sema.link"  # in the state of a scope: its Connection, in our own server
NO_STATE: dict[str, Any] = {}


class Gone(Exception):
    """Nobody waits for the response any more: the client went away, or the server is stopping."""


class Application:
    """An ASGI application. scheduler: whose tasks the requests are, by default those of the running loop.
    origins: of the pages that may open WebSockets besides the server's own (origins.py).
    context: the context variables that handlers see, by default those of the request's coroutine.
    on_exit: what is called when a handler ends the program (`exit`), by default it is raised."""

    def __init__(
        self,
        handler: Callable[[Any], Any],
        *,
        max_body: int,
        read_timeout: float,
        origins: frozenset[str] = frozenset(),
        scheduler: Scheduler | None = None,
        context: Context | None = None,
        on_exit: Callable[[BaseException], None] | None = None,
    ) -> None:
        self.handler = handler
        self.max_body = max_body
        self.read_timeout = read_timeout
        self.origins = origins
        self.scheduler = scheduler
        self.context = context
        self.on_exit = on_exit
        self.waiting: set[Task] = set()  # tasks of requests that are going on

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "http":
            await self._guarded(self._answer(scope, receive, send))
        elif kind == "websocket":
            from sema_runtime.web.sockets import serve_socket

            await self._guarded(serve_socket(self, scope, receive, send))
        elif kind == "lifespan":
            await _lifespan(receive, send)

    # Requests

    async def _guarded(self, work: Awaitable[None]) -> None:
        """Does the work, up to where nobody waits for it: then the server closes the connection."""
        with suppress(Gone, OSError, asyncio.CancelledError):
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
        await self.respond(self.start(lambda: handler(request)), scope, receive, send)

    def go_on(self, task: Task) -> App:
        """The application that answers with what a task gives."""
        return lambda scope, receive, send: self._guarded(self.respond(task, scope, receive, send))

    async def respond(self, task: Task, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the response that a task gives."""
        try:
            value = await self.result(task, receive, scope)
            kind = special(value)
            headers = special_headers(value, kind) if kind else []
            parts = None if kind else response_parts(value)
        except Gone:
            raise
        except Exception as error:
            report_request(scope, error)
            parts = BROKEN
        if parts is not None:
            await send_parts(send, *parts)
        elif kind is STREAM:
            from sema_runtime.web.streams import send_events

            await send_events(self, value.d[STREAM_HANDLER], headers, scope, receive, send)
        elif kind is FILE:
            from sema_runtime.web.files import send_file

            await send_file(value.d[FILE_PATH], headers, send)
        else:
            await send_parts(send, *text_response(400, "WebSocket upgrade required"))

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """The whole body. Raises Refused when it is too large, stops coming or only drips, Gone when the client went
        away."""
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
                raise Gone
            part = message.get("body", b"")
            if len(body) + len(part) > self.max_body:
                raise self._too_large()
            body += part
            if not message.get("more_body", False):
                return bytes(body)

    def _too_large(self) -> Refused:
        return Refused(413, f"Request body too large or unreadable (max {self.max_body} bytes)")

    # Tasks

    def tasks(self) -> Scheduler:
        """The scheduler of the requests' tasks."""
        if self.scheduler is not None:
            return self.scheduler
        from sema_runtime.tasks.hosted import scheduler_of

        return scheduler_of(asyncio.get_running_loop())

    def start(self, function: Callable[[], Any]) -> Task:
        """Runs a function as a task, from a coroutine of the loop, until it ends or waits."""
        scheduler = self.scheduler or self.tasks()
        context = copy_context() if self.context is None else self.context.copy()
        try:
            return scheduler.start_in_loop(function, context)
        except (SystemExit, KeyboardInterrupt) as error:
            if self.on_exit is None:
                raise
            self.on_exit(error)
            raise Gone from None

    async def result(self, task: Task, receive: Receive | None, scope: Scope) -> Any:
        """The result of a task. Raises what it raises; Gone when the client went away, or the task was cancelled."""
        promise = task.promise
        if promise.open:
            await self.finish(task, receive, scope)
        if promise.state is CANCELLED:
            raise Gone
        return promise.result()

    async def finish(self, task: Task, receive: Receive | None, scope: Scope) -> None:
        """Waits until the task has ended. It is cancelled when the client goes away, which receive tells if our own
        server doesn't; and when this coroutine is cancelled."""
        promise = task.promise
        if not promise.open:
            return
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def settle(_: Any) -> None:
            if not ended.done():
                ended.set_result(None)

        promise.watchers.append(settle)
        watcher = None
        link = scope.get("state", NO_STATE).get(LINK)
        if link is not None:
            link.lost = settle
        elif receive is not None:
            watcher = asyncio.ensure_future(_disconnected(receive))
            watcher.add_done_callback(settle)
        self.waiting.add(task)
        try:
            await ended
        finally:
            self.waiting.discard(task)
            if link is not None:
                link.lost = None
            if watcher is not None:
                watcher.cancel()
            if promise.open:
                cancel(task)

    def cancel_all(self) -> None:
        """Cancels the tasks of all requests that are going on."""
        for task in list(self.waiting):
            cancel(task)


def special(value: Any) -> Keyword | None:
    """The key that marks a map as something else than an ordinary response: a file, a stream, a WebSocket."""
    if isinstance(value, Map):
        d = value.d
        if STREAM in d or FILE in d or WEBSOCKET in d:
            return next((key for key in (STREAM, FILE, WEBSOCKET) if d.get(key)), None)
    return None


def special_headers(value: Map, kind: Keyword) -> Headers:
    """The headers of what isn't an ordinary response: those of the map, and ours where it has none."""
    given = header_list(value.d.get(HEADERS))
    if kind is STREAM:
        ours = {"content-type": "text/event-stream", "cache-control": "no-cache"}
    else:
        ours = {"content-type": value.d.get(FILE_TYPE, ""), "cache-control": "public, max-age=3600"}
    names = {name for name, _ in given}
    return [*given, *[one for one in header_list(Map(ours)) if one[0] not in names]]


def cancel(task: Task) -> None:
    """Cancels a task, from the loop or from another task."""
    task.scheduler.cancel(task.promise)
    task.scheduler.pump_soon()


async def send_parts(send: Send, status: int, headers: Headers, data: bytes) -> None:
    """Sends an ordinary response."""
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": data})


async def _disconnected(receive: Receive) -> None:
    """Returns when the client has gone away."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
