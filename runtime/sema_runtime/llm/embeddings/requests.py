"""Embeddings of texts: cassette, then one provider (no retries, no fallback), then recording, usage and budget.

Long lists are split into requests of the size that the provider takes, a few of them concurrent. When one fails or the
task is cancelled, the others are given up; what was answered by then is counted and charged.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from sema_runtime import tasks
from sema_runtime.llm import policy_guard
from sema_runtime.llm.budgets import usage
from sema_runtime.llm.calls import Call
from sema_runtime.llm.embedders import Embedder
from sema_runtime.llm.embeddings.attempt import EndpointAttempt, ReportedUsage
from sema_runtime.llm.embeddings.vectors import packed, unpacked
from sema_runtime.llm.messages import Reply, Usage
from sema_runtime.llm.observers import observed
from sema_runtime.llm.providers import registry
from sema_runtime.llm.recordings import cassette as cassettes
from sema_runtime.llm.recordings.cassette import Cassette
from sema_runtime.values.errors import LlmError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

AT_ONCE = 8  # concurrent requests of one call


@dataclass(slots=True, frozen=True)
class EmbedRequest:
    """model: "" for the provider's default. timeout_ms: of each request; None for 120 s."""

    texts: list[str]
    model: str = ""
    timeout_ms: int | None = None


@dataclass(slots=True)
class Answers:
    """What has come so far. embeddings: by the index of their text. model: as the provider names it."""

    embeddings: list[bytes]
    reported: ReportedUsage = field(default_factory=ReportedUsage)
    model: str = ""

    def add(self, start: int, embeddings: list[bytes], used: Usage, model: str) -> None:
        self.embeddings[start : start + len(embeddings)] = embeddings
        self.reported.add(used)
        self.model = model


def embed(request: EmbedRequest) -> list[bytes]:
    """Returns one embedding for each text, in order.

    Raises LlmError: from the provider, for a cassette miss, or when the budget is overspent; PolicyDenied: for what a
    workflow's policy forbids."""
    if not request.texts:
        return []
    guard = policy_guard.current.get()
    if guard is not None:
        request = _allowed(guard, request)
    with observed(Call("embeddings", model=request.model, payload=request)) as call:
        cassette = cassettes.current()
        embeddings = _ask(call, request) if cassette is None else _recorded(call, request, cassette)
        usage.track(call)
    return embeddings


def _allowed(guard: policy_guard.Guard, request: EmbedRequest) -> EmbedRequest:
    try:
        embedder = registry().require_embedder()
    except LlmError:  # a cassette may have the answer
        return replace(request, texts=guard.texts("", request.model, request.texts))
    return replace(request, texts=guard.texts(embedder.provider, request.model or embedder.model, request.texts))


def _recorded(call: Call, request: EmbedRequest, cassette: Cassette) -> list[bytes]:
    """Returns the embeddings on the cassette, else asks and records. The key holds the model that the program gave."""
    key = cassettes.embed_key(request.model, request.texts)
    entry = cassette.find(key)
    if entry is not None:
        call.replayed = True
        usage.measure(call, cassettes.reply_of(entry))
        return _embeddings_in(entry, len(request.texts), key)
    embeddings = _ask(call, request)
    vectors = [list(unpacked(embedding)) for embedding in embeddings]
    cassette.record_embeddings(key, call.model, vectors, call.usage.prompt if call.usage else 0)
    return embeddings


def _embeddings_in(entry: dict[str, Any], texts: int, key: str) -> list[bytes]:
    """Returns the embeddings of an entry. Raises LlmError when they aren't one for each text."""
    try:
        embeddings = [packed(numbers) for numbers in entry["embeddings"]]
    except (KeyError, TypeError, OverflowError):
        embeddings = []
    if len(embeddings) != texts:
        raise LlmError(
            f"cassette entry {key} holds {len(embeddings)} embeddings for {texts} texts",
            hint="the cassette is damaged: record it again",
        )
    return embeddings


def _ask(call: Call, request: EmbedRequest) -> list[bytes]:
    """Asks the provider and measures the call."""
    embedder = registry().require_embedder()
    model = request.model or embedder.model
    answers = Answers([b""] * len(request.texts))
    with EndpointAttempt(call, embedder, model, request.texts, answers.reported):
        _fill(embedder, request, model, answers)
    usage.measure(call, Reply("", answers.model or model, answers.reported.usage, provider=embedder.provider))
    if embedder.wire == "local":
        call.cost_usd = 0.0
    return answers.embeddings


def _fill(embedder: Embedder, request: EmbedRequest, model: str, answers: Answers) -> None:
    """Fills answers with all embeddings. Raises ProviderError; answers then holds what came before."""
    if embedder.wire == "sema":
        from sema_runtime.llm.embeddings import sema_functions

        answers.add(0, *sema_functions.embed(embedder, request.texts, model))
    elif embedder.wire == "local":
        from sema_runtime.llm.embeddings import local_model

        answers.add(0, *local_model.embed(embedder, request.texts, model))
    else:
        tasks.suspend(_fill_from_server(embedder, request, model, answers))


async def _fill_from_server(embedder: Embedder, request: EmbedRequest, model: str, answers: Answers) -> None:
    from sema_runtime.llm.embeddings import transport

    turns = asyncio.Semaphore(AT_ONCE)

    async def ask(start: int, texts: list[str]) -> None:
        async with turns:
            answers.add(start, *await transport.embed(embedder, texts, model, request.timeout_ms))

    requests = [asyncio.ensure_future(ask(start, texts)) for start, texts in parts(embedder, request.texts)]
    try:
        await asyncio.gather(*requests)
    finally:
        for request_task in requests:
            request_task.cancel()
        for error in await asyncio.gather(*requests, return_exceptions=True):
            if error is not None:
                answers.reported.failed(error)
    transport.check_lengths(answers.embeddings)


def parts(embedder: Embedder, texts: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yields the texts in batches that the provider takes in one request, each with the index of its first text."""
    start, size = 0, 0
    for place, text in enumerate(texts):
        length = len(text.encode("utf-8", "replace"))
        if place > start and (place - start >= embedder.max_texts or size + length > embedder.max_bytes):
            yield start, texts[start:place]
            start, size = place, 0
        size += length
    yield start, texts[start:]
