"""Documents with embeddings, ranked by the cosine of the angle to a query.

A search first computes all scores fast: with NumPy, if it is loaded already or the store is large, else with the
standard library. These scores are right to about 1e-13. The documents that may be among the best are scored again as
`vectors.cosine` does, so results are the same to the last bit, in the same order, with and without NumPy.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from math import inf, isfinite
from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple

from sema_runtime.llm.embeddings.vectors import SIZE, cosine_of, dot, magnitude, packed, unpacked
from sema_runtime.tasks.background import Lane
from sema_runtime.values.errors import SemaError

if TYPE_CHECKING:
    from array import array
    from collections.abc import Sequence

ROUNDING = 2.0**-50  # of a sum, for each number in it: a generous bound
SMALLEST, LARGEST = 1e-140, 1e140  # magnitudes whose squares stay exact
NUMPY_FROM = 1 << 20  # numbers in a store that make loading NumPy worthwhile
FEW = 64  # documents added since the table was built; they are scored one by one


class Document:
    """One entry. embedding: a multiple of SIZE bytes. length: the magnitude of its vector, None until computed."""

    __slots__ = ("id", "length", "metadata", "vector")

    def __init__(self, id: str, embedding: bytes, metadata: Any) -> None:
        self.id = id
        self.metadata = metadata
        self.vector: array[float] = unpacked(embedding)
        self.length: float | None = None

    @property
    def embedding(self) -> bytes:
        return packed(self.vector)

    @property
    def size(self) -> int:
        """Bytes of the embedding."""
        return len(self.vector) * SIZE

    def magnitude(self) -> float:
        if self.length is None:
            self.length = magnitude(self.vector)
        return self.length


class Match(NamedTuple):
    document: Document
    score: float


class Table:
    """The vectors of a store's first documents as one NumPy array. tame: no magnitude is tiny, huge or undefined."""

    def __init__(self, numpy: Any, documents: list[Document]) -> None:
        self.numpy = numpy
        self.count = len(documents)
        numbers = numpy.frombuffer(b"".join(document.embedding for document in documents), "<f8")
        self.rows = numbers.reshape(len(documents), -1)
        self.lengths = numpy.sqrt(numpy.einsum("ij,ij->i", self.rows, self.rows))
        self.tame = all(map(_is_tame, self.lengths.tolist()))
        self.lengths[self.lengths == 0.0] = inf

    def scores(self, query: Sequence[float], length: float) -> list[float]:
        scores = self.rows @ self.numpy.asarray(query) / (self.lengths * length)
        return scores.tolist()  # type: ignore[no-any-return]


class VectorStore:
    """path: of its file, "" without one. lane: runs its saves, one at a time."""

    def __init__(self, path: str = "") -> None:
        self.path = path
        self.documents: dict[str, Document] = {}
        self.lane = Lane()
        self._sizes: Counter[int] = Counter()
        self._table: Table | None = None

    def add(self, document: Document) -> None:
        """Adds a document after the others; replaces one with the same id."""
        self.delete(document.id)
        self.documents[document.id] = document
        self._sizes[document.size] += 1

    def delete(self, id: str) -> bool:
        """Deletes a document; returns whether it existed."""
        old = self.documents.pop(id, None)
        if old is None:
            return False
        self._sizes[old.size] -= 1
        self._table = None
        return True

    def search(self, query: bytes, count: int) -> list[Match]:
        """Returns the documents most similar to the query, best first; equal ones in the order of their addition.

        Raises SemaError when a document's embedding has another length than the query, or isn't one.
        """
        documents = list(self.documents.values())
        self._check(query, documents)
        if not documents or count <= 0:
            return []
        vector = unpacked(query)
        length = magnitude(vector)
        places = self._likely(documents, vector, length, count)
        matches = []
        for place in places:
            document = documents[place]
            matches.append(Match(document, cosine_of(dot(vector, document.vector), length, document.magnitude())))
        matches.sort(key=lambda match: match.score if match.score == match.score else -inf, reverse=True)
        return matches[:count]

    def _check(self, query: bytes, documents: list[Document]) -> None:
        if self._sizes[len(query)] != len(documents):
            wrong = next(document for document in documents if document.size != len(query))
            raise _mismatch(wrong, query)
        if documents and (not query or len(query) % SIZE):
            raise SemaError(
                f"vector-store/search: invalid embedding for document '{documents[0].id}': length {len(query)} is not a"
                " positive multiple of 8 bytes"
            )

    def _likely(self, documents: list[Document], query: array[float], length: float, count: int) -> Sequence[int]:
        """Returns the indices of the documents that may be among the best, in order: their fast score is within the
        rounding error of the last one requested. All documents, if fast scores aren't that reliable."""
        everything = range(len(documents))
        if len(documents) <= count or not _is_tame(length) or length == 0.0:
            return everything
        scores = self._scores(documents, query, length)
        if scores is None or not isfinite(sum(scores)):
            return everything
        from heapq import nlargest

        least = nlargest(count, scores)[-1] - 2 * ROUNDING * (len(query) + 8)
        return [place for place in everything if scores[place] >= least]

    def _scores(self, documents: list[Document], query: array[float], length: float) -> list[float] | None:
        """Returns the score of every document, up to rounding; None if vectors have extreme magnitudes."""
        table = self._current_table(documents)
        if table is not None and not table.tame:
            return None
        rest = documents if table is None else documents[table.count :]
        scores = [] if table is None else table.scores(query, length)
        numbers = query.tolist()
        lengths = [document.magnitude() for document in rest]
        if not all(map(_is_tame, lengths)):
            return None
        dots = _dots(numbers, rest)
        scores += [product / (length * other) if other else 0.0 for product, other in zip(dots, lengths, strict=True)]
        return scores

    def _current_table(self, documents: list[Document]) -> Table | None:
        """Returns the table, rebuilt if many documents were added since; None without NumPy."""
        size = len(documents) * len(documents[0].vector)
        if "numpy" not in sys.modules and size < NUMPY_FROM:
            return None
        table = self._table
        if table is None or len(documents) - table.count > max(FEW, table.count // 8):
            try:
                import numpy
            except ImportError:
                return None
            table = self._table = Table(numpy, documents)
        return table


def _dots(query: list[float], documents: list[Document]) -> list[float]:
    """Returns dot products with the query, as fast as this Python can."""
    product = getattr(math, "sumprod", None)  # from Python 3.12 on
    if product is None:
        return [sum(map(mul, document.vector, query)) for document in documents]
    return [product(document.vector, query) for document in documents]


def _is_tame(length: float) -> bool:
    return length == 0.0 or SMALLEST < length < LARGEST


def _mismatch(document: Document, query: bytes) -> SemaError:
    size, stored = len(query), document.size
    return SemaError(
        f"vector-store/search: embedding dimension mismatch for document '{document.id}': query has {size} bytes"
        f" ({size // SIZE} dims) but stored embedding has {stored} bytes ({stored // SIZE} dims) — the query and stored"
        " embeddings must come from the same model"
    )
