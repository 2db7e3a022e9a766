"""Requests for embeddings and rankings: OpenAI's shape, which most providers speak, Cohere's and Nomic's.

    OpenAI   POST base/embeddings        {input, model}                                → data[].embedding
    Cohere   POST base/embed             {model, texts, input_type, embedding_types}   → embeddings.float
    Nomic    POST base/embedding/text    {model, texts, task_type}                     → embeddings
    all      POST base/rerank            {model, query, documents, top_n}              → [{index, relevance_score}]

It is also the wire of providers that don't chat: asked for a completion, it says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import isfinite

from sema_runtime.llm import http
from sema_runtime.llm.embeddings.providers import Embedder, Ranker
from sema_runtime.llm.embeddings.vectors import packed
from sema_runtime.llm.errors import ProviderError, api_error, config_error, parse_error
from sema_runtime.llm.messages import Request, Usage
from sema_runtime.llm.providers import Provider
from sema_runtime.llm.wires.common import count, decode, error_text
from sema_runtime.support.json_input import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

PATHS = {"openai": "/embeddings", "cohere": "/embed", "nomic": "/embedding/text"}


def url(provider: Provider, request: Request, stream: bool) -> NoReturn:
    """Where completions would be asked for. Raises ProviderError: there are none."""
    raise config_error(
        f"{provider.name} does not support chat completions (embedding-only provider)",
        "choose a provider for chat: (llm/set-default :name) or llm/configure",
    )


async def embed(
    embedder: Embedder, texts: list[str], model: str, timeout_ms: int | None
) -> tuple[list[bytes], Usage, str]:
    """(one embedding for each text, tokens, the model's name as the provider gives it). Raises ProviderError."""
    body = _body(embedder.wire, texts, model)
    reply = await _ask(embedder, PATHS[embedder.wire], body, timeout_ms)
    with _told(reply):
        found = _embeddings(embedder.wire, reply)
        if len(found) != len(texts):
            raise parse_error(f"{len(found)} embeddings came for {len(texts)} texts")
        embeddings = [_packed(index, numbers) for index, numbers in enumerate(found)]
        check_lengths(embeddings)
    name = reply.get("model")
    return embeddings, _usage(reply), name if isinstance(name, str) and name else model


async def rank(
    ranker: Ranker, query: str, documents: list[str], model: str, top: int | None, timeout_ms: int | None
) -> tuple[list[tuple[int, float]], Usage]:
    """(index and score of documents in the order of the reply, tokens). Raises ProviderError."""
    body: dict[str, Any] = {"model": model, "query": query, "documents": documents}
    if top is not None:
        body[ranker.top_field] = top
    reply = await _ask(ranker, "/rerank", body, timeout_ms)
    with _told(reply):
        results = reply.get(ranker.results_field)
        if not isinstance(results, list):
            raise parse_error(f"missing {ranker.results_field} in rerank response")
        return [_ranked(one, len(documents)) for one in results], _usage(reply)


def _body(wire: str, texts: list[str], model: str) -> dict[str, Any]:
    if wire == "cohere":
        return {"model": model, "texts": texts, "input_type": "search_document", "embedding_types": ["float"]}
    if wire == "nomic":
        return {"model": model, "texts": texts, "task_type": "search_document"}
    return {"input": texts, "model": model}


async def _ask(endpoint: Embedder | Ranker, path: str, body: dict[str, Any], timeout_ms: int | None) -> dict[str, Any]:
    """The reply's JSON. A 429 is an error like any other here; nothing is tried again."""
    headers = {"authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
    answer = await http.post(endpoint.base_url + path, headers, body, timeout_ms)
    if not 200 <= answer.status < 300:
        error = api_error(answer.status, _error_text(answer.text))
        with suppress(ProviderError):
            error.used = _usage(decode(answer.text))
        raise error
    return decode(answer.text)


@contextmanager
def _told(reply: dict[str, Any]) -> Iterator[None]:
    """Around the reading of a reply: an error says what the provider said that it used."""
    try:
        yield
    except ProviderError as error:
        error.used = _usage(reply)
        raise


def _error_text(body: str) -> str:
    """As `error_text`, and `detail`, where some of these providers put it."""
    try:
        detail = loads(body)["detail"]
    except (ValueError, TypeError, KeyError):
        return error_text(body)
    return detail if isinstance(detail, str) and detail else error_text(body)


def _embeddings(wire: str, reply: dict[str, Any]) -> list[Any]:
    if wire == "openai":
        data = reply.get("data")
        if not isinstance(data, list):
            raise parse_error("missing data in embedding response")
        return [one.get("embedding") if isinstance(one, dict) else None for one in _in_order(data)]
    found = reply.get("embeddings")
    if wire == "cohere":
        found = found.get("float") if isinstance(found, dict) else None
    if not isinstance(found, list):
        name = "embeddings.float in Cohere" if wire == "cohere" else "embeddings in embedding"
        raise parse_error(f"missing {name} response")
    return found


def _in_order(data: list[Any]) -> list[Any]:
    """The entries by their `index`, where all have one of their own."""
    placed = {one.get("index"): one for one in data if isinstance(one, dict)}
    order = range(len(data))
    return [placed[place] for place in order] if placed.keys() == {*order} else data


def _packed(index: int, numbers: Any) -> bytes:
    if not isinstance(numbers, list) or not numbers:
        raise parse_error(f"embedding {index} is no list of numbers: {json.dumps(numbers)[:60]}")
    try:
        made = packed(numbers)
        if isfinite(sum(numbers)) or all(map(isfinite, numbers)):
            return made
    except (TypeError, OverflowError):
        pass
    wrong = next((one for one in numbers if type(one) not in (int, float) or not isfinite(one)), "")
    raise parse_error(f"embedding {index} holds {json.dumps(wrong)[:60]}, which is no finite number")


def check_lengths(embeddings: list[bytes]) -> None:
    """Raises ProviderError when embeddings of one call differ in their dimensions."""
    for index, one in enumerate(embeddings):
        if len(one) != len(embeddings[0]):
            raise parse_error(
                f"embedding {index} has {len(one) // 8} dimensions, the first one {len(embeddings[0]) // 8}"
            )


def _ranked(result: Any, documents: int) -> tuple[int, float]:
    index = result.get("index") if isinstance(result, dict) else None
    score = result.get("relevance_score") if isinstance(result, dict) else None
    if type(index) is not int or not isinstance(score, int | float):
        raise parse_error(f"a result without index and relevance_score: {json.dumps(result)[:100]}")
    if not 0 <= index < documents:
        raise parse_error(f"result for document {index}, but {documents} were sent")
    return index, float(score)


def _usage(reply: dict[str, Any]) -> Usage:
    """Cohere counts under `meta`, OpenAI and most others under `usage`."""
    usage = max(count(reply, "usage", "prompt_tokens"), count(reply, "usage", "total_tokens"))
    return Usage(prompt=usage or count(reply, "meta", "billed_units", "input_tokens"))
