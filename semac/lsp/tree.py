"""A tree of forms that tokens give even where brackets are missing; every node has its place in the text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sema_runtime.values.atoms import Symbol
from sema_runtime.values.errors import ReaderError
from semac.syntax.lexer import lex
from semac.syntax.literals import CLOSE, FSTRING, OPEN, PREFIX

LIST, VECTOR, OTHER, ATOM = "list", "vector", "other", "atom"
KINDS = {"(": LIST, "[": VECTOR}


class Node:
    """A form. span: lines and columns from 1, its end is exclusive; quoted: it is data, not code."""

    __slots__ = ("children", "kind", "quoted", "span", "value")

    def __init__(self, kind: str, value: Any, span: Any, quoted: bool = False) -> None:
        self.kind = kind
        self.value = value
        self.span = tuple(span)
        self.quoted = quoted
        self.children: list[Node] = []

    @property
    def name(self) -> str:
        """The name of a symbol, else ""."""
        return self.value.name if type(self.value) is Symbol else ""

    @property
    def head(self) -> str:
        """The name that a list calls, else ""."""
        return self.children[0].name if self.kind == LIST and self.children else ""

    def holds(self, line: int, column: int) -> bool:
        """Whether a place lies in the node or at its end."""
        return self.span[:2] <= (line, column) <= self.span[2:]


def parse(text: str) -> Node:
    """The root of the tree: a vector of the top-level forms. Never raises; what can't be read is left out."""
    errors: list[ReaderError] = []
    last = text.count("\n") + 1, len(text) - (text.rfind("\n") + 1) + 1
    root = Node(VECTOR, None, (1, 1, *last))
    stack, prefixes = [root], list[str]()
    for kind, value, span in lex(text, errors=errors):
        if kind == PREFIX:
            prefixes.append(value)
        elif kind == CLOSE:
            prefixes.clear()
            if len(stack) > 1:
                node = stack.pop()
                node.span = (*node.span[:2], *tuple(span)[2:])
        else:
            parent = stack[-1]
            node = Node(ATOM, value, span, "'" in prefixes or parent.quoted)
            prefixes.clear()
            parent.children.append(node)
            if kind == OPEN:
                node.kind, node.value = KINDS.get(value, OTHER), None
                node.span = (*node.span[:2], *last)
                stack.append(node)
            elif kind == FSTRING:
                _add_code(node, value)
    return root


def _add_code(node: Node, parts: Any) -> None:
    """Enters the names in the code of an f-string below its node."""
    node.kind, node.value = OTHER, None
    for is_code, text, span in parts:
        if is_code:
            line, column = tuple(span)[:2]
            tokens = lex(text, line, column, errors=[])
            node.children += [Node(ATOM, value, place) for _, value, place in tokens if type(value) is Symbol]


def path_to(root: Node, line: int, column: int) -> list[Node]:
    """The nodes around a place, from the outermost form to the innermost."""
    path: list[Node] = []
    nodes = root.children
    while True:
        inside = [node for node in nodes if node.holds(line, column)]
        if not inside:
            return path
        inner = inside[-1]
        path.append(inner)
        nodes = inner.children


def walk(root: Node) -> Iterator[Node]:
    """All nodes below the root."""
    stack = [*reversed(root.children)]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))
