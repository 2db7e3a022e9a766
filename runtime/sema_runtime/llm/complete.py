"""The layers around one completion, outermost first: cache, cassette, rate limit, fallback providers, retries; then
recording, usage and budget. Streams pass through the same layers except cache and retries."""

from __future__ import annotations

from collections.abc import Callable
from time import time_ns
from typing import Any

from sema_runtime.llm import fallback, policy_guard
from sema_runtime.llm.attempt import ChatAttempt
from sema_runtime.llm.budgets import budget, usage
from sema_runtime.llm.calls import Call
from sema_runtime.llm.messages import Reply, Request, Usage
from sema_runtime.llm.observers import observed
from sema_runtime.llm.providers import Provider, registry
from sema_runtime.llm.recordings import cache
from sema_runtime.llm.recordings import cassette as cassettes
from sema_runtime.llm.recordings.cassette import Cassette
from sema_runtime.support.visible import tell
from sema_runtime.values.errors import LlmError

AskProvider = Callable[[Provider, str], Reply]
OnChunk = Callable[[str], Any]


def complete(request: Request) -> Reply:
    """Makes one completion. Raises LlmError: from the provider, for a cassette miss, or when the budget is overspent;
    PolicyDenied: for what a workflow's policy forbids."""
    guard = policy_guard.current.get()
    return _complete(request) if guard is None else guard.complete(request, _complete)


def _complete(request: Request) -> Reply:
    with observed(Call("chat", request)) as call:
        cassette = cassettes.current()
        settings = cache.scope.get() if cassette is None else None
        reply = _cached(call, settings) if settings is not None else _recorded(call, cassette)
        usage.measure(call, reply)
        usage.track(call)
    return reply


def _cached(call: Call, settings: cache.Settings) -> Reply:
    """Returns the reply in the response cache, else asks and caches the answer."""
    request = call.chat_request
    key = cache.key_of(request, _first_model(request))
    entry = cache.store.find(key, settings.ttl)
    if entry is not None:
        call.cached = True
        return Reply(entry.content, entry.model, Usage(), stop_reason="cache_hit", provider="cache")
    reply = _ask(call)
    cache.store.keep(key, reply)
    return reply


def _first_model(request: Request) -> str:
    """Returns the model that the first provider would be asked for."""
    entries = fallback.chain.get()
    provider = registry().providers.get(entries[0].provider) if entries else registry().default()
    pinned = (entries[0].model if entries else None) or request.model
    return pinned or (provider.default_model if provider is not None else "")


def _recorded(call: Call, cassette: Cassette | None) -> Reply:
    """Returns the reply on the cassette, else asks and records. The key holds the model that the caller gave."""
    if cassette is None:
        return _ask(call)
    key, entry = _find(call, cassette)
    if entry is not None:
        return cassettes.reply_of(entry)
    reply = _ask(call)
    cassette.record("complete", key, reply, [])
    return reply


def _find(call: Call, cassette: Cassette) -> tuple[str, dict[str, Any] | None]:
    """Returns the call's key and its entry, None when the call must be made."""
    key = cassettes.key_of(call.chat_request)
    entry = cassette.find(key, cassettes.key_without_pictures(call.chat_request))
    call.replayed = entry is not None
    return key, entry


def _ask(call: Call) -> Reply:
    from sema_runtime.llm import transport
    from sema_runtime.llm.retry import with_retries

    request = call.chat_request

    def ask(provider: Provider, model: str) -> Reply:
        with ChatAttempt(call, provider, model) as attempt:
            return attempt.succeeded(transport.send(provider, request, model))

    fallback.wait_for_slot()
    return _first_success(
        request, lambda provider, model: with_retries(lambda: ask(provider, model), on_wait=call.retry)
    )


def _first_success(request: Request, ask: AskProvider, may_continue: Callable[[], bool] = lambda: True) -> Reply:
    """Asks each provider of the chain until one answers. may_continue: whether to ask the next one after a failure."""
    targets = fallback.targets(request)
    guard = policy_guard.current.get()
    if guard is not None:
        ask = _checked(guard, ask)
    for provider, model in targets[:-1]:
        try:
            return ask(provider, model)
        except LlmError as error:
            if not may_continue():
                raise
            tell(f"Provider '{provider.name}' failed: {error.message}, trying next...")
    return ask(*targets[-1])


def _checked(guard: policy_guard.Guard, ask: AskProvider) -> AskProvider:
    def check_and_ask(provider: Provider, model: str) -> Reply:
        guard.target(provider.name, model)
        return ask(provider, model)

    return check_and_ask


def stream(request: Request, on_chunk: OnChunk) -> Reply:
    """Streams one completion; on_chunk gets each piece of text. Raises as `complete`, and what on_chunk raises."""
    budget.check_stream()
    guard = policy_guard.current.get()
    return _stream(request, on_chunk) if guard is None else guard.stream(request, on_chunk, _stream)


def _stream(request: Request, on_chunk: OnChunk) -> Reply:
    with observed(Call("chat", request, streaming=True)) as call:
        cassette = cassettes.current()
        reply = _ask_stream(call, on_chunk)[0] if cassette is None else _recorded_stream(call, cassette, on_chunk)
        usage.measure(call, reply)
        usage.track(call)
    return reply


def _recorded_stream(call: Call, cassette: Cassette, on_chunk: OnChunk) -> Reply:
    key, entry = _find(call, cassette)
    if entry is not None:
        for chunk in cassettes.chunks_of(entry):
            on_chunk(chunk)
        return cassettes.reply_of(entry)
    reply, chunks = _ask_stream(call, on_chunk)
    cassette.record("stream", key, reply, chunks)
    return reply


def _ask_stream(call: Call, on_chunk: OnChunk) -> tuple[Reply, list[str]]:
    """Returns the reply and its pieces. The next provider is asked only if the first piece has not come."""
    from sema_runtime.llm import transport

    request = call.chat_request
    chunks: list[str] = []

    def take(chunk: str) -> None:
        if not chunks:
            call.first_piece = time_ns()
        chunks.append(chunk)
        on_chunk(chunk)

    def ask(provider: Provider, model: str) -> Reply:
        with ChatAttempt(call, provider, model) as attempt:
            return attempt.succeeded(transport.stream(provider, request, model, take, attempt.read_by))

    fallback.wait_for_slot()
    return _first_success(request, ask, lambda: not chunks), chunks
