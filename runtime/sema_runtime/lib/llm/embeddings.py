"""llm/embed and llm/rerank, and the arithmetic of embeddings: embedding/*, vector/*, llm/similarity.

An embedding is a bytevector of little-endian doubles.
"""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.support.text_arguments import is_int
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import OutOfBounds, SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from typing import Any

    Vectors = tuple[array[float], array[float]]

SIZE = 8  # bytes of a double


# Calls


@builtin("llm/embed", type="str|seq, dict? -> bytevector|list bytevector fresh", cap="llm")
def llm_embed(text: Any, options: Any = None) -> Any:
    """The embedding of a text: a vector that is close to the vectors of texts with a similar meaning. For a list of
    texts, returns a list of embeddings; long lists are sent in several requests.

    Options: :model :timeout (ms, of each request). The provider is the one of llm/configure-embeddings, of the
    environment (JINA_API_KEY, VOYAGE_API_KEY, COHERE_API_KEY, ..., OPENAI_API_KEY), or the default one.

    (llm/define-provider :lengths {:embed (fn (req) (map (fn (text) (list (string-length text) 1)) (:texts req)))})
    (embedding/->list (llm/embed "four")) => (4.0 1.0)
    (map embedding/length (llm/embed '("a" "b"))) => (2 2)
    """
    from sema_runtime.llm.embeddings.requests import EmbedRequest, embed
    from sema_runtime.llm.jsonable import is_sequence
    from sema_runtime.support import options as opt
    from sema_runtime.values.printer import to_text

    settings = opt.options_map(options)
    model, timeout = opt.text(settings, "model") or "", opt.integer(settings, "timeout")
    if isinstance(text, str):
        return embed(EmbedRequest([text], model, timeout))[0]
    if not is_sequence(text):
        type_error("string or list", text)
    texts = [item if isinstance(item, str) else to_text(item) for item in text]
    return List(embed(EmbedRequest(texts, model, timeout)))


@builtin("llm/rerank", type="str, seq str, dict? -> list (map keyword (int|float|str)) fresh", cap="llm")
def llm_rerank(query: Any, documents: Any, options: Any = None) -> List:
    """Ranks documents (strings) by their relevance to a query, judged by a model that reads both together. Returns a
    list of {:index :score :document}, best first.

    Options: :top-k (how many results) :model :provider :timeout (ms).

    (llm/define-provider :mine {:rerank (fn (req) [{:index 1 :score 0.9} {:index 0 :score 0.2}])})
    (first (llm/rerank "how to read?" '("paint a wall" "read a file"))) => {:document "read a file" :index 1 :score 0.9}
    (llm/rerank "anything" '()) => ()
    """
    from sema_runtime.llm.embeddings.rerank import RerankRequest, rerank
    from sema_runtime.llm.jsonable import is_sequence
    from sema_runtime.support import options as opt

    if not isinstance(query, str):
        type_error("string query", query)
    if not is_sequence(documents):
        type_error("list of strings", documents)
    for document in documents:
        if not isinstance(document, str):
            type_error("string document", document)
    settings = opt.options_map(options)
    top = opt.integer(settings, "top-k")
    request = RerankRequest(
        query,
        list(documents),
        opt.text(settings, "model") or "",
        top if top is None or top >= 0 else None,
        opt.name_or_text(settings, "provider"),
        opt.integer(settings, "timeout"),
    )
    names = keyword("index"), keyword("score"), keyword("document")
    ranked = [(index, score, documents[index]) for index, score in rerank(request)]
    return List([Map(dict(zip(names, document, strict=True))) for document in ranked])


# Similarity


@builtin("llm/similarity", type="bytevector|seq (int|float), bytevector|seq (int|float) -> float", pure=True)
def llm_similarity(a: Any, b: Any) -> float:
    """The similarity of two embeddings or two lists of numbers: the cosine of the angle between them, from -1.0 to 1.0.

    (llm/similarity '(1 0) '(1 1)) => 0.7071067811865475
    (llm/similarity '(1 2) '(1 2 3)) ! llm/similarity: vectors must have same length (2 vs 3)
    """
    from sema_runtime.llm.embeddings.vectors import cosine, unpacked
    from sema_runtime.llm.jsonable import is_sequence

    if isinstance(a, bytes | bytearray) and isinstance(b, bytes | bytearray):
        _same_length("bytevectors", a, b)
        if len(a) % SIZE:
            raise SemaError(f"llm/similarity: bytevector length must be a multiple of 8 (got {len(a)})")
        return cosine(unpacked(a), unpacked(b))
    if is_sequence(a) and is_sequence(b):
        first, second = _floats(a), _floats(b)
        _same_length("vectors", first, second)
        return cosine(first, second)
    raise SemaError(
        "llm/similarity: both arguments must be the same type (both bytevectors or both lists). Use embedding/->list or"
        " embedding/list->embedding to convert between formats."
    )


def _same_length(what: str, a: Any, b: Any) -> None:
    if len(a) != len(b):
        raise SemaError(f"llm/similarity: {what} must have same length ({len(a)} vs {len(b)})")
    if not len(a):
        raise SemaError("llm/similarity: empty vectors")


def _floats(values: Any) -> list[float]:
    for value in values:
        if not _is_number(value):
            type_error("number", value)
    return [float(value) for value in values]


def _is_number(value: Any) -> bool:
    return type(value) is float or is_int(value)


# Embeddings


