"""Texts as the server knows them: parsed once a version; what a file imports, and the files of a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from urllib.parse import unquote, urlparse

from lsprotocol import types as lsp
from pygls.workspace import PositionCodec

from semac.lsp.names import Binding, Names
from semac.lsp.tree import Node, parse, path_to, walk

MOST_FILES = 2000  # of a workspace, that are searched
MOST_BYTES = 1_000_000  # of a file that isn't open


class Document:
    """One version of a text. Lines and columns count from 1 and characters; ranges are what the client counts in."""

    def __init__(self, uri: str, text: str, codec: PositionCodec) -> None:
        self.uri = uri
        self.text = text
        self.codec = codec
        self.lines = text.split("\n")

    @property
    def path(self) -> str:
        return path_of(self.uri)

    @cached_property
    def root(self) -> Node:
        return parse(self.text)

    @cached_property
    def names(self) -> Names:
        return Names(self.root)

    def place(self, position: lsp.Position) -> tuple[int, int]:
        """(line, column) of a place that the client names."""
        here = self.codec.position_from_client_units(self.lines, position)
        return here.line + 1, here.character + 1

    def range(self, span: tuple[int, ...]) -> lsp.Range:
        line, column, end_line, end_column = (max(number - 1, 0) for number in span)
        bounds = lsp.Range(lsp.Position(line, column), lsp.Position(end_line, end_column))
        return self.codec.range_to_client_units(self.lines, bounds)

    def location(self, node: Node) -> lsp.Location:
        return lsp.Location(self.uri, self.range(node.span))

    def symbol_at(self, position: lsp.Position) -> Node | None:
        """The name at a place."""
        path = path_to(self.root, *self.place(position))
        return path[-1] if path and path[-1].name else None

    def binding_at(self, position: lsp.Position) -> Binding | None:
        node = self.symbol_at(position)
        return self.names.bound.get(node.span) if node else None

    def imports(self) -> list[str]:
        """The paths of the Sema files that the text imports or loads."""
        from sema_runtime.compiler_bridge import resolve
        from sema_runtime.values.errors import SemaError

        paths: list[str] = []
        if "import" not in self.text and "load" not in self.text:
            return paths
        for node in walk(self.root):
            if node.head in ("import", "load") and len(node.children) > 1 and type(node.children[1].value) is str:
                try:
                    paths.append(os.path.realpath(resolve(node.children[1].value, self.path)))
                except (OSError, SemaError, ValueError):
                    continue
        return paths


def path_of(uri: str) -> str:
    """The path of a file URI; of any other, its last part."""
    parts = urlparse(uri)
    return unquote(parts.path)


def sema_files(folder: str) -> Iterator[str]:
    """The .sema files below a folder, hidden folders and what is installed there left out."""
    count = 0
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        for name in sorted(files):
            if name.endswith(".sema"):
                count += 1
                if count > MOST_FILES:
                    return
                yield os.path.realpath(os.path.join(where, name))
