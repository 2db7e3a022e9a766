"""What is known of a name: hover, signatures of calls."""

from __future__ import annotations

from typing import Any

from semac.lsp.documents import Document
from semac.lsp.names import FUNCTION, FUNCTIONS, MACRO, Binding
from semac.lsp.python_source import PythonFiles
from semac.lsp.tree import LIST, VECTOR, Node, Place
from semac.lsp.workspace import Files

MOST_LENS = 200  # characters of a signature


def signature(binding: Binding) -> str:
    """How a function of the program is called; of anything else, its name."""
    form, name = binding.form, binding.node.name
    params = _parameter_forms(binding)
    if params is None:
        return name
    return f"({' '.join([name, *(_shown(part) for part in params)])})"[:MOST_LENS] if form is not None else name


def _parameter_forms(binding: Binding) -> list[Node] | None:
    """The parameters as they are written; None for what is no function, or not defined by the form around it."""
    children, node = binding.form.children, binding.node
    at = 2 if binding.form.head == "py/def" and len(children) > 2 and children[1].kind == VECTOR else 1
    if len(children) <= at or node not in (children[at], *children[at].children[:1]):
        return None
    if binding.form.head in ("define", "py/def"):
        if children[at].kind == LIST:
            return children[at].children[1:]
        value = children[2] if len(children) > 2 else None
        return (
            value.children[1].children
            if value is not None and value.head in ("lambda", "fn") and len(value.children) > 1
            else None
        )
    if binding.form.head in FUNCTIONS and len(children) > 2:
        return children[2].children
    return None


def _shown(part: Node) -> str:
    if part.name:
        return part.name
    inner = part.children[0].name if part.children else ""
    return inner or "_"


def docstring(binding: Binding) -> str:
    """The text that stands first in the body of a function with more than one form in it."""
    form = binding.form
    start = 3 if form.head in FUNCTIONS else 2
    is_function = signature(binding) != binding.node.name
    text = form.children[start].value if is_function and len(form.children) > start + 1 else None
    return text if isinstance(text, str) else ""


def documentation(name: str) -> str:
    """The documentation of a name of the language."""
    from semac.docs.entries import lookup

    entry = lookup(name)
    return entry.text() if entry else ""


def hover(files: Files, python: PythonFiles, document: Document, place: Place, types: dict[Node, str]) -> Any:
    """What is known of the name at a place. types: what the last check has found out of definitions."""
    node = document.symbol_at(place)
    if node is None:
        return None
    found = files.definition(document, node)
    text = ""
    if found is not None:
        owner, binding = found
        kind = types.get(binding.node, "")
        text = f"```sema\n{signature(binding)}\n```"
        text += f"\n\nType: `{kind}`" if kind else ""
        if owner is not document:
            text += f"\n\nFrom `{owner.path.rpartition('/')[2]}`."
        doc = docstring(binding)
        text += f"\n\n{doc}" if doc else ""
    member = python.member(document, node.name) if found is None or found[1].form.head.startswith("py/") else None
    if member is not None:
        text = member.markdown()
    if not text:
        text = documentation(node.name)
    if not text:
        return None
    return {"contents": {"kind": "markdown", "value": text}, "range": document.range(node.span)}


def signature_help(files: Files, python: PythonFiles, document: Document, place: Place) -> Any:
    """The ways to write the call around a place."""
    from semac.docs.entries import lookup

    for node in reversed(document.path_to(place)):
        if not node.head or place <= node.children[0].end:
            continue
        found = files.definition(document, node.children[0])
        member = python.member(document, node.head) if found is None else None
        entry = None if found or member else lookup(node.head)
        labels = [signature(found[1])] if found else [member.signature] if member else entry.signatures if entry else []
        if labels and labels[0].startswith("("):
            before = max(sum(child.end < place for child in node.children) - 1, 0)
            doc = docstring(found[1]) if found else member.doc if member else entry.summary if entry else ""
            return {
                "signatures": [_signature(label, doc) for label in labels],
                "activeSignature": 0,
                "activeParameter": before,
            }
    return None


def _signature(label: str, doc: str) -> dict[str, Any]:
    """A signature whose parameters are marked in its text."""
    params = []
    at = label.find(" ") + 1
    for part in label.strip("()").split(" ")[1:]:
        start = label.find(part, at)
        params.append({"label": [start, start + len(part)]})
        at = start + len(part)
    return {"label": label, "parameters": params, "documentation": {"kind": "markdown", "value": doc}}


def is_function(binding: Binding) -> bool:
    """Whether a name is one that is called."""
    return binding.kind in (FUNCTION, MACRO) or signature(binding) != binding.node.name
