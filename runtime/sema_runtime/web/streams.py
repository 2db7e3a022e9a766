"""Streamed responses: the queue between a task and a connection, and server-sent events."""

from __future__ import annotations

import asyncio
from collections import deque

from sema_runtime.support.text_arguments import text_of
from sema_runtime.tasks.promises import CANCELLED
from sema_runtime.values.errors import SemaError
from sema_runtime.web.reports import report_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sema_runtime.tasks.scheduler import Scheduler
    from sema_runtime.tasks.waiting import Waiter
    from sema_runtime.web.asgi import Receive, Scope, Send
    from sema_runtime.web.messages import Headers
    from sema_runtime.web.request_tasks import RequestTasks

LIMIT = 256  # queued messages for a client before its sender must wait


class Closed(SemaError):
    """Sending failed: the client has gone away."""


class Outbox:
    """Messages on their way to a client. A task that adds one continues when the connection has taken it. While a slow
    client blocks the connection, tasks continue without waiting until LIMIT messages are queued."""

    def __init__(self, scheduler: Scheduler, closed_message: str) -> None:
        self.scheduler = scheduler
        self.closed_message = closed_message
        self.queue: deque[Any] = deque()
        self.putting: deque[Waiter] = deque()
        self.closed = False
        self.news: asyncio.Future[None] | None = None  # set while the connection waits for messages

    def put(self, message: Any) -> None:
        """Adds a message, in a task. Raises Closed when the connection is closed."""
        if self.closed:
            raise Closed(self.closed_message)
        self.queue.append(message)
        idle = self.news is not None
        self._tell()
        if idle or len(self.queue) >= LIMIT:
            waiter = self.scheduler.waiter()
            self.putting.append(waiter)
            self.scheduler.wait(waiter)

    def close(self) -> None:
        """Ends the outbox; queued messages are still sent."""
        self.closed = True
        self._tell()

    def abandon(self) -> None:
        """Drops all messages: the client is gone."""
        self.queue.clear()
        self.close()
        self._release()

    async def pour(self, send: Callable[[Any], Any]) -> None:
        """Sends the messages until the outbox is closed and empty."""
        while True:
            while self.queue:
                await send(self.queue.popleft())
                self._release()
            if self.closed:
                return
            self.news = asyncio.get_running_loop().create_future()
            try:
                await self.news
            finally:
                self.news = None

    def _tell(self) -> None:
        if self.news is not None:
            self.news.set_result(None)
            self.news = None

    def _release(self) -> None:
        while self.putting and len(self.queue) < LIMIT:
            self.putting.popleft().wake()
        self.scheduler.pump_soon()


async def send_events(
    requests: RequestTasks,
    handler: Callable[[Any], Any],
    headers: Headers,
    scope: Scope,
    receive: Receive,
    send: Send,
) -> None:
    """Sends the handler's texts, each as one event, until the handler returns."""
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    outbox = Outbox(requests.scheduler(), "SSE stream closed")

    async def send_event(text: str) -> None:
        await send({"type": "http.response.body", "body": event(text), "more_body": True})

    def send_text(text: Any) -> None:
        outbox.put(text_of(text))

    pouring = asyncio.ensure_future(outbox.pour(send_event))
    await asyncio.sleep(0)  # so that it is ready before the first message
    try:
        task = requests.start(lambda: handler(send_text))
        await requests.finish(task, receive, scope)
        error = task.promise.error
        if task.promise.state is CANCELLED or isinstance(error, Closed):
            return
        if error is not None:
            report_request(scope, error)
        outbox.close()
        await pouring
        await send({"type": "http.response.body", "body": b""})
    finally:
        outbox.abandon()
        pouring.cancel()


def event(text: str) -> bytes:
    """Returns a text as the bytes of one event."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "".join([*[f"data: {line}\n" for line in lines], "\n"]).encode(errors="surrogatepass")
