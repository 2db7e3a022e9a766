"""From a name to its definition, its uses and its calls, over files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from semac.lsp.documents import Document, uri_of
from semac.lsp.hover import is_function, signature
from semac.lsp.names import DEFINERS, Binding
from semac.lsp.python_source import Member, PythonFiles
from semac.lsp.tree import Node, Place
from semac.lsp.wire import INVALID_PARAMS, RequestError
from semac.lsp.workspace import Files
from semac.syntax.lexer import SYMBOL, TOKEN

FUNCTION_SYMBOL, VARIABLE_SYMBOL, CLASS_SYMBOL = 12, 13, 5
READ, WRITE = 2, 3

Found = tuple[Document, Binding]


def definition(files: Files, python: PythonFiles, document: Document, place: Place) -> Any:
    """The places of what defines the name at a place, or of the file whose path stands there."""
    path = document.path_to(place)
    if not path:
        return None
    node = path[-1]
    if isinstance(node.value, str):
        return _file_location(python, document, path)
    found = files.definition(document, node) if node.name else None
    is_import = found is not None and found[1].form.head in ("py/import", "py/from")
    if node.name and (found is None or is_import):
        member = python.member(document, node.name)
        if member is not None:
            return _member_location(files, member)
    return found[0].location(found[1].node) if found else None


def _file_location(python: PythonFiles, document: Document, path: list[Node]) -> Any:
    head = path[-2].head if len(path) > 1 else ""
    spec = path[-1].value
    target = None
    if head in ("import", "load"):
        target = document.resolved(spec)
    elif head in ("py/import", "py/from"):
        target = python.file(document, spec)
    if target is None:
        return None
    start = {"line": 0, "character": 0}
    return {"uri": uri_of(target), "range": {"start": start, "end": start}}


def _member_location(files: Files, member: Member) -> Any:
    """The place of a name in a Python file, or in the Sema file that Python would import."""
    if member.path.endswith(".sema") and member.name:
        from semac.ir.identifiers import mangle

        document = files.read(member.path)
        for name, binding in document.top.items() if document is not None else ():
            if document is not None and member.name in (name, mangle(name)):
                return document.location(binding.node)
    return member.location()


def references(files: Files, document: Document, place: Place, with_definition: bool) -> list[Any]:
    """The places that mean what the name at a place means."""
    found = _found(files, document, place)
    uses = files.uses(*found) if found else []
    return [owner.location(use) for owner, use in (uses if with_definition else uses[1:])]


def highlights(document: Document, place: Place) -> list[Any]:
    """The uses of a name in its text."""
    node = document.symbol_at(place)
    binding = document.binding(node) if node else None
    if binding is None:
        names = document.free(node.name) if node else []
        return [{"range": document.range(use.span), "kind": READ} for use in names]
    uses = document.uses(binding)
    return [{"range": document.range(use.span), "kind": READ if at else WRITE} for at, use in enumerate(uses)]


def _found(files: Files, document: Document, place: Place) -> Found | None:
    node = document.symbol_at(place)
    return files.definition(document, node) if node else None


# Renaming


def rename_range(files: Files, document: Document, place: Place) -> Any:
    """The name that would be renamed. Raises RequestError for one that can't be."""
    node = document.symbol_at(place)
    if node is None or _found(files, document, place) is None:
        raise RequestError(INVALID_PARAMS, "only names that Sema files of the workspace define can be renamed")
    return {"range": document.range(node.span), "placeholder": node.name}


def renamed(files: Files, document: Document, place: Place, name: str) -> Any:
    """The edits that give a definition another name. Raises RequestError where that would change a program."""
    from semac.lsp.completion import language_names

    word = TOKEN.fullmatch(name)
    if word is None or word.lastindex != SYMBOL or any(name in names for names in language_names()):
        raise RequestError(INVALID_PARAMS, f"'{name}' is not a name that a program can define anew")
    found = _found(files, document, place)
    if found is None or found[1].form.head in ("py/import", "py/from"):
        raise RequestError(INVALID_PARAMS, "only names that Sema files of the workspace define can be renamed")
    edits: dict[str, list[Any]] = {}
    for owner, use in files.uses(*found):
        if _has_meaning(owner, name):
            raise RequestError(INVALID_PARAMS, f"'{name}' has a meaning in {owner.path} already")
        edits.setdefault(owner.uri, []).append({"range": owner.range(use.span), "newText": name})
    return {"changes": edits}


