"""WebSocket connections to a server. `ws/listen` is a macro over these (semac/expand/prelude.sema).

A connection belongs to the asyncio loop it was opened in. It answers pings and receives messages whenever that loop
runs, which is while anything in the program waits.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache

from sema_runtime.catalogue import builtin
from sema_runtime.lib.files.streams import Stream, stream_close
from sema_runtime.support.missing_packages import package_missing
from sema_runtime.support.options import header_list, options_or_empty, positive
from sema_runtime.support.redaction import hidden, shown_url
from sema_runtime.support.text_arguments import text_of
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import IoError, SemaError, SemaTypeError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import MISSING, Map
from sema_runtime.values.printer import to_text
from sema_runtime.values.typenames import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from websockets.asyncio.client import ClientConnection

HANDSHAKE_MS = 30_000
BACKOFF_MS = 500
MAX_BACKOFF_MS = 30_000
CLOSE_SECONDS = 2  # how long a server may take to answer a close frame
MAX_BYTES = 64 << 20  # of a message that comes in
MAX_MESSAGES = 1024  # that wait to be received; then the server is made to wait
MAX_UNSENT = 16 << 20  # bytes that wait to be sent; then ws/send waits
MAX_PING = 125  # bytes, says the protocol
CLOSED = "connection is closed"
CLOSED_HINT = "the websocket has stopped (the server closed the connection, or it broke)"
SEND_HINT = "ws/send takes a string (text), a bytevector (binary) or a map ({:json v}, {:text s}, {:binary b}, or JSON)"


class WebSocket(Stream):
    """An open connection. ended: whether its end has been received; turn: the lock of the receiving task."""

    __slots__ = ("__weakref__", "ended", "socket", "turn", "url")

    def __init__(self, url: str, socket: ClientConnection) -> None:
        import asyncio
        import weakref

        super().__init__("websocket")
        self.url = url
        self.socket = socket
        self.turn = asyncio.Lock()
        self.ended = False
        weakref.finalize(self, _abandon, socket).atexit = False

    def read(self, count: int = -1) -> bytes:
        raise SemaError("stream/read: not supported on a websocket", "use (ws/recv conn) to receive messages")

    def write(self, data: bytes | bytearray) -> int:
        raise SemaError("stream/write: not supported on a websocket", "use (ws/send conn msg) to send messages")

    def is_open(self) -> bool:
        return not self.closed and self.socket.state.name == "OPEN"

    readable = writable = is_open

    def close(self) -> None:
        from sema_runtime.tasks import finish
        from sema_runtime.tasks.scheduler import scheduler

        if self.socket.loop is scheduler().loop():
            finish(self.socket.close())
        else:
            _abandon(self.socket)


def _abandon(socket: ClientConnection) -> None:
    """Drops the connection of a value that no longer exists."""
    if not socket.loop.is_closed():
        socket.loop.call_soon_threadsafe(socket.transport.abort)


def _websocket(function: str, value: Any) -> WebSocket:
    """The value, checked to be a connection that can be used here."""
    if isinstance(value, WebSocket):
        from sema_runtime.tasks.scheduler import scheduler

        if value.socket.loop is not scheduler().loop():
            raise SemaError(f"{function}: the connection to {value.url} was opened in another thread or server")
        return value
    if isinstance(value, Stream):
        raise SemaTypeError("websocket", value.kind, f"{function} expects a websocket, got a {value.kind} stream")
    type_error("websocket", value, f"{function} expects a websocket connection as argument 1")


# Connecting


@builtin("ws/connect", type="str, any? -> other", cap="network")
def ws_connect(url: Any, options: Any = None) -> WebSocket:
    """Opens a WebSocket connection to a `ws://` or `wss://` URL. Use it in `with-open` to close it.

    options: a map of
    - :headers, a map of headers for the handshake
    - :subprotocols, a list of names that the server may choose from
    - :timeout, milliseconds for the handshake; 30000 without it
    - :retries, how often a failed handshake is retried, and :retry-backoff-ms, the delay before the first retry (500;
      doubled each time, at most 30000)
    - :max-bytes, the size limit of a received message; 64 MiB without it

    ; (with-open (c (ws/connect "wss://example.com/chat")) (ws/send c "hello") (println (:text (ws/recv c))))
    ; (ws/connect "wss://example.com/feed" {:headers {:authorization "Bearer x"} :timeout 5000 :retries 3})
    """
    from sema_runtime.tasks import suspend

    target = text_of(url)
    if not target.startswith(("ws://", "wss://")):
        raise SemaError(
            f"ws/connect: not a websocket URL: {shown_url(target)}", "the URL must start with ws:// or wss://"
        )
    settings = options_or_empty(options)
    attempt = _Attempt(target, settings)
    for number in range(_count(attempt.where, settings, "retries", 0) + 1):
        if number:
            attempt.back_off(number)
        socket = suspend(attempt.connected())
        if socket is not None:
            return WebSocket(shown_url(target), socket)
    raise attempt.failure


def _count(where: str, options: Map, name: str, default: int) -> int:
    value = options.lookup(keyword(name), default)
    if type(value) is not int or value < 0:
        raise SemaError(f"{where}: :{name} must be a non-negative integer, got {to_text(value)}")
    return value


class _Attempt:
    """A handshake that can be repeated. failure: what went wrong the last time."""

    def __init__(self, url: str, options: Map) -> None:
        self.where = f"ws/connect {shown_url(url)}"
        self.url = url
        self.timeout = positive(self.where, options, "timeout") or HANDSHAKE_MS
        self.backoff = _count(self.where, options, "retry-backoff-ms", BACKOFF_MS)
        self.failure = IoError(self.where)
        self.settings: dict[str, Any] = {
            "additional_headers": self._headers(options),
            "subprotocols": self._subprotocols(options) or None,
            "user_agent_header": "semac",
            "compression": None,
            "open_timeout": None,
            "ping_interval": None,  # the loop doesn't run while the program computes: pongs may be late
            "close_timeout": CLOSE_SECONDS,
            "max_size": int(positive(self.where, options, "max-bytes") or MAX_BYTES),
            "max_queue": MAX_MESSAGES,
            "write_limit": MAX_UNSENT,
        }
        from urllib.parse import urlsplit

        with suppress(ValueError):  # the message of websockets names the problem with the URL
            parts = urlsplit(url)
            self.settings["proxy"] = _proxy_of(
                parts.hostname or "", parts.port or (443 if parts.scheme == "wss" else 80)
            )
        if url.startswith("wss:"):
            from sema_runtime.net.tls import tls_context

            self.settings["ssl"] = tls_context()

    def _headers(self, options: Map) -> list[tuple[str, str]]:
        from sema_runtime.net.failures import Failure
        from sema_runtime.net.http import checked_header

        try:
            return [checked_header(name, value) for name, value in header_list(options.lookup(keyword("headers")))]
        except Failure as failure:
            raise IoError(f"{self.where}: {failure.reason}") from None

    def _subprotocols(self, options: Map) -> list[str]:
        names = options.lookup(keyword("subprotocols"), ())
        if not isinstance(names, (List, tuple, list)):
            raise SemaError(f"{self.where}: :subprotocols must be a list of strings, got {to_text(names)}")
        return [text_of(name) for name in names]

    def back_off(self, number: int) -> None:
        """Waits before another try."""
        from sema_runtime.tasks import sleep

        sleep(min(self.backoff * 2 ** min(number - 1, 16), MAX_BACKOFF_MS))

    async def connected(self) -> ClientConnection | None:
        """The connection, None when the handshake failed. Raises what trying again can't mend."""
        import asyncio

        connect = _connector(_library().connect)
        from websockets.exceptions import InvalidURI, WebSocketException

        try:
            async with asyncio.timeout(self.timeout / 1000):
                return await connect(self.url, **self.settings)  # type: ignore[no-any-return]
        except TimeoutError:
            self.failure = IoError(f"{self.where}: handshake timed out after {self.timeout:g}ms")
        except InvalidURI as error:
            raise IoError(f"{self.where}: invalid URL: {error.msg}") from None
        except OSError as error:
            self.failure = IoError(f"{self.where}: could not connect ({_reason(error)})")
        except (ValueError, ImportError) as error:  # a host or subprotocol that can't be, a proxy that needs a package
            raise IoError(f"{self.where}: {error}") from None
        except (WebSocketException, EOFError) as error:
            self.failure = IoError(f"{self.where}: {_reason(error)}")
        return None


