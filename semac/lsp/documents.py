"""Texts as the server knows them: lines, units, what they bind and import; the files of a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from semac.lsp.names import IMPORTS, Binding
from semac.lsp.text import Lines, Position, Range
from semac.lsp.tree import Node, Place, path_to, walk
from semac.lsp.units import Layout, Unit

MOST_FILES = 2000  # of a workspace, that are searched
MOST_BYTES = 1_000_000  # of a file that isn't open


class Document:
    """One version of a text. Lines and columns count from 1 and characters; ranges are what the client counts in.

    before: an earlier version, whose units are taken over where they are the same; it can't be used any more then.
    """

    def __init__(self, uri: str, lines: list[str], encoding: str, before: Document | None = None) -> None:
        self.uri = uri
        self.lines = Lines(lines, encoding)
        self._before = before.known_layout() if before is not None else None

    @property
    def path(self) -> str:
        return path_of(self.uri)

    @cached_property
    def real_path(self) -> str:
        return os.path.realpath(self.path)

    @cached_property
    def text(self) -> str:
        return "\n".join(self.lines.lines)

    def changed(self, changes: list[dict[str, Any]]) -> Document:
        """The document after changes that the client reports, in their order."""
        lines = self.lines
        for change in changes:
            lines = Lines(lines.changed(change), lines.encoding)
        return Document(self.uri, lines.lines, lines.encoding, self)

    @cached_property
    def layout(self) -> Layout:
        layout = Layout(self.text, self._before)
        self._before = None
        return layout

    def known_layout(self) -> Layout | None:
        """The units of this version, or of the last one before it that was asked for them."""
        return self.__dict__.get("layout", self._before)

    @property
    def units(self) -> list[Unit]:
        return self.layout.units

    # Names

    @cached_property
    def top(self) -> dict[str, Binding]:
        """The first definition of each global name."""
        top: dict[str, Binding] = {}
        for unit in self.units:
            for name, binding in unit.names.top.names.items():
                top.setdefault(name, binding)
        return top

    def binding(self, node: Node) -> Binding | None:
        """What a name in this text means, if the text says so."""
        local = node.unit.names.bound.get(node)
        if local is not None and not local.is_global:
            return local
        return None if node.quoted or not node.name else self.top.get(node.name)

    def uses(self, binding: Binding) -> list[Node]:
        """The places in this text that mean a binding of it, its definition first."""
        if not binding.is_global:
            return [*binding.uses]
        found = dict.fromkeys([binding.node])
        for unit in self.units:
            same = unit.names.top.names.get(binding.node.name)
            found.update(same.uses if same is not None else {})
            found.update(dict.fromkeys(unit.names.free.get(binding.node.name, ())))
        return [*found]

    def free(self, name: str) -> list[Node]:
        """The uses of a name that this text doesn't bind."""
        return [node for unit in self.units for node in unit.names.free.get(name, ())] if name not in self.top else []

    def visible(self, place: Place) -> dict[str, Binding]:
        """The bindings that hold at a place, inner ones first."""
        return {**self.top, **self.layout.at(place[0]).names.visible(place)}

    # Places

    def place(self, position: Position) -> Place:
        """The place that the client names."""
        return self.lines.place(position)

    def range(self, span: Any) -> Range:
        return self.lines.range(span)

    def location(self, node: Node) -> dict[str, Any]:
        return {"uri": self.uri, "range": self.range(node.span)}

    def path_to(self, place: Place) -> list[Node]:
        """The forms around a place, the outermost first."""
        return path_to(self.layout.at(place[0]).root, place)

    def symbol_at(self, place: Place) -> Node | None:
        """The name at a place."""
        path = self.path_to(place)
        return path[-1] if path and path[-1].name else None

    def forms(self) -> Iterator[Node]:
        """The top-level forms."""
        for unit in self.units:
            yield from unit.root.children

    # Imports

    def import_nodes(self) -> Iterator[tuple[str, Node]]:
        """(path, the string that says it) of what the text imports or loads."""
        for unit in self.units:
            if "imports" not in unit.kept:
                unit.kept["imports"] = [*_imports(unit)]
            yield from unit.kept["imports"]  # type: ignore[misc]

    def resolved(self, spec: str) -> str | None:
        """The real path of the Sema file that an import of this text means."""
        from sema_runtime.compiler_bridge import resolve
        from sema_runtime.values.errors import SemaError

        try:
            return os.path.realpath(resolve(spec, self.path))
        except (OSError, SemaError, ValueError):
            return None

    @cached_property
    def imports(self) -> list[str]:
        """The paths of the Sema files that the text imports or loads."""
        found = [self.resolved(spec) for spec, _ in self.import_nodes()]
        return [path for path in dict.fromkeys(found) if path is not None]


def _imports(unit: Unit) -> Iterator[tuple[str, Node]]:
    if "import" in unit.text or "load" in unit.text:
        for node in walk(unit.root):
            if node.head in IMPORTS and len(node.children) > 1 and type(node.children[1].value) is str:
                yield node.children[1].value, node.children[1]


def path_of(uri: str) -> str:
    """The path of a file URI; of any other, its last part."""
    return unquote(urlparse(uri).path)


def uri_of(path: str) -> str:
    return Path(path).as_uri()


def sema_files(folder: str) -> Iterator[str]:
    """The .sema files below a folder, hidden folders and what is installed there left out."""
    count = 0
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in SKIPPED)
        for name in sorted(files):
            if name.endswith(".sema"):
                count += 1
                if count > MOST_FILES:
                    return
                yield os.path.realpath(os.path.join(where, name))


SKIPPED = frozenset(("node_modules", "__pycache__", "site-packages"))
