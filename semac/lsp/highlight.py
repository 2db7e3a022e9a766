"""Semantic tokens: what each word of a text means."""

from __future__ import annotations

from itertools import islice
from typing import Any

from sema_runtime.values.atoms import Keyword, Symbol
from semac.lsp.completion import language_names
from semac.lsp.documents import Document
from semac.lsp.names import CLASS, FUNCTION, MACRO, MODULE, PARAMETER, VARIABLE, Binding
from semac.lsp.tree import Node, walk
from semac.lsp.units import Unit
from semac.lsp.workspace import Files
from semac.syntax.literals import ATOM, FSTRING, PLACEHOLDER

TYPES = [
    "namespace", "class", "parameter", "variable", "property", "function", "macro", "keyword", "comment", "string",
    "number",
]  # fmt: skip
MODIFIERS = ["definition", "readonly", "defaultLibrary"]
DEFINITION, READONLY, LIBRARY = 1, 2, 4
NUMBER = {name: index for index, name in enumerate(TYPES)}
LEGEND = {"tokenTypes": TYPES, "tokenModifiers": MODIFIERS}
KINDS = {MODULE: "namespace", CLASS: "class", PARAMETER: "parameter", VARIABLE: "variable", FUNCTION: "function",
         MACRO: "macro"}  # fmt: skip

Token = tuple[int, int, int, int, int]  # line and column from 0 in the unit, length, type, modifiers


def semantic_tokens(files: Files, document: Document, first: int = 1, last: int | None = None) -> list[int]:
    """The tokens of the units that lie on some lines, as the protocol has them: each relative to the one before."""
    meanings = _Meanings(files, document)
    layout = document.layout
    data: list[int] = []
    line = column = 0
    for at in range(layout.index(first), len(layout.units)):
        unit = layout.units[at]
        if last is not None and unit.above >= last:
            break
        above = unit.above
        for own_line, start, length, kind, marks in _unit_tokens(document, unit, meanings):
            here = own_line + above
            data += (here - line, start - column if here == line else start, length, kind, marks)
            line, column = here, start
    return data


class _Meanings:
    """(type, modifiers) of the names that a unit doesn't bind itself."""

    def __init__(self, files: Files, document: Document) -> None:
        self.top = document.top
        self.imported = {name: binding for other in files.imported(document) for name, binding in other.top.items()}
        forms, builtins = language_names()
        self.heads = dict.fromkeys(forms, (NUMBER["keyword"], 0))  # of forms that bind names
        self.forms, self.builtins = frozenset(forms), frozenset(builtins)

    def of(self, name: str) -> tuple[int, int] | None:
        binding = self.top.get(name) or self.imported.get(name)
        if binding is not None:
            return NUMBER[KINDS[binding.kind]], 0
        if name in self.forms:
            return NUMBER["keyword"], 0
        if name in self.builtins:
            return NUMBER["function"], LIBRARY
        module = self.top.get(name.partition(".")[0])
        return (NUMBER["namespace"], 0) if module is not None and module.kind == MODULE else None


def _unit_tokens(document: Document, unit: Unit, meanings: _Meanings) -> list[Token]:
    """The tokens of a unit, computed anew when it or what its names mean has changed."""
    names = unit.names
    free = {name: meanings.of(name) for name in (*names.free, *names.top.names)}
    key = tuple(free.values())
    known: Any = unit.kept.get("tokens")
    if known is None or known[0] != key:
        known = unit.kept["tokens"] = key, [*_tokens(document, unit, {**meanings.heads, **free})]
    return known[1]  # type: ignore[no-any-return]


