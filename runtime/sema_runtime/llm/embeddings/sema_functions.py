"""Embeddings and rankings by functions of the program (`:embed` and `:rerank` of `llm/define-provider`)."""

from __future__ import annotations

from sema_runtime.llm.embedders import Embedder, Ranker
from sema_runtime.llm.embeddings.vectors import SIZE, packed
from sema_runtime.llm.errors import parse_error
from sema_runtime.llm.jsonable import is_map, is_sequence
from sema_runtime.llm.messages import Usage
from sema_runtime.llm.sema_provider import called, usage_of
from sema_runtime.values.atoms import keyword
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.typenames import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def embed(embedder: Embedder, texts: list[str], model: str) -> tuple[list[bytes], Usage, str]:
    """Returns one embedding for each text, the tokens, and the model. Raises ProviderError for what the function
    throws, and for a result that is neither a list of embeddings nor a map with :embeddings."""
    value = called(embedder.function, Map({keyword("texts"): List(texts), keyword("model"): model}))
    usage, name, embeddings = Usage(), model, value
    if is_map(value):
        embeddings, usage = value.get("embeddings"), usage_of(value.get("usage"))
        name = value.get("model") if isinstance(value.get("model"), str) else model
    elif len(texts) == 1 and _is_embedding(value):
        embeddings = [value]
    if not is_sequence(embeddings):
        raise parse_error("lisp provider must return a list of embeddings or a map with :embeddings")
    if len(embeddings) != len(texts):
        raise parse_error(f"{len(embeddings)} embeddings came for {len(texts)} texts")
    return [_packed(embedding) for embedding in embeddings], usage, name


def rank(
    ranker: Ranker, query: str, documents: list[str], model: str, top: int | None
) -> tuple[list[tuple[int, float]], Usage]:
    """Returns (index, score) of documents in the reply's order, and the tokens. Raises ProviderError as `embed`."""
    request: dict[Any, Any] = {
        keyword("query"): query,
        keyword("documents"): List(documents),
        keyword("model"): model,
    }
    if top is not None:
        request[keyword("top-k")] = top
    value = called(ranker.function, Map(request))
    usage, results = Usage(), value
    if is_map(value):
        results, usage = value.get("results"), usage_of(value.get("usage"))
    if not is_sequence(results):
        raise parse_error("lisp provider must return a list of {:index :score} or a map with :results")
    return [_ranked(result, len(documents)) for result in results], usage


def _is_embedding(value: Any) -> bool:
    """Whether a value is one embedding, not a list of them."""
    if isinstance(value, bytes | bytearray):
        return True
    return is_sequence(value) and len(value) > 0 and all(isinstance(number, int | float) for number in value)


def _packed(value: Any) -> bytes:
    if isinstance(value, bytes | bytearray) and len(value) and not len(value) % SIZE:
        return bytes(value)
    if is_sequence(value) and len(value):
        try:
            return packed(value)
        except (TypeError, OverflowError):
            pass
    raise parse_error(f"lisp provider: an embedding is a bytevector or a list of numbers, got {type_name(value)}")


def _ranked(value: Any, documents: int) -> tuple[int, float]:
    index = value.get("index") if is_map(value) else None
    score = value.get("score") if is_map(value) else None
    if type(index) is not int or not isinstance(score, int | float):
        raise parse_error("lisp provider: a result needs :index and :score")
    if not 0 <= index < documents:
        raise parse_error(f"result for document {index}, but {documents} were sent")
    return index, float(score)
