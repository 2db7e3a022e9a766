"""One request to one provider, without retries: sends the wire's body, returns a Reply or raises ProviderError."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

from sema_runtime import tasks
from sema_runtime.llm import http, sema_provider
from sema_runtime.llm.error_hints import with_hints
from sema_runtime.llm.errors import ProviderError, api_error, parse_error
from sema_runtime.llm.messages import Reply, Request, Usage
from sema_runtime.llm.providers import Provider
from sema_runtime.llm.tools import names as tool_names
from sema_runtime.llm.wires import replies
from sema_runtime.llm.wires.common import error_text, status_error
from sema_runtime.support.json_input import loads

MAX_CORRECTIONS = 7

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sema_runtime.net.sse import Event
    from sema_runtime.tasks.bridge import PieceBridge

OnChunk = Callable[[str], Any]


def wire_of(provider: Provider) -> Any:
    """Returns the module of the provider's wire: url, headers, body, parse, learn, splitter, StreamReader."""
    return import_module(f"sema_runtime.llm.wires.{provider.wire}")


def send(provider: Provider, request: Request, model: str) -> Reply:
    """Makes one completion. Raises ProviderError."""
    if provider.wire == "sema":
        request = _for_model(request, model)
        with with_hints(provider, model):
            reply = sema_provider.complete(provider, request)
        reply.provider = provider.name
        return reply
    return tasks.suspend(send_async(provider, request, model))  # type: ignore[no-any-return]


def _for_model(request: Request, model: str) -> Request:
    return request if request.model == model else replace(request, model=model)


async def send_async(provider: Provider, request: Request, model: str) -> Reply:
    """As `send`, as a coroutine, for network providers."""
    request, names = tool_names.sendable(_for_model(request, model))
    wire = wire_of(provider)
    with with_hints(provider, request.model):
        url = wire.url(provider, request, False)
        for _ in range(MAX_CORRECTIONS + 1):
            answer = await http.post(
                url, wire.headers(provider), wire.body(provider, request, False), request.timeout_ms
            )
            if answer.status != 400 or used_by(wire, answer.text) or not wire.learn(provider, request, answer.text):
                break
        if not 200 <= answer.status < 300:
            error = wire_error(provider, answer)
            error.used = used_by(wire, answer.text)
            raise error
        reply = parse_reply(wire, answer.text, request)
    reply.provider = provider.name
    return tool_names.restored(reply, names)


def parse_reply(wire: Any, text: str, request: Request) -> Reply:
    """Returns the reply in the body of a success. Raises ProviderError, marked as maybe billed."""
    try:
        return replies.checked(replies.read(wire.parse, text, request), request.model)
    except ProviderError as error:
        error.used = used_by(wire, text)
        error.maybe_billed = True
        raise


def used_by(wire: Any, text: str) -> Usage | None:
    """Returns the usage in the reply to a failed request, if any."""
    if '"usage' not in text and "_count" not in text:
        return None
    try:
        used: Usage = wire.usage_in(loads(text))
    except replies.MALFORMED:
        return None
    return used if used.total else None


class BufferedReply:
    """A reply that came as a whole, with the interface of a streamed one."""

    began = True

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    def so_far(self) -> tuple[str, Usage]:
        return self._reply.content, self._reply.usage


class StreamedReply:
    """What a stream has brought. began: whether it has brought anything but an error. failed: the error of an event
    after texts in the same piece, which are delivered first. events: how many brought something, or may have."""

    def __init__(self, wire: Any, request: Request) -> None:
        self.reader = wire.StreamReader(request)
        self.so_far: Callable[[], tuple[str, Usage]] = self.reader.so_far
        self.began = False
        self.failed: ProviderError | None = None
        self.events = 0
        self._wire, self._request = wire, request
        self._splitter = wire.splitter()
        self._raw = bytearray()  # all bytes before the first event
        self._mender = replies.Mender()

    def take(self, piece: bytes) -> list[str]:
        """Returns the texts in a piece of the stream."""
        if not self.began:
            self._raw += piece
        return self._texts(self._splitter.feed(piece))

    def _texts(self, events: list[Event]) -> list[str]:
        texts: list[str] = []
        for event in events:
            try:
                text = self._mender.feed(replies.read(self.reader.feed, event))
            except ProviderError as error:
                if not texts:
                    raise
                self.failed = error
                break
            if text:
                texts.append(text)
            self.began = True
            self.events += event.name != "ping"
        return texts

    def close(self) -> list[str]:
        """Returns the texts of an unfinished last event."""
        return [] if self.reader.done else self._texts(self._splitter.close())

    def end(self) -> tuple[Reply, str]:
        """Returns the whole reply and the last piece of its text. Raises ProviderError when it is incomplete."""
        if not self.began and (body := self._raw.strip()).startswith(b"{"):  # the server did not stream
            reply = parse_reply(self._wire, body.decode("utf-8", "replace"), self._request)
            self.began, self.so_far = True, BufferedReply(reply).so_far
            return reply, reply.content
        return replies.checked(self.reader.reply(), self._request.model), self._mender.rest()


