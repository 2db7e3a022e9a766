"""uvicorn's connections with additions: a limit for the head of a request, a watch for stalled clients, and a shortcut
to the application. By the shortcut a request whose handler doesn't wait needs no asyncio task and only one system
call."""

from __future__ import annotations

from asyncio import Transport

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from sema_runtime.values.errors import SemaError
from sema_runtime.web.messages import Refused, request_map, response_parts, special_kind
from sema_runtime.web.request_tasks import LINK, ClientGone, cancel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from websockets.frames import Frame

    from sema_runtime.tasks.waiting import Task
    from sema_runtime.web.app import Application
    from sema_runtime.web.messages import Headers

AT_ONCE = 1 << 16  # bytes of a body that is sent together with its head
MOST_FRAGMENTS = 16_384  # of a WebSocket message
TOO_MUCH = 1009  # close code
MAX_HEAD = 64 * 1024  # bytes of request line and headers


class Exchange:
    """A request without body and its response, handled without coroutine and asyncio task if possible."""

    __slots__ = ("app", "connection", "cycle", "task")
    task: Task

    def __init__(self, app: Application, connection: Connection, cycle: RequestResponseCycle) -> None:
        self.app = app
        self.connection = connection
        self.cycle = cycle

    def begin(self) -> None:
        """Starts the handler, and answers if it doesn't wait."""
        app = self.app
        try:
            request, has_body = request_map(self.cycle.scope)
            if has_body:
                self.connection.proceed(self.cycle, app)
                return
            handler = app.handler
            task = self.task = app.requests.start(lambda: handler(request))
        except Refused:
            self.connection.proceed(self.cycle, app)  # which refuses it again
            return
        except ClientGone:
            return  # the server is stopping
        if task.promise.open:
            app.requests.waiting.add(task)
            self.connection.lost = self._lost
            task.promise.watchers.append(self._ended)
        else:
            self._respond()

    def _lost(self, _: Any) -> None:
        cancel(self.task)

    def _ended(self, _: Any) -> None:
        """Called by the task, in whose greenlet the response must not be sent."""
        self.app.requests.waiting.discard(self.task)
        self.connection.lost = None
        self.connection.loop.call_soon(self._respond)

    def _respond(self) -> None:
        promise = self.task.promise
        if promise.error is None and special_kind(promise.value) is None:
            try:
                if self.connection.answer(self.cycle, *response_parts(promise.value)):
                    return
            except SemaError:
                pass  # an invalid response; the coroutine reports it like other errors
        self.connection.proceed(self.cycle, self.app.responding(self.task))


class IgnoredTrailers(list[tuple[bytes, bytes]]):
    """Drops the headers after a chunked body: endless ones would fill the memory."""

    def append(self, _: tuple[bytes, bytes]) -> None:
        pass


NO_TRAILERS = IgnoredTrailers()


class Connection(HttpToolsProtocol):
    """An HTTP connection. The state of its requests' scopes holds it under LINK."""

    head_size = 0  # bytes of an incomplete head received so far
    lost: Callable[[Any], object] | None = None  # called when the client has gone away

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        self.app_state = {LINK: self}
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.lost is not None:
            self.lost(None)  # first: handlers that wait for the client are cancelled, not resumed
        super().connection_lost(exc)
        self.app_state = {}

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        if not self.in_head():  # a WebSocket's handshake still needs its headers
            self.headers = NO_TRAILERS

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        if app is self.app and not self.pipeline:
            Exchange(app, self, cycle).begin()
        else:
            self.proceed(cycle, app)

    def proceed(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Lets an ASGI application answer."""
        super()._start_asgi_task(cycle, app)

    def answer(self, cycle: RequestResponseCycle, status: int, headers: Headers, data: bytes) -> bool:
        """Sends a complete response like two calls of cycle.send, but with one system call. Returns False if those are
        needed: the client reads slowly, or the headers control the connection."""
        if cycle.disconnected:
            return True
        if self.flow.write_paused or len(data) > AT_ONCE:
            return False
        pieces = [STATUS_LINE[status]]
        for name, value in cycle.default_headers + headers:
            if name == b"connection":
                return False
            pieces += (name, b": ", value, b"\r\n")
        pieces.append(b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n")
        if cycle.scope["method"] != "HEAD":
            pieces.append(data)
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        self.transport.write(b"".join(pieces))
        cycle.message_event.set()
        if not cycle.keep_alive:
            self.transport.close()
        cycle.on_response()
        return True

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.in_head():
            self.head_size += len(data)
            if self.head_size > MAX_HEAD and not self.transport.is_closing():
                self.refuse(431)
        else:
            self.head_size = 0

    def in_head(self) -> bool:
        """Whether the client has begun a request whose head is incomplete."""
        return self.cycle is None or self.cycle.scope is not self.scope

    def refuse(self, status: int) -> None:
        """Answers with an empty response, unless another one is under way, and closes the connection."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(STATUS_LINE[status] + b"connection: close\r\ncontent-length: 0\r\n\r\n")
            self.transport.close()
        else:
            self.transport.abort()


class SocketConnection(WebSocketsSansIOProtocol):
    """A WebSocket connection that limits the fragments of a message: empty ones don't add to its size."""

    def handle_cont(self, event: Frame) -> None:
        if self.close_sent:
            return
        if len(self.frames) < MOST_FRAGMENTS:
            super().handle_cont(event)
            return
        self.frames = []
        self.conn.fail(TOO_MUCH, f"a message of more than {MOST_FRAGMENTS} fragments")
        self.handle_parser_exception()


class StallWatch:
    """Finds stalled connections: an incomplete head, a response that isn't read. `check` is called every INTERVAL
    seconds; a connection without progress for `limit` seconds is closed.
    """

    INTERVAL = 1.0

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.before: dict[Any, tuple[object, float]] = {}  # what each connection waits for, and the seconds

    def check(self, connections: Iterable[Any]) -> None:
        """Closes connections that have stalled for too long."""
        now: dict[Any, tuple[object, float]] = {}
        for connection in list(connections):
            mark = waits_for(connection)
            if mark is None:
                continue
            earlier, seconds = self.before.get(connection, (None, 0.0))
            seconds = seconds + self.INTERVAL if mark == earlier else 0.0
            now[connection] = (mark, seconds)
            if seconds < self.limit:
                continue
            if mark[0] == "head":
                connection.refuse(408)
            elif mark[0] == "connected":
                connection.transport.close()
            else:
                connection.transport.abort()
        self.before = now


def waits_for(connection: Any) -> tuple[str, int] | None:
    """Returns what the connection waits for, as a value that changes with any progress; None if it doesn't wait."""
    transport: Transport = connection.transport
    unsent = transport.get_write_buffer_size()
    if unsent:
        return "reading", unsent
    if not isinstance(connection, Connection):  # a WebSocket, which uvicorn pings
        return None
    if connection.scope is None:
        return "connected", 0
    if connection.in_head() and (connection.cycle is None or connection.cycle.response_complete):
        return "head", id(connection.scope)
    return None
