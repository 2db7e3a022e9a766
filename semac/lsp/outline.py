"""The shape of a text: symbols, folding, selection, links, layout."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from semac.lsp.documents import Document, uri_of
from semac.lsp.hover import signature
from semac.lsp.names import DEFINERS
from semac.lsp.navigation import around, symbol_kind
from semac.lsp.python_source import PythonFiles
from semac.lsp.text import Position, Range
from semac.lsp.tree import LIST, OTHER, VECTOR, walk
from semac.lsp.units import Unit

FENCE = "@formatter:off"


def document_symbols(document: Document) -> list[Any]:
    """The definitions at the top level, in their order."""
    return [
        {
            "name": name,
            "detail": signature(binding),
            "kind": symbol_kind(binding),
            "range": document.range(around(binding)),
            "selectionRange": document.range(binding.node.span),
        }
        for name, binding in document.top.items()
    ]


def folding_ranges(document: Document) -> list[Any]:
    """Forms and comments of more than one line."""
    ranges = []
    for unit in document.units:
        if "folds" not in unit.kept:
            unit.kept["folds"] = [*_folds(unit)]
        above = unit.above
        for first, last, kind in unit.kept["folds"]:  # type: ignore[attr-defined]
            ranges.append({"startLine": first + above, "endLine": last + above, **({"kind": kind} if kind else {})})
    return ranges


def _folds(unit: Unit) -> Iterator[tuple[int, int, str]]:
    if unit.lines == 1:
        return
    for node in walk(unit.root):
        if node.kind in (LIST, VECTOR, OTHER) and node.own[2] > node.own[0]:
            yield node.own[0] - 1, node.own[2] - 1, ""
    first = last = -1
    for line in [*(comment.span.line for comment in unit.piece.comments), -9]:
        if line != last + 1:
            if last > first:
                yield first - 1, last - 1, "comment"
            first = line
        last = line


def selection_range(document: Document, position: Position) -> Any:
    """The forms around a place, the innermost first."""
    chosen: Any = {"range": {"start": position, "end": position}}
    parent: Any = None
    for node in document.path_to(document.place(position)):
        here = document.range(node.span)
        parent = chosen = {"range": here, **({"parent": parent} if parent else {})}
    return chosen


def links(document: Document, python: PythonFiles) -> list[Any]:
    """The strings that name files, with the files."""
    found = []
    for spec, node in document.import_nodes():
        path = document.resolved(spec)
        if path is not None and os.path.isfile(path):
            line, column, end_line, end_column = node.span
            inside = (line, column + 1, end_line, end_column - 1)
            found.append({"range": document.range(inside), "target": uri_of(path), "tooltip": path})
    return found


# Layout


def formatted(document: Document) -> list[Any]:
    """The edit that lays a text out; none for one that can't be read, or is laid out already."""
    text = _laid_out(document, document.text)
    if text is None or text == document.text:
        return []
    return [{"range": document.range((1, 1, *document.lines.end())), "newText": text}]


def formatted_range(document: Document, chosen: Range) -> list[Any]:
    """The edit that lays out the top-level forms of which a part lies in a range."""
    first, last = (document.place(chosen[end]) for end in ("start", "end"))
    if last > first and last[1] == 1:  # whole lines are chosen up to the start of the next one
        last = (last[0] - 1, len(document.lines.lines[last[0] - 2]) + 1)
    forms = [form for form in document.forms() if form.end >= first and form.start <= last]
    if not forms or FENCE in document.text:
        return []
    start, end = (forms[0].start[0], 1), forms[-1].end
    lines = document.lines.lines[start[0] - 1 : end[0]]
    old = "\n".join([*lines[:-1], lines[-1][: end[1] - 1]])
    text = _laid_out(document, old + "\n")
    if text is None or (text := text.rstrip("\n")) == old:
        return []
    return [{"range": document.range((*start, *end)), "newText": text}]


def _laid_out(document: Document, text: str) -> str | None:
    from semac.format.document import format_text
    from semac.format.settings import SettingsError, find_settings
    from semac.format.tokens import FormatError

    try:
        return format_text(text, find_settings(os.path.dirname(document.path)).style)
    except (FormatError, SettingsError):  # half-typed text stays as it is
        return None


def expressions(document: Document) -> list[Any]:
    """The top-level forms that are no definitions or imports: what a lens runs."""
    skipped = DEFINERS | {"module", "export", "import", "load", "py/import", "py/from", "deftest", "defproperty"}
    return [form for form in document.forms() if form.kind == LIST and form.children and form.head not in skipped]