def _has_meaning(document: Document, name: str) -> bool:
    for unit in document.units:
        names = unit.names
        if name in names.free or any(name in scope.names for scope in names.scopes):
            return True
    return False


# Symbols of the workspace, calls


def workspace_symbols(files: Files, query: str) -> list[Any]:
    """The definitions whose names have a text in them."""
    wanted = query.lower()
    return [
        {"name": name, "kind": symbol_kind(binding), "location": document.location(binding.node)}
        for document in files.all()
        for name, binding in document.top.items()
        if wanted in name.lower()
    ]


def symbol_kind(binding: Binding) -> int:
    if binding.form.head == "py/class":
        return CLASS_SYMBOL
    return FUNCTION_SYMBOL if is_function(binding) else VARIABLE_SYMBOL


def around(binding: Binding) -> tuple[int, int, int, int]:
    """The span of the form that defines a name."""
    return binding.form.span if binding.form.head in DEFINERS else binding.node.span


def call_item(document: Document, binding: Binding) -> Any:
    """A function, as the view of calls has it."""
    return {
        "name": binding.node.name,
        "kind": symbol_kind(binding),
        "detail": signature(binding),
        "uri": document.uri,
        "range": document.range(around(binding)),
        "selectionRange": document.range(binding.node.span),
    }


def prepare_calls(files: Files, document: Document, place: Place) -> Any:
    """The global definition that a name means; none for others."""
    found = _found(files, document, place)
    return [call_item(*found)] if found and found[1].is_global else None


def _of_item(files: Files, item: Any) -> Found | None:
    document = files.document({"textDocument": item})
    return _found(files, document, document.place(item["selectionRange"]["start"]))


def incoming(files: Files, item: Any) -> list[Any]:
    """The definitions that use a function, each with the places where."""
    found = _of_item(files, item)
    calls: dict[tuple[str, Any], tuple[Any, list[Any]]] = {}
    for document, node in files.uses(*found)[1:] if found else ():
        caller = _enclosing(document, node)
        entry = call_item(document, caller) if caller else _file_item(document)
        key = document.uri, caller
        calls.setdefault(key, (entry, []))[1].append(document.range(node.span))
    return [{"from": entry, "fromRanges": ranges} for entry, ranges in calls.values()]


def outgoing(files: Files, item: Any) -> list[Any]:
    """The definitions of the program that a function uses."""
    found = _of_item(files, item)
    if found is None:
        return []
    document, binding = found
    calls: dict[int, tuple[Any, list[Any]]] = {}
    for node in _names_in(binding):
        meant = files.definition(document, node)
        if meant is not None and meant[1].is_global and node is not binding.node:
            entry = calls.setdefault(id(meant[1]), (call_item(*meant), []))
            entry[1].append(document.range(node.span))
    return [{"to": entry, "fromRanges": ranges} for entry, ranges in calls.values()]


def _names_in(binding: Binding) -> Iterator[Node]:
    from semac.lsp.tree import walk

    return (node for node in walk(binding.form) if node.name and not node.quoted)


def _enclosing(document: Document, node: Node) -> Binding | None:
    """The global definition in whose form a node stands."""
    for form in node.unit.root.children:
        if form.start <= node.start <= form.end and form.head in DEFINERS:
            for binding in node.unit.names.top.names.values():
                if binding.form is form:
                    return document.top.get(binding.node.name, binding)
    return None


def _file_item(document: Document) -> Any:
    """The forms of a file that are no definitions."""
    start = {"line": 0, "character": 0}
    everything = {"start": start, "end": document.lines.position(*document.lines.end())}
    name = document.path.rpartition("/")[2]
    return {"name": name, "kind": 1, "uri": document.uri, "range": everything, "selectionRange": everything}
