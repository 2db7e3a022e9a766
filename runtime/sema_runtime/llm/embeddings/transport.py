"""One request for embeddings or a ranking to one provider, without retries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import isfinite

from sema_runtime.llm import http
from sema_runtime.llm.embedders import Embedder, Ranker
from sema_runtime.llm.embeddings.vectors import SIZE, packed
from sema_runtime.llm.errors import ProviderError, api_error, parse_error
from sema_runtime.llm.messages import Usage
from sema_runtime.llm.wires import embeddings as wire
from sema_runtime.llm.wires.common import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


async def embed(
    embedder: Embedder, texts: list[str], model: str, timeout_ms: int | None
) -> tuple[list[bytes], Usage, str]:
    """Returns one embedding for each text, the tokens, and the provider's name of the model. Raises ProviderError."""
    body = wire.body(embedder.wire, texts, model)
    reply = await _ask(embedder, wire.PATHS[embedder.wire], body, timeout_ms)
    with _usage_in_errors(reply):
        vectors = wire.embeddings_in(embedder.wire, reply)
        if len(vectors) != len(texts):
            raise parse_error(f"{len(vectors)} embeddings came for {len(texts)} texts")
        embeddings = [_packed(index, numbers) for index, numbers in enumerate(vectors)]
        check_lengths(embeddings)
    name = reply.get("model")
    return embeddings, wire.usage_in(reply), name if isinstance(name, str) and name else model


async def rank(
    ranker: Ranker, query: str, documents: list[str], model: str, top: int | None, timeout_ms: int | None
) -> tuple[list[tuple[int, float]], Usage]:
    """Returns (index, score) of documents in the order of the reply, and the tokens. Raises ProviderError."""
    body: dict[str, Any] = {"model": model, "query": query, "documents": documents}
    if top is not None:
        body[ranker.top_field] = top
    reply = await _ask(ranker, wire.RERANK_PATH, body, timeout_ms)
    with _usage_in_errors(reply):
        return wire.ranking_in(reply, ranker.results_field, len(documents)), wire.usage_in(reply)


async def _ask(endpoint: Embedder | Ranker, path: str, body: dict[str, Any], timeout_ms: int | None) -> dict[str, Any]:
    """Returns the reply's JSON. A 429 is an error like any other here; nothing is retried."""
    headers = {"authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
    answer = await http.post(endpoint.base_url + path, headers, body, timeout_ms)
    if not 200 <= answer.status < 300:
        error = api_error(answer.status, wire.error_text(answer.text))
        with suppress(ProviderError):
            error.used = wire.usage_in(decode(answer.text))
        raise error
    return decode(answer.text)


@contextmanager
def _usage_in_errors(reply: dict[str, Any]) -> Iterator[None]:
    """Adds the usage that a reply reports to the error that parsing it raises."""
    try:
        yield
    except ProviderError as error:
        error.used = wire.usage_in(reply)
        raise


def _packed(index: int, numbers: Any) -> bytes:
    if not isinstance(numbers, list) or not numbers:
        raise parse_error(f"embedding {index} is no list of numbers: {json.dumps(numbers)[:60]}")
    try:
        embedding = packed(numbers)
        if isfinite(sum(numbers)) or all(map(isfinite, numbers)):
            return embedding
    except (TypeError, OverflowError):
        pass
    wrong = next((number for number in numbers if type(number) not in (int, float) or not isfinite(number)), "")
    raise parse_error(f"embedding {index} holds {json.dumps(wrong)[:60]}, which is no finite number")


def check_lengths(embeddings: list[bytes]) -> None:
    """Raises ProviderError when embeddings of one call differ in their dimensions."""
    first = len(embeddings[0])
    for index, embedding in enumerate(embeddings):
        if len(embedding) != first:
            raise parse_error(
                f"embedding {index} has {len(embedding) // SIZE} dimensions, the first one {first // SIZE}"
            )
