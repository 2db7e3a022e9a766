"""The layers around one completion, outermost first: cache, cassette, rate limit, provider chain with retries, then
cache store, recording, usage and budget. Streams pass through the same layers except the cache."""

from __future__ import annotations

from collections.abc import Callable
from time import time_ns
from typing import Any

from sema_runtime.llm import fallback
from sema_runtime.llm import guard as guards
from sema_runtime.llm.attempt import ChatAttempt
from sema_runtime.llm.budgets import budget, usage
from sema_runtime.llm.calls import Call
from sema_runtime.llm.messages import Reply, Request, Usage
from sema_runtime.llm.observers import observed
from sema_runtime.llm.providers import Provider, registry
from sema_runtime.llm.recordings import cache, cassette
from sema_runtime.support.visible import tell
from sema_runtime.values.errors import LlmError

Attempt = Callable[[Provider, str], Reply]
OnChunk = Callable[[str], Any]


def complete(request: Request) -> Reply:
    """One completion. Raises LlmError: from the provider, for a cassette miss, or when the budget is overspent;
    PolicyDenied: for what a workflow's policy forbids."""
    guard = guards.current.get()
    return _complete(request) if guard is None else guard.complete(request, _complete)


def _complete(request: Request) -> Reply:
    with observed(Call("chat", request)) as call:
        tape = cassette.current()
        settings = cache.scope.get() if tape is None else None
        reply = _cached(call, settings) if settings is not None else _answered(call, tape)
        usage.measure(call, reply)
        usage.track(call)
    return reply


def _cached(call: Call, settings: cache.Settings) -> Reply:
    """From the response cache, or asked and kept there."""
    request = call.chat_request
    key = cache.key_of(request, _first_model(request))
    entry = cache.store.find(key, settings.ttl)
    if entry is not None:
        call.cached = True
        return Reply(entry.content, entry.model, Usage(), stop_reason="cache_hit", provider="cache")
    reply = _asked(call)
    cache.store.keep(key, reply)
    return reply


def _first_model(request: Request) -> str:
    """The model the first provider in line would be asked for."""
    entries = fallback.chain.get()
    provider = registry().providers.get(entries[0].provider) if entries else registry().default()
    pinned = (entries[0].model if entries else None) or request.model
    return pinned or (provider.default_model if provider is not None else "")


def _answered(call: Call, tape: cassette.Cassette | None) -> Reply:
    """From the tape, or asked and recorded. The key holds the model as the caller gave it."""
    if tape is None:
        return _asked(call)
    request = call.chat_request
    key = cassette.key_of(request)
    entry = tape.find(key, cassette.key_without_pictures(request))
    if entry is not None:
        call.replayed = True
        return cassette.reply_of(entry)
    reply = _asked(call)
    tape.record("complete", key, reply, [])
    return reply


def _asked(call: Call) -> Reply:
    from sema_runtime.llm import transport
    from sema_runtime.llm.retry import with_retries

    request = call.chat_request

    def attempt(provider: Provider, model: str) -> Reply:
        with ChatAttempt(call, provider, model) as attempt:
            return attempt.succeeded(transport.send(provider, request, model))

    fallback.wait_for_slot()
    return _first_success(
        request, lambda provider, model: with_retries(lambda: attempt(provider, model), told=call.retry)
    )


def _first_success(request: Request, attempt: Attempt, may_go_on: Callable[[], bool] = lambda: True) -> Reply:
    """Tries each provider in line. may_go_on: whether a failure may still be followed by another attempt."""
    targets = fallback.targets(request)
    guard = guards.current.get()
    if guard is not None:
        attempt = _checked(guard, attempt)
    for provider, model in targets[:-1]:
        try:
            return attempt(provider, model)
        except LlmError as error:
            if not may_go_on():
                raise
            tell(f"Provider '{provider.name}' failed: {error.message}, trying next...")
    return attempt(*targets[-1])


def _checked(guard: guards.Guard, attempt: Attempt) -> Attempt:
    def checked(provider: Provider, model: str) -> Reply:
        guard.target(provider.name, model)
        return attempt(provider, model)

    return checked


def stream(request: Request, on_chunk: OnChunk) -> Reply:
    """One streamed completion; on_chunk gets each piece of text. Raises as `complete`, and what on_chunk raises."""
    budget.check_stream()
    guard = guards.current.get()
    return _stream(request, on_chunk) if guard is None else guard.stream(request, on_chunk, _stream)


def _stream(request: Request, on_chunk: OnChunk) -> Reply:
    with observed(Call("chat", request, streaming=True)) as call:
        tape = cassette.current()
        reply = _streamed(call, on_chunk)[0] if tape is None else _replayed_stream(call, tape, on_chunk)
        usage.measure(call, reply)
        usage.track(call)
    return reply


def _replayed_stream(call: Call, tape: cassette.Cassette, on_chunk: OnChunk) -> Reply:
    request = call.chat_request
    key = cassette.key_of(request)
    entry = tape.find(key, cassette.key_without_pictures(request))
    if entry is not None:
        call.replayed = True
        for chunk in cassette.chunks_of(entry):
            on_chunk(chunk)
        return cassette.reply_of(entry)
    reply, chunks = _streamed(call, on_chunk)
    tape.record("stream", key, reply, chunks)
    return reply


def _streamed(call: Call, on_chunk: OnChunk) -> tuple[Reply, list[str]]:
    """The reply and its pieces. Fails over to the next provider only before the first piece."""
    from sema_runtime.llm import transport

    request = call.chat_request
    chunks: list[str] = []

    def keep(chunk: str) -> None:
        if not chunks:
            call.first_piece = time_ns()
        chunks.append(chunk)
        on_chunk(chunk)

    def attempt(provider: Provider, model: str) -> Reply:
        with ChatAttempt(call, provider, model) as attempt:
            return attempt.succeeded(transport.stream(provider, request, model, keep, attempt.read_by))

    fallback.wait_for_slot()
    return _first_success(request, attempt, lambda: not chunks), chunks
