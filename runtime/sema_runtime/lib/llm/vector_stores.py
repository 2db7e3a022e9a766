"""vector-store/*: documents with embeddings in named stores, searched by similarity and saved in files."""

from __future__ import annotations

import os

from sema_runtime.catalogue import builtin
from sema_runtime.llm import spans
from sema_runtime.support.file_access import FAILURES, checked, failed, opened_regular
from sema_runtime.support.replacing import Replacement
from sema_runtime.support.text_arguments import is_int, text_of
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import IoError, SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.llm.embeddings.vector_store import Document, VectorStore

stores: dict[str, VectorStore] = {}


def _store(name: Any) -> VectorStore:
    store = stores.get(text_of(name))
    if store is None:
        known = ", ".join(sorted(stores))
        raise SemaError(
            f"vector store '{name}' not found",
            f"the stores are: {known}" if known else "make it with vector-store/create or vector-store/open",
        )
    return store


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes | bytearray):
        type_error("bytevector", value)
    return bytes(value)


@builtin("vector-store/create", type="str -> str")
def vector_store_create(name: Any) -> str:
    """Makes an empty vector store in memory, replacing one with the same name, and returns the name.

    (vector-store/create "notes") => "notes"
    (vector-store/count "notes") => 0
    """
    from sema_runtime.llm.embeddings.vector_store import VectorStore

    stores[text_of(name)] = VectorStore()
    return str(name)


@builtin("vector-store/add", type="str, str, bytevector, keep any -> str")
def vector_store_add(name: Any, id: Any, embedding: Any, metadata: Any) -> str:
    """Adds a document to a vector store: its id, its embedding and any metadata. A document with the same id is
    replaced. Returns the id.

    (vector-store/create "notes")
    (vector-store/add "notes" "a" (embedding/list->embedding '(1 0)) {:text "First"}) => "a"
    (vector-store/add "nots" "a" (embedding/list->embedding '(1 0)) {}) ! vector store 'nots' not found
    """
    from sema_runtime.llm.embeddings.vector_store import Document

    text_of(name), text_of(id)
    data = _bytes(embedding)
    if len(data) % 8:
        raise SemaError(f"vector-store/add: embedding length {len(data)} not multiple of 8")
    _store(name).add(Document(id, data, metadata))
    return str(id)


@builtin("vector-store/search", type="str, bytevector, int -> list (map keyword any) fresh")
def vector_store_search(name: Any, query: Any, k: Any) -> List:
    """The k documents of a vector store that are most similar to the query, an embedding, as a list of {:id :score
    :metadata}, best first. The score is the cosine similarity.

    (vector-store/create "notes")
    (vector-store/add "notes" "a" (embedding/list->embedding '(1 0)) {:text "First"})
    (vector-store/add "notes" "b" (embedding/list->embedding '(3 4)) {:text "Second"})
    (define query (embedding/list->embedding '(0 1)))
    (vector-store/search "notes" query 1) => ({:id "b" :metadata {:text "Second"} :score 0.8})
    """
    text_of(name)
    wanted = _bytes(query)
    if not is_int(k):
        type_error("integer", k)
    if k < 0:
        raise SemaError(f"vector-store/search: expected a non-negative number of results, got {k}")
    with spans.retrieval(len(wanted) // 8, k) as span:
        matches = _store(name).search(wanted, k)
        span.returned(matches)
    names = keyword("id"), keyword("score"), keyword("metadata")
    return List(
        [Map(dict(zip(names, (document.id, score, document.metadata), strict=True))) for document, score in matches]
    )


@builtin("vector-store/delete", type="str, str -> bool")
def vector_store_delete(name: Any, id: Any) -> bool:
    """Deletes a document from a vector store and returns whether it was there.

    (vector-store/create "notes")
    (vector-store/delete "notes" "a") => #f
    """
    text_of(name)
    return _store(name).delete(text_of(id))


@builtin("vector-store/count", type="str -> int")
def vector_store_count(name: Any) -> int:
    """The number of documents in a vector store.

    (vector-store/create "notes")
    (vector-store/add "notes" "a" (embedding/list->embedding '(1 0)) nil)
    (vector-store/count "notes") => 1
    """
    return len(_store(name).documents)


@builtin("vector-store/save", type="str, str? -> str", cap="fs-write")
def vector_store_save(name: Any, path: Any = None) -> str:
    """Writes a vector store to a file, replacing it as a whole, and returns the path. The path defaults to that of
    vector-store/open.

    (vector-store/create "notes")
    (vector-store/add "notes" "a" (embedding/list->embedding '(1)) {:page 1})
    (vector-store/save "notes" "notes.json") => "notes.json"
    (vector-store/save "notes") ! vector-store/save: no path associated. Use (vector-store/save name path)
    """
    store = _store(name)
    target = store.path if path is None else text_of(path)
    if not target:
        raise SemaError("vector-store/save: no path associated. Use (vector-store/save name path)")
    checked("vector-store/save", target)
    from sema_runtime.llm.embeddings import vector_file

    try:
        entries = vector_file.entries(store.documents.values())
        store.lane.run(lambda work: _write(target, entries, work))
    except RecursionError:
        raise SemaError(f"vector-store/save: the metadata in '{name}' is nested too deeply") from None
    except FAILURES as error:
        raise failed("vector-store/save", target, error) from None
    return target


def _write(path: str, entries: Any, work: Any) -> None:
    from sema_runtime.llm.embeddings import vector_file

    size = 0
    with Replacement(path) as file:
        for piece in vector_file.pieces(entries):
            work.check()
            size += len(piece)
            if size > vector_file.LARGEST:
                raise OSError(27, f"the store is larger than {vector_file.LARGEST} bytes")
            file.write(piece)


@builtin("vector-store/open", type="str, str -> str", cap="fs-read")
def vector_store_open(name: Any, path: Any) -> str:
    """Reads a vector store from a file, or makes an empty one when there is no file, and returns the name.

    vector-store/save writes it back to the file. A damaged file raises an error and stays as it is.

    (vector-store/open "notes" "notes.json") => "notes"
    (vector-store/add "notes" "a" (embedding/list->embedding '(1 2)) {:kind :memo})
    (vector-store/save "notes")
    (vector-store/open "again" "notes.json")
    (vector-store/count "again") => 1
    """
    from sema_runtime.llm.embeddings.vector_store import VectorStore
    from sema_runtime.tasks import background

    text_of(name)
    target = checked("vector-store/open", path)
    store = VectorStore(target)
    for document in background.run(lambda _: _read(target)):
        store.add(document)
    stores[name] = store
    return str(name)


def _read(path: str) -> list[Document]:
    """The documents in a file; none when there is no file."""
    from sema_runtime.llm.embeddings import vector_file

    try:
        with open(opened_regular("vector-store/open", path), "rb") as file:
            if os.fstat(file.fileno()).st_size > vector_file.LARGEST:
                raise IoError(f"vector-store/open {path}: the file is larger than {vector_file.LARGEST} bytes")
            data = file.read()
    except FileNotFoundError:
        return []
    except FAILURES as error:
        raise failed("vector-store/open", path, error) from None
    try:
        return vector_file.read(data)
    except ValueError as error:
        hint = "it was written by vector-store/save? restore it, or open another path for a new store"
        raise IoError(f"vector-store/open {path}: {error}", hint) from None