def _library() -> Any:
    try:
        import websockets.asyncio.client
    except ImportError:
        raise package_missing("ws/connect", "websockets", "web") from None
    return websockets.asyncio.client


@cache
def _connector(connect: Any) -> Any:
    """websockets' way to connect, with our rules for proxies and for redirects to other origins."""
    from sema_runtime.net.redirects import HARMLESS

    class Connector(connect):  # type: ignore[misc]
        additional_headers: Any

        def process_redirect(self, error: Exception) -> Any:
            from websockets.datastructures import Headers
            from websockets.uri import parse_uri

            before = self.ws_uri
            target = super().process_redirect(error)
            if isinstance(target, str):
                after = parse_uri(target)
                self.proxy = _proxy_of(after.host, after.port)
                headers = self.additional_headers
                if headers and (before.secure, before.host, before.port) != (after.secure, after.host, after.port):
                    pairs = Headers(headers).raw_items()
                    self.additional_headers = [(name, text) for name, text in pairs if name.lower() in HARMLESS]
            return target

    return Connector


def _proxy_of(host: str, port: int) -> bool | None:
    """Whether websockets is to look for a proxy; None for no."""
    from sema_runtime.net.proxies import is_direct

    return None if is_direct(host, port) else True


def _reason(error: BaseException) -> str:
    from sema_runtime.net.failures import cause_of

    return cause_of(error) or str(error) or type(error).__name__


