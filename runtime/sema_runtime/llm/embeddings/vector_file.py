"""The file of a vector store: JSON over several lines, `{"documents": [{"embedding": base64, "id", "metadata"}],
"version": 1}`, the same as the reference's.

Metadata is Sema data. A keyword is written as a string that begins with a colon, and every such string is read as a
keyword; keys of maps are read as keywords, vectors as lists; values without JSON form are written as they print.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from binascii import Error as Base64Error

from sema_runtime.llm.embeddings.vector_store import Document
from sema_runtime.llm.embeddings.vectors import SIZE
from sema_runtime.llm.jsonable import to_json
from sema_runtime.support.json_input import loads
from sema_runtime.values.atoms import keyword
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, NoReturn

VERSION = 1
LARGEST = 2 << 30  # bytes of a file
INDENT = "  "

Entry = tuple[Document, "Any"]  # with its metadata as JSON data


def entries(documents: Iterable[Document]) -> list[Entry]:
    """Returns the entries to write. Raises RecursionError for metadata that is nested too deeply."""
    return [(document, to_json(document.metadata, marked=True)) for document in documents]


def pieces(file_entries: list[Entry]) -> Iterator[bytes]:
    """Yields the file's contents, a document at a time. Raises UnicodeEncodeError for a lone surrogate."""
    separator = '{\n  "documents": ['
    for document, metadata in file_entries:
        value = {"embedding": b64encode(document.embedding).decode(), "id": document.id, "metadata": metadata}
        text = json.dumps(value, ensure_ascii=False, indent=len(INDENT), sort_keys=True)
        yield f"{separator}\n{INDENT * 2}".encode() + text.replace("\n", f"\n{INDENT * 2}").encode()
        separator = ","
    ending = f"\n{INDENT}]" if file_entries else '{\n  "documents": []'
    yield f'{ending},\n{INDENT}"version": {VERSION}\n}}'.encode()


def read(data: bytes) -> list[Document]:
    """Returns the documents of a file. Raises ValueError with what is wrong with it."""
    try:
        value = loads(data.decode(), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise ValueError(f"invalid JSON: not UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise ValueError("invalid JSON: nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"invalid JSON: {error}") from None
    documents = value.get("documents") if isinstance(value, dict) else None
    if not isinstance(documents, list):
        raise ValueError("missing 'documents' array")
    version = value.get("version", VERSION)
    if version != VERSION:
        raise ValueError(f"version {version!r} of the format, and only {VERSION} is known")
    return [_document(place, document) for place, document in enumerate(documents)]


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


def _document(place: int, value: Any) -> Document:
    id = value.get("id") if isinstance(value, dict) else None
    if not isinstance(id, str):
        raise ValueError(f"document missing 'id' (number {place + 1})")
    text = value.get("embedding")
    if not isinstance(text, str):
        raise ValueError(f"document missing 'embedding' ('{id}')")
    try:
        embedding = b64decode(text, validate=True)
    except (Base64Error, ValueError) as error:
        raise ValueError(f"invalid base64 embedding for '{id}': {error}") from None
    if len(embedding) % SIZE:
        raise ValueError(f"invalid embedding for '{id}': {len(embedding)} bytes, not a multiple of {SIZE}")
    return Document(id, embedding, restored(value.get("metadata")))


def restored(value: Any) -> Any:
    """Returns the metadata that JSON data stands for."""
    if isinstance(value, str):
        return keyword(value[1:]) if value.startswith(":") else value
    if isinstance(value, list):
        return List([restored(inner) for inner in value])
    if isinstance(value, dict):
        return Map({keyword(key): restored(inner) for key, inner in value.items()})
    return value
