"""Completion: names that hold at a place, of the language, of Python modules; snippets for forms."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from typing import Any

from semac import editors
from semac.lsp.documents import Document
from semac.lsp.hover import docstring, is_function, signature
from semac.lsp.names import CLASS, MODULE, Binding
from semac.lsp.python_source import PythonFiles
from semac.lsp.tree import Node, Place
from semac.lsp.workspace import Files

FUNCTION_ITEM, VARIABLE_ITEM, CLASS_ITEM, MODULE_ITEM, KEYWORD_ITEM, SNIPPET_ITEM = 3, 6, 7, 9, 14, 15
AS_SNIPPET = 2
SNIPPETS = os.path.join(os.path.dirname(editors.__file__), "snippets.json")

Item = dict[str, Any]


def completions(files: Files, python: PythonFiles, document: Document, place: Place, snippets: bool) -> list[Item]:
    """Names that begin as what stands before a place; the text to insert replaces the name that is being typed."""
    node = document.symbol_at(place)
    typed = node.name[: place[1] - node.own[1]] if node else ""
    edit = document.range((*node.start, *place) if node else (*place, *place))
    module, dot, _ = typed.rpartition(".")
    if dot and module in python.imports(document):
        members = [f"{module}.{name}" for name in python.members(document, module)]
        return [_item(name, VARIABLE_ITEM, "Python", "0", edit) for name in members if name.startswith(typed)]
    own = _own(files, document, place, node)
    found = [_own_item(name, binding, edit) for name, binding in own.items() if name.startswith(typed)]
    forms, builtins = language_names()
    found += [_item(n, KEYWORD_ITEM, "special form", "1", edit) for n in forms if n.startswith(typed) and n not in own]
    found += [_item(n, FUNCTION_ITEM, "builtin", "2", edit) for n in builtins if n.startswith(typed) and n not in own]
    if snippets and node is not None:
        found += _snippets(document, node, typed, place)
    return found


def with_defaults(items: list[Item]) -> Any:
    """The same as a list that says once what most items replace: it has half the size and is read in half the time."""
    ranges = [item["textEdit"]["range"] for item in items]
    if not ranges:
        return items
    for item in items:
        if item["textEdit"] == {"range": ranges[0], "newText": item["label"]}:
            del item["textEdit"]
    return {"isIncomplete": False, "itemDefaults": {"editRange": ranges[0]}, "items": items}


def _own(files: Files, document: Document, place: Place, node: Node | None) -> dict[str, Binding]:
    """The names of the program that hold at a place, but for the one that is being typed."""
    own: dict[str, Binding] = {}
    for other in files.imported(document):
        own.update(other.top)
    own.update(document.visible(place))
    return {name: binding for name, binding in own.items() if binding.node is not node}


def _item(name: str, kind: int, detail: str, order: str, place: Any) -> Item:
    edit = {"range": place, "newText": name}
    return {"label": name, "kind": kind, "detail": detail, "sortText": order + name, "textEdit": edit}


def _own_item(name: str, binding: Binding, place: Any) -> Item:
    kind = {MODULE: MODULE_ITEM, CLASS: CLASS_ITEM}.get(
        binding.kind, FUNCTION_ITEM if is_function(binding) else VARIABLE_ITEM
    )
    item = _item(name, kind, signature(binding), "0", place)
    doc = docstring(binding)
    return {**item, "documentation": {"kind": "markdown", "value": doc}} if doc else item


def _snippets(document: Document, node: Node, typed: str, place: Place) -> list[Item]:
    """Whole forms, where a form begins: what is replaced is its bracket too, and the closing one behind the name."""
    path = document.path_to(place)
    around = path[-2] if len(path) > 1 else None
    line = document.lines.lines[place[0] - 1]
    if around is None or around.children[:1] != [node] or line[node.start[1] - 2 : node.start[1] - 1] != "(":
        return []
    closes = len(around.children) == 1 and line[place[1] - 1 : place[1]] == ")"
    edit = document.range((place[0], node.start[1] - 1, place[0], place[1] + closes))
    return [
        {
            "label": f"({snippet['prefix']} …)",
            "filterText": "(" + snippet["prefix"],
            "kind": SNIPPET_ITEM,
            "detail": snippet["description"],
            "sortText": "3" + name,
            "insertTextFormat": AS_SNIPPET,
            "textEdit": {"range": edit, "newText": "\n".join(snippet["body"])},
        }
        for name, snippet in all_snippets().items()
        if snippet["prefix"].startswith(typed)
    ]


@lru_cache(1)
def all_snippets() -> dict[str, dict[str, Any]]:
    """The snippets by name, in the format of VS Code."""
    with open(SNIPPETS, encoding="utf-8") as file:
        return json.load(file)  # type: ignore[no-any-return]


@lru_cache(1)
def language_names() -> tuple[list[str], list[str]]:
    """(special forms, other names of the language), sorted."""
    from sema_runtime.catalogue_index import INDEX
    from semac.docs.special_forms import FORMS, VALUES

    builtins = {*INDEX, *_prelude_names(), *VALUES} - {*FORMS}
    return sorted(FORMS), sorted(name for name in builtins if not name.startswith("__"))


def _prelude_names() -> list[str]:
    """The macros of the prelude: seen in its text, which is quicker than to read it."""
    import re

    from semac.docs.entries import PRELUDE

    with open(PRELUDE, encoding="utf-8") as file:
        return re.findall(r"(?m)^\(defmacro (\S+)", file.read())
