"""One request to one provider, without retries: the wire format's body out, a Reply or a ProviderError back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

from sema_runtime import tasks
from sema_runtime.llm import http, sema_provider
from sema_runtime.llm.error_hints import asking
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
    from sema_runtime.tasks.bridge import Feed

OnChunk = Callable[[str], Any]


def wire_of(provider: Provider) -> Any:
    """The module of the provider's wire format: url, headers, body, parse, learn, splitter, StreamReader."""
    return import_module(f"sema_runtime.llm.wires.{provider.wire}")


def send(provider: Provider, request: Request, model: str) -> Reply:
    """One completion. Raises ProviderError."""
    if provider.wire == "sema":
        request = _for_model(request, model)
        with asking(provider, model):
            reply = sema_provider.complete(provider, request)
        reply.provider = provider.name
        return reply
    return tasks.suspend(send_async(provider, request, model))  # type: ignore[no-any-return]


def _for_model(request: Request, model: str) -> Request:
    return request if request.model == model else replace(request, model=model)


async def send_async(provider: Provider, request: Request, model: str) -> Reply:
    """As `send`, for a network provider."""
    request, names = tool_names.sendable(_for_model(request, model))
    wire = wire_of(provider)
    with asking(provider, request.model):
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
        reply = whole(wire, answer.text, request)
    reply.provider = provider.name
    return tool_names.restored(reply, names)


def whole(wire: Any, text: str, request: Request) -> Reply:
    """The reply in the body of a success. Raises ProviderError, which may be billed, whatever code it has inside."""
    try:
        return replies.checked(replies.read(wire.parse, text, request), request.model)
    except ProviderError as error:
        error.used = used_by(wire, text)
        error.maybe_billed = True
        raise


def used_by(wire: Any, text: str) -> Usage | None:
    """What the reply to a request that failed says it used, all the same."""
    if '"usage' not in text and "_count" not in text:
        return None
    try:
        used: Usage = wire.usage_in(loads(text))
    except replies.MALFORMED:
        return None
    return used if used.total else None


class Whole:
    """A reply that came in one piece, as a stream's reader."""

    began = True

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    def so_far(self) -> tuple[str, Usage]:
        return self._reply.content, self._reply.usage


class Reading:
    """What a stream has brought. began: whether that is anything but an error. failed: what is wrong with an event that
    came in one piece with texts before it, which are heard first."""

    def __init__(self, wire: Any, request: Request) -> None:
        self.reader = wire.StreamReader(request)
        self.so_far: Callable[[], tuple[str, Usage]] = self.reader.so_far
        self.began = False
        self.failed: ProviderError | None = None
        self.events = 0  # that bring something, or may
        self._wire, self._request = wire, request
        self._splitter = wire.splitter()
        self._raw = bytearray()  # what came before the first event
        self._mender = replies.Mender()

    def take(self, piece: bytes) -> list[str]:
        """The texts in a piece of the stream."""
        if not self.began:
            self._raw += piece
        return self._texts(self._splitter.feed(piece))

    def _texts(self, events: list[Event]) -> list[str]:
        found: list[str] = []
        for event in events:
            try:
                text = self._mender.feed(replies.read(self.reader.feed, event))
            except ProviderError as error:
                if not found:
                    raise
                self.failed = error
                break
            if text:
                found.append(text)
            self.began = True
            self.events += event.name != "ping"
        return found

    def close(self) -> list[str]:
        """The texts of an event without end behind the last piece."""
        return [] if self.reader.done else self._texts(self._splitter.close())

    def end(self) -> tuple[Reply, str]:
        """The whole reply, and a last piece of its text. Raises ProviderError when it isn't whole."""
        if not self.began and (body := self._raw.strip()).startswith(b"{"):  # the server doesn't stream
            reply = whole(self._wire, body.decode("utf-8", "replace"), self._request)
            self.began, self.so_far = True, Whole(reply).so_far
            return reply, reply.content
        return replies.checked(self.reader.reply(), self._request.model), self._mender.rest()


def stream(
    provider: Provider, request: Request, model: str, on_chunk: OnChunk, reading: Callable[[Any], None]
) -> Reply:
    """One streamed completion; on_chunk gets each piece of text, in the caller's task. reading gets what reads the
    stream, once the server has begun to answer: its so_far() tells what has come.

    Raises ProviderError, and what on_chunk raises.
    """
    request = _for_model(request, model)
    if provider.wire == "sema":
        reply = send(provider, request, model)
        reading(Whole(reply))
        if reply.content:
            on_chunk(reply.content)
        return reply
    from sema_runtime.tasks.bridge import feed

    request, names = tool_names.sendable(request)
    with asking(provider, model):
        finished: Reply = feed(lambda pieces: _texts(provider, request, reading, pieces), on_chunk)
    finished.provider = provider.name
    return tool_names.restored(finished, names)


async def _texts(provider: Provider, request: Request, reading: Callable[[Any], None], pieces: Feed) -> Reply:
    """The reply that a stream adds up to; its texts are given to pieces as they come."""
    limit = request.timeout_ms
    if limit is None:
        return await _read(provider, request, reading, pieces)
    try:
        async with asyncio.timeout(limit / 1000):
            return await _read(provider, request, reading, pieces)
    except TimeoutError:
        raise http.no_reply(wire_of(provider).url(provider, request, True), limit) from None


async def _read(provider: Provider, request: Request, reading: Callable[[Any], None], pieces: Feed) -> Reply:
    source = await _open(provider, request)
    try:
        read = Reading(wire_of(provider), request)
        reading(read)

        def give(texts: list[str]) -> None:
            if texts:
                pieces.give(texts)
            if read.failed is not None:
                raise read.failed

        def take(piece: bytes) -> Awaitable[None] | bool:
            before = read.events
            give(read.take(piece))
            if read.events > before:
                source.advanced()
            return pieces.room() if pieces.crowded() else not read.reader.done

        await source.pour(take)
        give(read.close())
        finished, rest = read.end()
        give([rest] if rest else [])
        return finished
    finally:
        await source.close()


async def _open(provider: Provider, request: Request) -> http.ByteStream:
    """A stream that has answered 200. Raises ProviderError."""
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
    """The error for a reply that is not 2xx. Ollama's 429 is one like any other."""
    if provider.wire == "ollama":
        error = api_error(answer.status, error_text(answer.text))
        error.wait_ms = answer.retry_after_ms
        return error
    return status_error(answer.status, answer.text, answer.retry_after_ms)
