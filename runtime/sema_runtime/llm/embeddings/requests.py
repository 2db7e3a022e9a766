"""Embeddings of texts: cassette, then one provider (no retries, no fallback), then recording, usage and budget.

Long lists go out in requests of the size that the provider takes, a few of them at once. When one fails or the task is
cancelled, the others are given up; what was answered by then is counted and charged.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from sema_runtime import tasks
from sema_runtime.llm import guard as guards
from sema_runtime.llm.budgets import usage
from sema_runtime.llm.calls import Call
from sema_runtime.llm.embedders import Embedder
from sema_runtime.llm.embeddings.attempt import EndpointAttempt, ReportedUsage
from sema_runtime.llm.embeddings.vectors import packed, unpacked
from sema_runtime.llm.messages import Reply, Usage
from sema_runtime.llm.observers import observed
from sema_runtime.llm.providers import registry
from sema_runtime.llm.recordings import cassette
from sema_runtime.values.errors import LlmError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

AT_ONCE = 8  # requests of one call


@dataclass(slots=True, frozen=True)
class EmbedRequest:
    """model: "" for the provider's default. timeout_ms: of each request; None for 120 s."""

    texts: list[str]
    model: str = ""
    timeout_ms: int | None = None


@dataclass(slots=True)
class Answers:
    """What has come so far. embeddings: by the place of their text. model: as the provider calls it."""

    embeddings: list[bytes]
    reported: ReportedUsage = field(default_factory=ReportedUsage)
    model: str = ""

    def add(self, start: int, embeddings: list[bytes], used: Usage, model: str) -> None:
        self.embeddings[start : start + len(embeddings)] = embeddings
        self.reported.add(used)
        self.model = model


def embed(request: EmbedRequest) -> list[bytes]:
    """One embedding for each text, in order.

    Raises LlmError: from the provider, for a cassette miss, or when the budget is overspent; PolicyDenied: for what a
    workflow's policy forbids."""
    if not request.texts:
        return []
    guard = guards.current.get()
    if guard is not None:
        request = _allowed(guard, request)
    with observed(Call("embeddings", model=request.model, payload=request)) as call:
        tape = cassette.current()
        embeddings = _asked(call, request) if tape is None else _recorded(call, request, tape)
        usage.track(call)
    return embeddings


def _allowed(guard: guards.Guard, request: EmbedRequest) -> EmbedRequest:
    try:
        embedder = registry().require_embedder()
    except LlmError:  # a tape may have the answer
        return replace(request, texts=guard.texts("", request.model, request.texts))
    return replace(request, texts=guard.texts(embedder.provider, request.model or embedder.model, request.texts))


def _recorded(call: Call, request: EmbedRequest, tape: cassette.Cassette) -> list[bytes]:
    """From the tape, or asked and recorded. The key holds the model as the program gave it."""
    key = cassette.embed_key(request.model, request.texts)
    entry = tape.find(key)
    if entry is not None:
        call.replayed = True
        usage.measure(call, cassette.reply_of(entry))
        return _taped(entry, len(request.texts), key)
    embeddings = _asked(call, request)
    vectors = [list(unpacked(one)) for one in embeddings]
    tape.record_embeddings(key, call.model, vectors, call.usage.prompt if call.usage else 0)
    return embeddings


def _taped(entry: dict[str, Any], texts: int, key: str) -> list[bytes]:
    """What a tape holds. Raises LlmError when that isn't one embedding for each text."""
    try:
        found = [packed(numbers) for numbers in entry["embeddings"]]
    except (KeyError, TypeError, OverflowError):
        found = []
    if len(found) != texts:
        raise LlmError(
            f"cassette entry {key} holds {len(found)} embeddings for {texts} texts",
            hint="the tape is damaged: record it anew",
        )
    return found


def _asked(call: Call, request: EmbedRequest) -> list[bytes]:
    """From the provider; the call is measured."""
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
    """Asks for all embeddings. Raises ProviderError; answers holds what came before that."""
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

    asked = [asyncio.ensure_future(ask(start, texts)) for start, texts in parts(embedder, request.texts)]
    try:
        await asyncio.gather(*asked)
    finally:
        for one in asked:
            one.cancel()
        for error in await asyncio.gather(*asked, return_exceptions=True):
            if error is not None:
                answers.reported.failed(error)
    transport.check_lengths(answers.embeddings)


def parts(embedder: Embedder, texts: list[str]) -> Iterator[tuple[int, list[str]]]:
    """The texts in pieces that the provider takes in one request, each with the place of its first text."""
    start, size = 0, 0
    for place, text in enumerate(texts):
        length = len(text.encode("utf-8", "replace"))
        if place > start and (place - start >= embedder.max_texts or size + length > embedder.max_bytes):
            yield start, texts[start:place]
            start, size = place, 0
        size += length
    yield start, texts[start:]
