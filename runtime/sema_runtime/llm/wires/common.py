"""What the wires share: error bodies, JSON of tool arguments, lines of a stream."""

from __future__ import annotations

import json

from sema_runtime.llm.errors import ProviderError, api_error, config_error, network_error, parse_error, rate_limited
from sema_runtime.llm.messages import Image, Message, Reply, Request, ToolCall, Usage, tokens
from sema_runtime.net.sse import Event, SseParser
from sema_runtime.support.json_input import TooDeep, mended_json, received, reply
from sema_runtime.values.digits import TooManyDigits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PDF = "application/pdf"
MAX_EVENT = 64 << 20  # bytes
MESSAGE_LIMIT = 600  # characters of an error body worth showing


def decode(text: str) -> dict[str, Any]:
    """Returns the JSON object of a reply. Raises a parse error that shows the beginning of any other reply."""
    try:
        value = reply(text)
    except RecursionError:
        raise parse_error(f"reply is nested too deeply: {text[:120]!r}") from None
    except ValueError as error:
        raise parse_error(f"reply is not JSON ({error}): {text[:120]!r}") from None
    if not isinstance(value, dict):
        raise parse_error(f"expected a JSON object, got {text[:120]!r}")
    return value


def error_text(body: str) -> str:
    """Returns the message in an error body: `error.message`, `error`, `message`, else the text itself."""
    try:
        value = received(body)
    except ValueError:
        return body.strip()[:MESSAGE_LIMIT] or "(empty reply)"
    inner = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(inner, dict):
        inner = inner.get("message", inner)
    return (inner if isinstance(inner, str) else json.dumps(inner))[:MESSAGE_LIMIT]


def status_error(status: int, body: str, retry_after_ms: int | None) -> ProviderError:
    """Returns the error for a reply that is not 2xx. retry_after_ms: from its header."""
    if status == 429:
        return rate_limited(retry_after_ms, error_text(body) if body.strip() else "")
    error = api_error(status, error_text(body))
    error.wait_ms = retry_after_ms
    return error


def inner_error(error: Any, status: int = 200) -> ProviderError:
    """Returns the error in a reply or stream that began as a success: an object with a message, or a text."""
    message = error.get("message") or error if isinstance(error, dict) else error
    return api_error(status, str(message))


def arguments_of(text: Any) -> Any:
    """Returns tool arguments from their JSON text; {} for an empty or malformed text. Raises a parse error for an
    integer of too many digits and for too deep nesting."""
    if not isinstance(text, str):
        return mended_json(text) if isinstance(text, dict) else {}
    try:
        return received(text) if text.strip() else {}
    except (TooManyDigits, TooDeep) as error:
        raise parse_error(f"the arguments of a tool call can't be read: {error}") from None
    except ValueError:
        return {}


def arguments_text(arguments: Any) -> str:
    """Returns tool arguments as JSON text, as models write them: without escaped letters, which cost tokens."""
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


def count(usage: Any, *path: str) -> int:
    """Returns the token count at a path of a usage object, 0 if absent. Some servers write `12.0` or "12"."""
    for key in path:
        usage = usage.get(key) if isinstance(usage, dict) else None
    return tokens(usage)


def picture_type(image: Image) -> str:
    """Returns the media type to send. Raises a configuration error for bytes that are no picture."""
    if not image.media_type:
        raise config_error(
            "the image is none: it begins as no PNG, JPEG, GIF, WebP or PDF file does",
            hint="convert it first; message/with-image takes a :media-type for other kinds",
        )
    return image.media_type


def calls_so_far(request: Request) -> int:
    """Returns the number of tool calls in a conversation. A wire without ids of its own continues counting there, so
    that another provider can take over."""
    return sum(len(message.tool_calls) for message in request.messages)


def turns(
    messages: list[Message], field: str, result: Callable[[Message], Any], turn: Callable[[Message], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Returns the messages as turns, for wires that send system text apart and want the results of one turn's calls in
    one turn of the user. field: the key of a turn's parts; result: makes the part of a message with a result; turn:
    makes the turn of another message."""
    sent: list[dict[str, Any]] = []
    results: list[Any] | None = None
    for message in messages:
        if message.role == "tool":
            if results is None:
                results = []
                sent.append({"role": "user", field: results})
            results.append(result(message))
        elif message.role != "system":
            results = None
            sent.append(turn(message))
    return sent


class StreamReader:
    """Turns the events of a stream into pieces of text, and into the whole reply; `feed` is the wire's own."""

    def __init__(self, request: Request) -> None:
        self.done = False
        self._model = request.model
        self._text: list[str] = []
        self._usage = Usage()

    def _arguments(self) -> list[str]:
        """Returns the arguments of tools so far, as JSON texts."""
        raise NotImplementedError

    def so_far(self) -> tuple[str, Usage]:
        """Returns all text so far, with arguments of tools, and the usage reported so far."""
        return "".join(self._text + self._arguments()), self._usage

    def _require(self, is_complete: bool) -> None:
        """Raises a network error when the stream ended before the reply was complete."""
        if not is_complete:
            raise network_error("the stream ended before the reply was complete", maybe_billed=True)

    def _whole(self, calls: list[ToolCall], stop: str | None) -> Reply:
        return Reply("".join(self._text), self._model, self._usage, calls, stop)


class EventSplitter(SseParser):
    """Splits streams of server-sent events. Raises a parse error for an event that does not end."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting = 0

    def feed(self, piece: bytes) -> list[Event]:
        events = super().feed(piece)
        self._waiting = 0 if events else self._waiting + len(piece)
        if self._waiting > MAX_EVENT:
            raise parse_error(f"an event of the stream is longer than {MAX_EVENT} bytes")
        return events


class LineSplitter:
    """Splits streams of one JSON object a line: `feed(bytes)` and `close()` return the lines as events. Raises a parse
    error for a line that does not end."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._waiting = 0

    def feed(self, piece: bytes) -> list[Event]:
        *lines, rest = piece.split(b"\n")
        if lines:
            lines[0] = b"".join(self._parts) + lines[0]
            self._parts = []
            self._waiting = 0
        if rest:
            self._parts.append(rest)
            self._waiting += len(rest)
            if self._waiting > MAX_EVENT:
                raise parse_error(f"a line of the stream is longer than {MAX_EVENT} bytes")
        return [Event("", line.decode("utf-8", "replace")) for line in lines if line.strip()]

    def close(self) -> list[Event]:
        return self.feed(b"\n") if self._parts else []