@builtin("embedding/length", type="bytevector -> int", pure=True)
def embedding_length(embedding: Any) -> int:
    """The number of dimensions of an embedding.

    (embedding/length (embedding/list->embedding '(0.1 0.2 0.3))) => 3
    (embedding/length (bytevector 1 2 3)) ! embedding/length: bytevector length 3 is not divisible by 8
    """
    return len(_embedding("embedding/length", embedding)) // SIZE


@builtin("embedding/ref", type="bytevector, int -> float", pure=True)
def embedding_ref(embedding: Any, index: Any) -> float:
    """The number at index of an embedding, counted from 0.

    (embedding/ref (embedding/list->embedding '(0.1 0.2)) 1) => 0.2
    (embedding/ref (embedding/list->embedding '(0.1 0.2)) 2) ! embedding/ref: index 2 out of bounds (length 2)
    """
    from struct import unpack_from

    if not isinstance(embedding, bytes | bytearray):
        type_error("bytevector", embedding)
    if not is_int(index):
        type_error("integer", index)
    length = len(_embedding("embedding/ref", embedding)) // SIZE
    if not 0 <= index < length:
        raise OutOfBounds(f"embedding/ref: index {index} out of bounds (length {length})")
    return float(unpack_from("<d", embedding, index * SIZE)[0])


@builtin("embedding/->list", type="bytevector -> list float fresh", pure=True)
def embedding_to_list(embedding: Any) -> List:
    """Converts an embedding to a list of its numbers.

    (embedding/->list (embedding/list->embedding '(1 2.5))) => (1.0 2.5)
    """
    from sema_runtime.llm.embeddings.vectors import unpacked

    return List(unpacked(_embedding("embedding/->list", embedding)).tolist())


@builtin("embedding/list->embedding", type="seq (int|float) -> bytevector", pure=True)
def embedding_from_list(numbers: Any) -> bytes:
    """Converts a list or vector of numbers to an embedding.

    (embedding/length (embedding/list->embedding '(3 4))) => 2
    (embedding/list->embedding '(1 "2")) ! embedding/list->embedding: element 1 is string, expected number
    """
    from sema_runtime.llm.embeddings.vectors import packed
    from sema_runtime.llm.jsonable import is_sequence
    from sema_runtime.values.typenames import type_name

    if not is_sequence(numbers):
        type_error("list or vector", numbers)
    for index, number in enumerate(numbers):
        if not _is_number(number):
            raise SemaError(f"embedding/list->embedding: element {index} is {type_name(number)}, expected number")
    return packed(numbers)


def _embedding(function: str, value: Any) -> bytes | bytearray:
    if not isinstance(value, bytes | bytearray):
        type_error("bytevector", value)
    if len(value) % SIZE:
        raise SemaError(f"{function}: bytevector length {len(value)} is not divisible by 8")
    return value


# Vectors


@builtin("vector/cosine-similarity", type="bytevector, bytevector -> float", pure=True)
def vector_cosine_similarity(a: Any, b: Any) -> float:
    """The cosine of the angle between two embeddings; 0.0 when one of them is zero.

    (vector/cosine-similarity (embedding/list->embedding '(1 0)) (embedding/list->embedding '(0 1))) => 0.0
    """
    from sema_runtime.llm.embeddings.vectors import cosine

    return cosine(*_both("vector/cosine-similarity", a, b))


@builtin("vector/dot-product", type="bytevector, bytevector -> float", pure=True)
def vector_dot_product(a: Any, b: Any) -> float:
    """The dot product of two embeddings.

    (vector/dot-product (embedding/list->embedding '(1 2 3)) (embedding/list->embedding '(4 5 6))) => 32.0
    (vector/dot-product (bytevector/make 8) (bytevector/make 16)) ! vector/dot-product: length mismatch (1 vs 2)
    """
    from sema_runtime.llm.embeddings.vectors import dot

    return dot(*_both("vector/dot-product", a, b))


@builtin("vector/distance", type="bytevector, bytevector -> float", pure=True)
def vector_distance(a: Any, b: Any) -> float:
    """The Euclidean distance of two embeddings.

    (vector/distance (embedding/list->embedding '(0 0)) (embedding/list->embedding '(3 4))) => 5.0
    """
    from sema_runtime.llm.embeddings.vectors import distance

    return distance(*_both("vector/distance", a, b))


@builtin("vector/normalize", type="bytevector -> bytevector", pure=True)
def vector_normalize(v: Any) -> bytes:
    """Scales an embedding to length 1; an embedding of zeros stays as it is.

    (embedding/->list (vector/normalize (embedding/list->embedding '(3 4)))) => (0.6 0.8)
    """
    from sema_runtime.llm.embeddings.vectors import normalized, unpacked

    if not isinstance(v, bytes | bytearray):
        type_error("bytevector", v)
    if not v or len(v) % SIZE:
        raise SemaError("vector/normalize: invalid bytevector")
    return normalized(unpacked(v))


def _both(function: str, a: Any, b: Any) -> Vectors:
    from sema_runtime.llm.embeddings.vectors import unpacked

    for vector in (a, b):
        if not isinstance(vector, bytes | bytearray):
            type_error("bytevector", vector)
    if len(a) != len(b):
        raise SemaError(f"{function}: length mismatch ({len(a) // SIZE} vs {len(b) // SIZE})")
    if not a or len(a) % SIZE:
        raise SemaError(f"{function}: invalid bytevector length {len(a)}")
    return unpacked(a), unpacked(b)
