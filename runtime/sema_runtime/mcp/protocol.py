"""JSON-RPC as MCP uses it: numbered requests and their answers, in any order, over a transport of messages.

A `Peer` belongs to one asyncio loop. Requests wait concurrently; one that is cancelled or times out is withdrawn with
`notifications/cancelled`, and the conversation continues. Requests of the server are answered: `ping` with an empty
result, all others with "method not found", because no such capability is offered.
"""

from __future__ import annotations

import asyncio
import json
import re

from sema_runtime.support.json_input import TooDeep, received
from sema_runtime.values.digits import TooManyDigits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from typing import Any, Protocol

    Message = dict[str, Any]

    class Transport(Protocol):
        """Carries messages to the server. Its messages go to `Peer.receive`, its end to `Peer.fail`."""

        answers_while_sending: bool  # whether sending a request lasts until it is answered

        async def send(self, message: Message) -> None:
            """Sends one message. Raises Failure."""

        async def close(self) -> None:
            """Ends the connection and frees its resources."""

        def set_version(self, version: str) -> None:
            """Sets the negotiated protocol version."""


VERSION = "2025-11-25"
TIMEOUT_MS = 120_000.0  # for an answer, whatever else the server sends meanwhile
MAX_BYTES = 64 << 20  # of one message from a server
METHOD_NOT_FOUND = -32601
MAX_TOOLS = 10_000
MAX_PAGES = 1000  # of a list of tools
MOST_UNSENT = 1000  # background messages that the server has not taken yet
MOST_SHOWN = 4000  # characters of a server's error
ID = re.compile(r'"id"\s*:\s*([0-9]{1,15})(?![0-9])')