# Messages


@builtin("ws/send", type="other, str|bytevector|dict -> nil", cap="network")
def ws_send(connection: Any, message: Any) -> None:
    """Sends a message: a string as text, a bytevector as binary, a map as JSON.

    A message `{:text s}`, `{:binary b}` or `{:json v}` states how to send it. The function waits only while the server
    leaves more than 16 MiB unread.

    ; (define c (ws/connect "wss://example.com/chat"))
    ; (ws/send c "hello")
    ; (ws/send c {:type "chat" :body 1})
    ; (ws/send c {:json [1 2 3]})
    """
    from sema_runtime.tasks import suspend

    websocket = _websocket("ws/send", connection)
    if websocket.closed:
        raise SemaError(f"ws/send: {CLOSED}")
    suspend(_sent("ws/send", websocket.socket.send, _frame(message)))


def _frame(message: Any) -> str | bytes:
    """What is sent for a value: text or bytes."""
    if isinstance(message, (str, bytes)):
        return message
    if isinstance(message, bytearray):
        return bytes(message)
    if not isinstance(message, (Map, dict)):
        type_error("string, bytevector, or map", message, SEND_HINT)
    from sema_runtime.web.responses import json_text

    tagged = options_or_empty(message)
    inner = tagged.lookup(keyword("json"), MISSING)
    if inner is not MISSING:
        return json_text(inner)
    inner = tagged.lookup(keyword("text"), MISSING)
    if inner is not MISSING:
        if not isinstance(inner, str):
            type_error("string", inner, "ws/send {:text …} expects a string")
        return inner
    inner = tagged.lookup(keyword("binary"), MISSING)
    if inner is not MISSING:
        if not isinstance(inner, (bytes, bytearray)):
            type_error("bytevector", inner, "ws/send {:binary …} expects a bytevector")
        return bytes(inner)
    return json_text(message)


async def _sent(function: str, send: Callable[[Any], Any], data: str | bytes) -> None:
    from websockets.exceptions import ConcurrencyError, ConnectionClosed

    try:
        await send(data)
    except ConnectionClosed:
        raise SemaError(f"{function}: {CLOSED}", CLOSED_HINT) from None
    except ConcurrencyError:
        pass  # a ping of that payload is under way already


@builtin("ws/ping", type="other, str|bytevector? -> nil", cap="network")
def ws_ping(connection: Any, payload: Any = b"") -> None:
    """Sends a ping, with an optional payload (string or bytevector of up to 125 bytes). The server's answer isn't
    shown.

    ; (define c (ws/connect "wss://example.com/chat"))
    ; (ws/ping c "still there?")
    """
    from sema_runtime.tasks import suspend

    websocket = _websocket("ws/ping", connection)
    if websocket.closed:
        raise SemaError(f"ws/ping: {CLOSED}")
    if not isinstance(payload, (str, bytes, bytearray)):
        type_error("string or bytevector", payload, "ws/ping payload must be a string or bytevector")
    data = payload.encode() if isinstance(payload, str) else bytes(payload)
    if len(data) > MAX_PING:
        raise SemaError(f"ws/ping: a payload has at most {MAX_PING} bytes, got {len(data)}")
    suspend(_sent("ws/ping", websocket.socket.ping, data))


