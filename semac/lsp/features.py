"""Answers about one text: completion, hover, signatures, symbols, folding."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types as lsp

from sema_runtime.catalogue_index import INDEX
from semac.docs.entries import all_entries, lookup, prelude_entries
from semac.docs.special_forms import FORMS
from semac.lsp.documents import Document
from semac.lsp.names import DEFINERS, Binding
from semac.lsp.tree import LIST, OTHER, VECTOR, Node, path_to, walk
from semac.lsp.workspace import Files

MOST_LENS = 200  # characters of a signature


def completions(files: Files, document: Document, position: lsp.Position) -> list[lsp.CompletionItem]:
    """Names that hold at a place; the text to insert replaces the name that is being typed."""
    line, column = document.place(position)
    node = document.symbol_at(position)
    place = document.range((*node.span[:2], line, column)) if node else lsp.Range(position, position)
    typed = node.name[: column - node.span[1]] if node else ""
    own = {name: binding for name, binding in document.names.visible(line, column).items() if binding.node is not node}
    for other in files.imported(document):
        own = {**other.names.top.names, **own}
    own = {name: binding for name, binding in own.items() if name.startswith(typed)}
    found = [_item(name, _kind(binding), signature(binding), "0", place) for name, binding in own.items()]
    forms = [name for name in FORMS if name not in own and name.startswith(typed)]
    found += [_item(name, lsp.CompletionItemKind.Keyword, "special form", "1", place) for name in forms]
    others = {*INDEX, *prelude_entries()} - {*FORMS, *own}
    builtins = sorted(name for name in others if name.startswith(typed) and not name.startswith("__"))
    found += [_item(name, lsp.CompletionItemKind.Function, "builtin", "2", place) for name in builtins]
    return found


def _item(name: str, kind: lsp.CompletionItemKind, detail: str, order: str, place: lsp.Range) -> lsp.CompletionItem:
    edit = lsp.TextEdit(place, name)
    return lsp.CompletionItem(name, kind=kind, detail=detail, sort_text=order + name, text_edit=edit)


def _kind(binding: Binding) -> lsp.CompletionItemKind:
    return lsp.CompletionItemKind.Function if "(" in signature(binding) else lsp.CompletionItemKind.Variable


def signature(binding: Binding) -> str:
    """How a function of the program is called; of anything else, its name."""
    form, name = binding.form, binding.node.name
    if len(form.children) < 2 or binding.node not in (form.children[1], *form.children[1].children[:1]):
        return name
    params: list[Node] | None = None
    if form.head == "define" and form.children[1].kind == LIST:
        params = form.children[1].children[1:]
    elif form.head in ("defun", "defn", "defmacro") and len(form.children) > 2:
        params = form.children[2].children
    return name if params is None else f"({' '.join([name, *(part.name or '_' for part in params)])})"[:MOST_LENS]


def hover(files: Files, document: Document, position: lsp.Position) -> lsp.Hover | None:
    """What is known of the name at a place."""
    node = document.symbol_at(position)
    if node is None:
        return None
    found = files.definition(document, node)
    if found is not None:
        owner, binding = found
        text = f"```sema\n{signature(binding)}\n```"
        if owner is not document:
            text += f"\n\nFrom `{owner.path.rpartition('/')[2]}`."
        doc = docstring(binding)
        text += f"\n\n{doc}" if doc else ""
    else:
        entry = lookup(node.name)
        if entry is None:
            return None
        text = entry.text()
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text), document.range(node.span))


def docstring(binding: Binding) -> str:
    """The text that stands first in the body of a function with more than one form in it."""
    form = binding.form
    start = 3 if form.head in ("defun", "defn", "defmacro") else 2
    is_function = signature(binding) != binding.node.name
    text = form.children[start].value if is_function and len(form.children) > start + 1 else None
    return text if isinstance(text, str) else ""


def signature_help(files: Files, document: Document, position: lsp.Position) -> lsp.SignatureHelp | None:
    """The ways to write the call around a place."""
    place = document.place(position)
    for node in reversed(path_to(document.root, *place)):
        if node.head and place > node.children[0].span[2:]:
            found = files.definition(document, node.children[0])
            entry = None if found else lookup(node.head)
            labels = [signature(found[1])] if found else entry.signatures if entry else []
            if labels:
                before = sum(child.span[2:] < place for child in node.children) - 1
                return lsp.SignatureHelp([lsp.SignatureInformation(label) for label in labels], 0, max(before, 0))
    return None


def document_symbols(document: Document) -> list[lsp.DocumentSymbol]:
    """The definitions at the top level."""
    return [
        lsp.DocumentSymbol(
            name, symbol_kind(binding), document.range(_around(binding)), document.range(binding.node.span)
        )
        for name, binding in document.names.top.names.items()
    ]


def _around(binding: Binding) -> tuple[int, ...]:
    return binding.form.span if binding.form.head in DEFINERS else binding.node.span


def symbol_kind(binding: Binding) -> lsp.SymbolKind:
    return lsp.SymbolKind.Function if signature(binding) != binding.node.name else lsp.SymbolKind.Variable


def folding_ranges(document: Document) -> Iterator[lsp.FoldingRange]:
    """Forms of more than one line."""
    for node in walk(document.root):
        if node.kind in (LIST, VECTOR, OTHER) and node.span[2] > node.span[0]:
            yield lsp.FoldingRange(node.span[0] - 1, node.span[2] - 1)


def selection_range(document: Document, position: lsp.Position) -> lsp.SelectionRange:
    """The forms around a place, the innermost first."""
    chosen = lsp.SelectionRange(lsp.Range(position, position))
    parent: lsp.SelectionRange | None = None
    for node in path_to(document.root, *document.place(position)):
        parent = chosen = lsp.SelectionRange(document.range(node.span), parent)
    return chosen


def documentation(name: str) -> str:
    """The documentation of a name of the language."""
    entry = all_entries().get(name)
    return entry.text() if entry else ""