def _tokens(document: Document, unit: Unit, free: dict[str, Any]) -> list[Token]:
    places: list[tuple[Any, int, int]] = [(comment.span, NUMBER["comment"], 0) for comment in unit.piece.comments]
    bound = {node.own[:2]: node for node in walk(unit.root) if node.name}
    for kind, value, span in unit.piece.tokens:
        if kind in (ATOM, PLACEHOLDER):
            meaning = _of_atom(unit, bound.get((span.line, span.col)), value, free)
            if meaning is not None:
                places.append((span, *meaning))
        elif kind == FSTRING:
            places += _of_fstring(unit, value, span, bound, free)
    found: list[Token] = []
    for span, kind, marks in sorted(places, key=lambda place: tuple(place[0])[:2]):
        found += _split(document, unit, tuple(span), kind, marks)
    return found


def _of_atom(unit: Unit, node: Node | None, value: Any, free: dict[str, Any]) -> tuple[int, int] | None:
    kind = type(value)
    if kind is Symbol:
        return _of_name(unit, node, free) if node is not None and not node.quoted else None
    if kind is Keyword:
        return NUMBER["property"], 0
    if kind is str:
        return NUMBER["string"], 0
    if value is None or kind is bool:
        return NUMBER["keyword"], READONLY
    return (NUMBER["number"], 0) if kind in (int, float) else (NUMBER["string"], 0)


def _of_name(unit: Unit, node: Node, free: dict[str, Any]) -> tuple[int, int] | None:
    binding: Binding | None = unit.names.bound.get(node)
    if binding is None:
        return free.get(node.name)
    return NUMBER[KINDS[binding.kind]], DEFINITION if binding.node is node else 0


def _of_fstring(
    unit: Unit, parts: Any, span: Any, bound: dict[Any, Node], free: dict[str, Any]
) -> list[tuple[Any, int, int]]:
    """The text of an f-string as strings, the names in its code as what they are."""
    places: list[tuple[Any, int, int]] = []
    line, column = span.line, span.col
    for is_code, _, inner in parts:
        if not is_code:
            continue
        places.append(((line, column, inner.line, inner.col), NUMBER["string"], 0))
        line, column = inner.end_line, inner.end_col
        for place, node in bound.items():
            if (inner.line, inner.col) <= place < (inner.end_line, inner.end_col):
                meaning = _of_name(unit, node, free)
                places += [(node.own, *meaning)] if meaning is not None else []
    places.append(((line, column, span.end_line, span.end_col), NUMBER["string"], 0))
    return places


def _split(document: Document, unit: Unit, span: tuple[int, ...], kind: int, marks: int) -> list[Token]:
    """A token in the client's units, one for each of its lines."""
    line, column, end_line, end_column = span
    units = document.lines.units
    found = []
    for here in range(line, end_line + 1):
        above = here + unit.above
        start = units(above, column if here == line else 1)
        last = end_column if here == end_line else len(document.lines.lines[above - 1]) + 1
        length = units(above, last) - start
        if length > 0:
            found.append((here - 1, start, length, kind, marks))
    return found


class Results:
    """The tokens that were sent last for each text, so that the client gets only what has changed since."""

    def __init__(self) -> None:
        self.count = 0
        self.sent: dict[str, tuple[str, list[int]]] = {}

    def full(self, uri: str, data: list[int]) -> dict[str, Any]:
        self.count += 1
        self.sent[uri] = str(self.count), data
        return {"resultId": str(self.count), "data": data}

    def delta(self, uri: str, previous: str, data: list[int]) -> dict[str, Any]:
        """The one edit that makes the tokens of a result those of now; all of them for a result that isn't the last."""
        known = self.sent.get(uri)
        full = self.full(uri, data)
        if known is None or known[0] != previous:
            return full
        old = known[1]
        start = _common(old, data, min(len(old), len(data)))
        end = _common(old[::-1], data[::-1], min(len(old), len(data)) - start)
        edit = {"start": start, "deleteCount": len(old) - start - end, "data": data[start : len(data) - end]}
        return {"resultId": full["resultId"], "edits": [edit] if edit["deleteCount"] or edit["data"] else []}


def _common(a: list[int], b: list[int], most: int) -> int:
    """How many numbers at the start are the same."""
    pairs = enumerate(zip(islice(a, most), islice(b, most), strict=True))
    return next((at for at, (x, y) in pairs if x != y), most)