@builtin("ws/recv", type="other -> map keyword (str|bytevector|map keyword (int|str))|nil fresh", cap="network")
def ws_recv(connection: Any) -> Map | None:
    """Waits for the next message: `{:text "..."}` or `{:binary #u8(...)}`.

    When the server has closed the connection, returns `{:close {:code 1000 :reason ""}}` once and then nil. Raises an
    error when the connection breaks.

    ; (define c (ws/connect "wss://example.com/chat"))
    ; (match (ws/recv c) ({:text text} (println text)) ({:close info} (println "closed" (:code info))))
    """
    from sema_runtime.tasks import suspend

    received: Map | None = suspend(_received(_websocket("ws/recv", connection), "ws/recv"))
    return received


@builtin(
    "ws/recv-timeout",
    type="other, int -> map keyword (str|bytevector|map keyword (int|str))|keyword|nil fresh",
    cap="network",
)
def ws_recv_timeout(connection: Any, milliseconds: Any) -> Map | Keyword | None:
    """Like ws/recv, but returns `:timeout` when nothing arrives within a number of milliseconds.

    ; (define c (ws/connect "wss://example.com/chat"))
    ; (ws/recv-timeout c 2000)
    """
    from sema_runtime.tasks import suspend

    websocket = _websocket("ws/recv-timeout", connection)
    if type(milliseconds) is not int:
        raise SemaTypeError(
            "int", type_name(milliseconds), "ws/recv-timeout: argument 2 is the timeout in milliseconds"
        )
    received: Map | Keyword | None = suspend(_received_within(websocket, max(0, milliseconds) / 1000))
    return received


async def _received_within(connection: WebSocket, seconds: float) -> Map | Keyword | None:
    import asyncio

    await asyncio.sleep(0)  # so that what has come already is found, however short the time
    try:
        async with asyncio.timeout(seconds):
            return await _received(connection, "ws/recv-timeout")
    except TimeoutError:
        return keyword("timeout")


async def _received(connection: WebSocket, function: str) -> Map | None:
    """The next message; tasks that receive from the same connection wait for each other."""
    from websockets.exceptions import ConnectionClosed

    async with connection.turn:
        try:
            message = await connection.socket.recv()
        except ConnectionClosed as closed:
            return _end(connection, function, closed)
    return Map({keyword("text" if isinstance(message, str) else "binary"): message})


def _end(connection: WebSocket, function: str, closed: Any) -> Map | None:
    """The message for the end of the connection; nil from the second time on."""
    if connection.ended or connection.closed:
        return None
    connection.ended = True
    if closed.sent is not None and not closed.rcvd_then_sent:  # what came broke the protocol or a limit
        raise IoError(f"{function} {connection.url}: {hidden(str(closed.sent.reason or closed.sent))}")
    if closed.rcvd is not None:
        info = Map({keyword("code"): closed.rcvd.code, keyword("reason"): closed.rcvd.reason})
        return Map({keyword("close"): info})
    raise IoError(f"{function} {connection.url}: connection lost without a closing handshake")


@builtin("ws/close", type="other -> nil", cap="network")
def ws_close(connection: Any) -> None:
    """Closes a connection; closing it again does nothing.

    ; (define c (ws/connect "wss://example.com/chat"))
    ; (ws/close c)
    """
    stream_close(_websocket("ws/close", connection))


@builtin("ws/connected?", type="other -> bool", cap="network")
def ws_is_connected(connection: Any) -> bool:
    """Whether the connection is open on both sides.

    ; (define c (ws/connect "wss://example.com/chat"))
    ; (ws/connected? c) => #t
    """
    import asyncio

    from sema_runtime.tasks import suspend

    websocket = _websocket("ws/connected?", connection)
    if not websocket.is_open():
        return False
    suspend(asyncio.sleep(0))  # lets the connection hear of its end
    return websocket.is_open()
