"""The files of a workspace: open ones as the editor has them, others as they stand on the disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from semac.lsp.documents import MOST_BYTES, Document, path_of, sema_files, uri_of
from semac.lsp.names import Binding
from semac.lsp.text import UTF16
from semac.lsp.tree import Node


class Files:
    """Open documents by URI, and parsed files by path, kept while their time and size stay."""

    def __init__(self) -> None:
        self.open: dict[str, Document] = {}
        self.folders: list[str] = []
        self.kept: dict[str, tuple[tuple[int, int], Document]] = {}
        self.encoding = UTF16

    def document(self, params: dict[str, Any]) -> Document:
        """The text that a request is about; one that isn't open is read from the disk, or empty."""
        uri = params["textDocument"]["uri"]
        opened = self.open.get(uri)
        return opened or self.read(os.path.realpath(path_of(uri))) or Document(uri, [""], self.encoding)

    def read(self, path: str) -> Document | None:
        """The document at a real path; None where it can't be read or is too large."""
        for opened in self.open.values():
            if opened.real_path == path:
                return opened
        try:
            facts = os.stat(path)
            stamp = facts.st_mtime_ns, facts.st_size
            if path in self.kept and self.kept[path][0] == stamp:
                return self.kept[path][1]
            if facts.st_size > MOST_BYTES:
                return None
            document = Document(uri_of(path), Path(path).read_text("utf-8").split("\n"), self.encoding)
        except (OSError, ValueError):
            return None
        self.kept[path] = stamp, document
        return document

    def all(self) -> Iterator[Document]:
        """Open documents, then the files of the workspace's folders."""
        seen = set()
        for opened in list(self.open.values()):
            seen.add(opened.real_path)
            yield opened
        for folder in self.folders:
            for path in sema_files(folder):
                if path not in seen and (document := self.read(path)) is not None:
                    seen.add(path)
                    yield document

    def imported(self, document: Document) -> Iterator[Document]:
        """The Sema files that a document imports itself."""
        for path in document.imports:
            found = self.read(path)
            if found is not None and found is not document:
                yield found

    def definition(self, document: Document, node: Node) -> tuple[Document, Binding] | None:
        """Where a name is bound: in the text, or at the top level of a file that it imports."""
        binding = document.binding(node)
        if binding is not None:
            return document, binding
        if node.quoted or not node.name:
            return None
        for other in self.imported(document):
            if node.name in other.top:
                return other, other.top[node.name]
        return None

    def uses(self, owner: Document, binding: Binding) -> list[tuple[Document, Node]]:
        """Every place that means a binding, its definition first."""
        found = [(owner, node) for node in owner.uses(binding)]
        if binding.is_global:
            for document in self.all():
                if document is not owner and owner.real_path in document.imports:
                    found += [(document, node) for node in document.free(binding.node.name)]
        return found
