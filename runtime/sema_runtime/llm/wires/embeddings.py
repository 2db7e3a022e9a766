"""The wires of embeddings and rankings: OpenAI's shape, which most providers speak, Cohere's and Nomic's.

    OpenAI   POST base/embeddings        {input, model}                                → data[].embedding
    Cohere   POST base/embed             {model, texts, input_type, embedding_types}   → embeddings.float
    Nomic    POST base/embedding/text    {model, texts, task_type}                     → embeddings
    all      POST base/rerank            {model, query, documents, top_n}              → [{index, relevance_score}]

Pure functions from texts to body and from reply to numbers. It is also the wire of providers that don't chat: asked for
a completion, it says so.
"""

from __future__ import annotations

import json

from sema_runtime.llm.errors import config_error, parse_error
from sema_runtime.llm.messages import Request, Usage
from sema_runtime.llm.providers import Provider
from sema_runtime.llm.wires import common
from sema_runtime.llm.wires.common import count
from sema_runtime.support.json_input import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

PATHS = {"openai": "/embeddings", "cohere": "/embed", "nomic": "/embedding/text"}
RERANK_PATH = "/rerank"


def url(provider: Provider, request: Request, stream: bool) -> NoReturn:
    """Raises ProviderError: there is no URL for completions."""
    raise config_error(
        f"{provider.name} does not support chat completions (embedding-only provider)",
        "choose a provider for chat: (llm/set-default :name) or llm/configure",
    )


def body(wire: str, texts: list[str], model: str) -> dict[str, Any]:
    """Returns the JSON body of a request for embeddings. wire: a key of PATHS."""
    if wire == "cohere":
        return {"model": model, "texts": texts, "input_type": "search_document", "embedding_types": ["float"]}
    if wire == "nomic":
        return {"model": model, "texts": texts, "task_type": "search_document"}
    return {"input": texts, "model": model}


def embeddings_in(wire: str, reply: dict[str, Any]) -> list[Any]:
    """Returns what a reply has for each text, unchecked. Raises a parse error for a reply of another shape."""
    if wire == "openai":
        data = reply.get("data")
        if not isinstance(data, list):
            raise parse_error("missing data in embedding response")
        return [entry.get("embedding") if isinstance(entry, dict) else None for entry in _in_order(data)]
    embeddings = reply.get("embeddings")
    if wire == "cohere":
        embeddings = embeddings.get("float") if isinstance(embeddings, dict) else None
    if not isinstance(embeddings, list):
        name = "embeddings.float in Cohere" if wire == "cohere" else "embeddings in embedding"
        raise parse_error(f"missing {name} response")
    return embeddings


def _in_order(data: list[Any]) -> list[Any]:
    """Returns the entries by their `index`, if each has one of its own."""
    by_index = {entry.get("index"): entry for entry in data if isinstance(entry, dict)}
    order = range(len(data))
    return [by_index[index] for index in order] if by_index.keys() == {*order} else data


def ranking_in(reply: dict[str, Any], results_field: str, documents: int) -> list[tuple[int, float]]:
    """Returns (index, score) of the ranked documents, as the reply orders them. documents: how many were sent. Raises a
    parse error for a reply of another shape."""
    results = reply.get(results_field)
    if not isinstance(results, list):
        raise parse_error(f"missing {results_field} in rerank response")
    return [_ranked(result, documents) for result in results]


def _ranked(result: Any, documents: int) -> tuple[int, float]:
    index = result.get("index") if isinstance(result, dict) else None
    score = result.get("relevance_score") if isinstance(result, dict) else None
    if type(index) is not int or not isinstance(score, int | float):
        raise parse_error(f"a result without index and relevance_score: {json.dumps(result)[:100]}")
    if not 0 <= index < documents:
        raise parse_error(f"result for document {index}, but {documents} were sent")
    return index, float(score)


def usage_in(reply: dict[str, Any]) -> Usage:
    """Returns the usage in a reply. Cohere counts under `meta`, OpenAI and most others under `usage`."""
    prompt = max(count(reply, "usage", "prompt_tokens"), count(reply, "usage", "total_tokens"))
    return Usage(prompt=prompt or count(reply, "meta", "billed_units", "input_tokens"))


def error_text(text: str) -> str:
    """Returns the message in an error body: `detail`, which some of these providers use, or as `common.error_text`."""
    try:
        detail = loads(text)["detail"]
    except (ValueError, TypeError, KeyError):
        return common.error_text(text)
    return detail if isinstance(detail, str) and detail else common.error_text(text)