class Failure(Exception):
    """A request failed. message: without the name of the function. hint, note: as in conditions."""

    def __init__(self, message: str, hint: str | None = None, note: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.note = note


class Refused(Failure):
    """The server answered with a JSON-RPC error."""


class Unreadable(Failure):
    """A message that can't be decoded. ids: the numbers of requests that it may answer."""

    def __init__(self, message: str, text: str | bytes) -> None:
        super().__init__(message)
        numbers = ID.findall(text if isinstance(text, str) else text.decode("utf-8", "replace"))
        self.ids = [int(number) for number in numbers]


class HttpFailure(Failure):
    """The server answered with an HTTP error status. challenge: its WWW-Authenticate header."""

    def __init__(self, status: int, challenge: str | None, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.status = status
        self.challenge = challenge


async def all_tools(page_at: Callable[[str | None], Awaitable[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Returns the tools of all pages. page_at: the page at a cursor, None for the first one. Raises Failure for a list
    without end."""
    tools: list[dict[str, Any]] = []
    cursor: str | None = None
    seen: set[str] = set()
    while True:
        page = await page_at(cursor)
        listed = page.get("tools")
        if not isinstance(listed, list):
            raise Failure("tools/list result did not include a tools array")
        tools += [tool for tool in listed if isinstance(tool, dict) and isinstance(tool.get("name"), str)]
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or not cursor:
            return tools
        if cursor in seen or len(tools) > MAX_TOOLS or len(seen) > MAX_PAGES:
            raise Failure("tools/list does not come to an end: the server gives the same page again and again")
        seen.add(cursor)


def encoded(message: Message) -> bytes:
    """Returns a message as it is sent: JSON on one line."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def decoded(text: str | bytes) -> list[Message]:
    """Returns the messages in a text: one, a batch (revision 2025-03-26), or none in invalid JSON. Raises
    Unreadable."""
    try:
        value = received(text)
    except (TooDeep, TooManyDigits) as error:
        raise Unreadable(f"MCP server sent a message that can't be read: {error}", text) from None
    except ValueError:
        return []
    return [message for message in (value if isinstance(value, list) else [value]) if isinstance(message, dict)]


def seconds(milliseconds: float) -> str:
    """Returns a time as messages show it: `120s`, `0.5s`."""
    return f"{milliseconds / 1000:g}s"


class Peer:
    """The client's side of the conversation. timeout_ms: see TIMEOUT_MS."""

    def __init__(self, timeout_ms: float = TIMEOUT_MS) -> None:
        self.loop = asyncio.get_running_loop()
        self.timeout_ms = timeout_ms
        self.transport: Transport
        self.broken: Failure | None = None  # why the conversation has ended
        self._last = 0
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._background: set[asyncio.Task[None]] = set()

    # Asking

    async def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns the result of a request. Raises Failure."""
        if self.broken is not None:
            raise self.broken
        self._last += 1
        number = self._last
        message = {"jsonrpc": "2.0", "id": number, "method": method}
        if params is not None:
            message["params"] = params
        answer = self._pending[number] = self.loop.create_future()
        try:
            async with asyncio.timeout(self.timeout_ms / 1000):
                if self.transport.answers_while_sending:
                    await self._sent_until(answer, message)
                else:
                    await self.transport.send(message)
                result = await answer
        except TimeoutError:
            self._withdraw(number, method, "the answer took too long")
            raise Failure(
                f"MCP server did not respond to `{method}` within {seconds(self.timeout_ms)}",
                "a longer wait can be set with :timeout (milliseconds) in the map given to mcp/connect",
            ) from None
        except asyncio.CancelledError:
            self._withdraw(number, method, "the task that waited was cancelled")
            raise
        finally:
            self._pending.pop(number, None)
            if answer.done() and not answer.cancelled():
                answer.exception()  # marks the error as retrieved, so that asyncio does not report it
        if not isinstance(result, dict):
            raise Failure(f"MCP server answered `{method}` with a result that is no object")
        return result

    async def _sent_until(self, answer: asyncio.Future[Any], message: Message) -> None:
        """Sends a message until it is answered or the conversation ends; the rest goes on in the background."""
        sending = self.loop.create_task(self.transport.send(message))
        try:
            await asyncio.wait((sending, answer), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            sending.cancel()
            raise
        if sending.done():
            sending.result()
        elif self.broken is not None:
            sending.cancel()
        else:
            self._background.add(sending)
            sending.add_done_callback(self._background.discard)

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Sends a notification. Raises Failure when it can't be sent."""
        message: Message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        await self._send_unanswered(message)

    async def _send_unanswered(self, message: Message) -> None:
        """Sends a message without an answer."""
        try:
            async with asyncio.timeout(self.timeout_ms / 1000):
                await self.transport.send(message)
        except TimeoutError:
            what = message.get("method", "answer")
            raise Failure(f"MCP server did not take `{what}` within {seconds(self.timeout_ms)}") from None

    def is_open(self, number: Any) -> bool:
        """Whether the request of that number still waits for its answer."""
        answer = self._pending.get(number) if type(number) is int else None
        return answer is not None and not answer.done()

    def _withdraw(self, number: int, method: str, reason: str) -> None:
        """Cancels a request at the server; `initialize` may not be cancelled."""
        if method != "initialize" and self.broken is None:
            self.later(self.notify("notifications/cancelled", {"requestId": number, "reason": reason}))

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Sends something in the background; it may fail."""
        task = self.loop.create_task(work)  # directly: a wrapping task that is cancelled early would never await it
        self._background.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._background.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, Failure):
            self.loop.call_exception_handler({"message": "MCP: sending failed", "exception": error, "task": task})

    # Receiving

    def receive(self, message: Message) -> None:
        """Takes a message of the server: an answer, a request or a notification."""
        method = message.get("method")
        if isinstance(method, str):
            if message.get("id") is not None:
                self._answer(message["id"], method)
            return
        number = message.get("id")
        if not self.is_open(number):
            return  # the request was withdrawn, or never made
        answer = self._pending[number]  # type: ignore[index]
        error = message.get("error")
        if error is not None:
            answer.set_exception(_refusal(error))
        elif "result" in message:
            answer.set_result(message["result"])
        else:
            answer.set_exception(Failure("MCP response did not include a result"))

    def _answer(self, number: Any, method: str) -> None:
        """Answers a request of the server, unless it never takes the answers."""
        if self.broken is not None:
            return
        if len(self._background) < MOST_UNSENT:
            self.later(self._send_unanswered(_reply(number, method)))
            return
        self.fail(Failure(f"MCP server asked {MOST_UNSENT} questions without taking the answers"))
        self.later(self.transport.close())

    def hear(self, text: str | bytes) -> None:
        """Takes the messages of a text. An unreadable one fails the requests whose numbers it contains, else all."""
        try:
            messages = decoded(text)
        except Unreadable as failure:
            named = [self._pending[number] for number in failure.ids if self.is_open(number)]
            for answer in named or list(self._pending.values()):
                if not answer.done():
                    answer.set_exception(failure)
            return
        for message in messages:
            self.receive(message)

    def fail(self, failure: Failure) -> None:
        """Ends the conversation: all waiting and later requests fail."""
        if self.broken is None:
            self.broken = failure
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(self.broken)

    async def close(self, reason: Failure) -> None:
        """Fails waiting requests, then ends the connection."""
        self.fail(reason)
        for task in list(self._background):
            task.cancel()
        await self.transport.close()


def _reply(number: Any, method: str) -> Message:
    if method == "ping":
        return {"jsonrpc": "2.0", "id": number, "result": {}}
    error = {"code": METHOD_NOT_FOUND, "message": f"Method not found: {method}"}
    return {"jsonrpc": "2.0", "id": number, "error": error}


def _refusal(error: Any) -> Refused:
    code, text = (error.get("code"), error.get("message")) if isinstance(error, dict) else (None, error)
    shown = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
    return Refused(f"MCP RPC error {code}: {shown if len(shown) <= MOST_SHOWN else shown[:MOST_SHOWN] + '...'}")
