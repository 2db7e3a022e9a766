"""WebSockets: the connection map of a handler, which links its task to the coroutines that read and write."""

from __future__ import annotations

import asyncio
from collections import deque

from sema_runtime.tasks.promises import CANCELLED
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import type_error
from sema_runtime.values.maps import Map
from sema_runtime.web.messages import HANDLER_FAILED, Refused, request_map, response_parts, special_kind, text_response
from sema_runtime.web.origins import origin_allowed
from sema_runtime.web.reports import report_request
from sema_runtime.web.request_tasks import ClientGone
from sema_runtime.web.responses import WEBSOCKET, WS_HANDLER, WS_REQUEST
from sema_runtime.web.streams import LIMIT, Closed, Outbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sema_runtime.tasks.scheduler import Scheduler
    from sema_runtime.tasks.waiting import Waiter
    from sema_runtime.web.asgi import Receive, Scope, Send
    from sema_runtime.web.messages import Headers
    from sema_runtime.web.request_tasks import RequestTasks

SEND, RECV, CLOSE, REQUEST = keyword("send"), keyword("recv"), keyword("close"), keyword("request")
MOST_HELD = 16 << 20  # characters and bytes in the inbox before the client must wait
NORMAL, FAILED = 1000, 1011  # close codes


class Socket:
    """An accepted connection. Messages are strings and bytevectors."""

    def __init__(self, scheduler: Scheduler, receive: Receive, send: Send) -> None:
        self.scheduler = scheduler
        self.receive = receive
        self.sending = send
        self.outbox = Outbox(scheduler, "WebSocket closed")
        self.inbox: deque[Any] = deque()
        self.held = 0  # characters and bytes in the inbox
        self.receiving: deque[Waiter] = deque()
        self.room: asyncio.Future[None] | None = None  # set while reading waits for room in the inbox
        self.ended = False  # no more messages will come
        self.gone = False  # the client has closed or vanished
        self.code = NORMAL  # to close with

    def as_map(self, request: Map) -> Map:
        """Returns the map that the handler gets."""
        return Map({SEND: self.send, RECV: self.recv, CLOSE: self.close, REQUEST: request})

    # Called by tasks

    def send(self, message: Any) -> None:
        """Sends a string as a text message, a bytevector as a binary one."""
        if type(message) is str:
            frame: dict[str, Any] = {"type": "websocket.send", "text": message}
        elif isinstance(message, (bytes, bytearray)):
            frame = {"type": "websocket.send", "bytes": bytes(message)}
        else:
            type_error("string or bytevector", message)
        self.outbox.put(frame)

    def recv(self) -> Any:
        """Returns the next message; nil when the connection is closed."""
        while not self.inbox:
            if self.ended:
                return None
            waiter = self.scheduler.waiter()
            self.receiving.append(waiter)
            self.scheduler.wait(waiter)
        message = self.inbox.popleft()
        self.held -= len(message)
        self._make_room()
        return message

    def close(self) -> None:
        """Closes the connection after all sent messages."""
        self.end()
        self.inbox.clear()
        self.held = 0
        self._make_room()
        self.outbox.close()

    def _make_room(self) -> None:
        if self.room is not None and not self._is_full():
            self.room.set_result(None)
            self.room = None

    def _is_full(self) -> bool:
        return len(self.inbox) >= LIMIT or self.held >= MOST_HELD

    # Called by the loop

    def end(self) -> None:
        """Marks the end of received messages."""
        self.ended = True
        self._wake()

    def _wake(self) -> None:
        """Wakes all tasks that wait for a message."""
        while self.receiving:
            self.receiving.popleft().wake()
        self.scheduler.pump_soon()

    async def read(self) -> None:
        """Receives messages until the client goes away."""
        try:
            while True:
                message = await self.receive()
                if message["type"] != "websocket.receive":
                    return
                if self.ended:
                    continue
                text = message.get("text")
                self.inbox.append(message["bytes"] if text is None else text)
                self.held += len(self.inbox[-1])
                self._wake()
                if self._is_full():
                    self.room = asyncio.get_running_loop().create_future()
                    await self.room
        finally:
            self.room = None
            self.gone = True
            self.end()
            self.outbox.abandon()

    async def write(self) -> None:
        """Sends the outbox until it is closed, then closes the connection."""
        try:
            await self.outbox.pour(self.sending)
            if not self.gone:
                await self.sending({"type": "websocket.close", "code": self.code})
        except (OSError, RuntimeError):  # closed meanwhile; reading ends too
            self.outbox.abandon()


async def serve_socket(
    handler: Callable[[Any], Any],
    origins: frozenset[str],
    requests: RequestTasks,
    scope: Scope,
    receive: Receive,
    send: Send,
) -> None:
    """Answers a WebSocket request: accepts it if the handler returns a WebSocket, else refuses it."""
    await receive()  # websocket.connect
    try:
        if not origin_allowed(scope["headers"], origins):
            raise Refused(403, "Origin not allowed")
        request, _ = request_map(scope)
        value = await requests.result(requests.start(lambda: handler(request)), None, scope)
        if special_kind(value) is not WEBSOCKET:
            parts = text_response(404, "Not Found") if special_kind(value) else response_parts(value)
            await _refuse(scope, send, *parts)
            return
    except ClientGone:
        raise
    except Refused as refused:
        await _refuse(scope, send, *text_response(refused.status, refused.text))
        return
    except Exception as error:
        report_request(scope, error)
        await _refuse(scope, send, *HANDLER_FAILED)
        return
    await send({"type": "websocket.accept"})
    connection = Socket(requests.scheduler(), receive, send)
    await _converse(requests, scope, connection, value.d[WS_HANDLER], value.d.get(WS_REQUEST, request))


async def _converse(
    requests: RequestTasks, scope: Scope, connection: Socket, handler: Callable[[Any], Any], request: Map
) -> None:
    reading = asyncio.ensure_future(connection.read())
    writing = asyncio.ensure_future(connection.write())
    await asyncio.sleep(0)  # both are ready before the first message
    try:
        task = requests.start(lambda: handler(connection.as_map(request)))
        await requests.finish(task, None, scope)
        error = task.promise.error
        if error is not None and task.promise.state is not CANCELLED and not isinstance(error, Closed):
            report_request(scope, error)
            connection.code = FAILED
        connection.outbox.close()
        await writing
    finally:
        reading.cancel()
        writing.cancel()


async def _refuse(scope: Scope, send: Send, status: int, headers: Headers, data: bytes) -> None:
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close"})
        return
    headers = [header for header in headers if header[0] != b"content-length"]  # servers add it, some a second time
    await send({"type": "websocket.http.response.start", "status": status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": data})