def stream(provider: Provider, request: Request, model: str, on_chunk: OnChunk, watch: Callable[[Any], None]) -> Reply:
    """Makes one streamed completion; on_chunk gets each piece of text, in the caller's task. watch gets the reader of
    the stream once the server begins to answer; its so_far() returns what has come.

    Raises ProviderError, and what on_chunk raises.
    """
    request = _for_model(request, model)
    if provider.wire == "sema":
        reply = send(provider, request, model)
        watch(BufferedReply(reply))
        if reply.content:
            on_chunk(reply.content)
        return reply
    from sema_runtime.tasks.bridge import consume_pieces

    request, names = tool_names.sendable(request)
    with with_hints(provider, model):
        streamed: Reply = consume_pieces(
            lambda pieces: _stream_within_limit(provider, request, watch, pieces), on_chunk
        )
    streamed.provider = provider.name
    return tool_names.restored(streamed, names)


async def _stream_within_limit(
    provider: Provider, request: Request, watch: Callable[[Any], None], pieces: PieceBridge
) -> Reply:
    """Returns the reply that a stream adds up to; gives its texts to pieces as they come."""
    limit = request.timeout_ms
    if limit is None:
        return await _stream(provider, request, watch, pieces)
    try:
        async with asyncio.timeout(limit / 1000):
            return await _stream(provider, request, watch, pieces)
    except TimeoutError:
        raise http.no_reply(wire_of(provider).url(provider, request, True), limit) from None


async def _stream(provider: Provider, request: Request, watch: Callable[[Any], None], pieces: PieceBridge) -> Reply:
    source = await _open(provider, request)
    try:
        reply = StreamedReply(wire_of(provider), request)
        watch(reply)

        def give(texts: list[str]) -> None:
            if texts:
                pieces.give(texts)
            if reply.failed is not None:
                raise reply.failed

        def take(piece: bytes) -> Awaitable[None] | bool:
            before = reply.events
            give(reply.take(piece))
            if reply.events > before:
                source.advanced()
            return pieces.room() if pieces.crowded() else not reply.reader.done

        await source.pour(take)
        give(reply.close())
        finished, last_text = reply.end()
        give([last_text] if last_text else [])
        return finished
    finally:
        await source.close()


async def _open(provider: Provider, request: Request) -> http.ByteStream:
    """Opens a stream that answers 200. Raises ProviderError."""
    wire = wire_of(provider)
    url = wire.url(provider, request, True)
    corrections = 0
    while True:
        source = http.ByteStream(url, wire.headers(provider), wire.body(provider, request, True))
        try:
            refusal = await source.open()
        except BaseException:
            await source.close()
            raise
        if refusal is None:
            return source
        await source.close()
        corrections += 1
        used = used_by(wire, refusal.text)
        over = used is not None or corrections > MAX_CORRECTIONS
        if refusal.status != 400 or over or not wire.learn(provider, request, refusal.text):
            error = wire_error(provider, refusal)
            if refusal.status == 200:
                error = parse_error(f"reply is not a stream: {refusal.text[:120]!r}")
            error.used = used
            raise error


def wire_error(provider: Provider, answer: http.HttpReply) -> ProviderError:
    """Returns the error for a reply that is not 2xx. Ollama's 429 is not special."""
    if provider.wire == "ollama":
        error = api_error(answer.status, error_text(answer.text))
        error.wait_ms = answer.retry_after_ms
        return error
    return status_error(answer.status, answer.text, answer.retry_after_ms)
