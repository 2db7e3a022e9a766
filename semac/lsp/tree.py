"""A tree of forms that tokens give even where brackets are missing; every node has its place in the text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sema_runtime.values.atoms import Symbol
from semac.syntax.lexer import Token, lex
from semac.syntax.literals import CLOSE, FSTRING, OPEN, PREFIX

if TYPE_CHECKING:
    from semac.lsp.units import Unit

LIST, VECTOR, OTHER, ATOM = "list", "vector", "other", "atom"
KINDS = {"(": LIST, "[": VECTOR}

Place = tuple[int, int]  # line and column, from 1


class Node:
    """A form. own: its place in its unit; quoted: it is data, not code."""

    __slots__ = ("children", "kind", "own", "quoted", "unit", "value")

    def __init__(self, kind: str, value: Any, own: Any, unit: Unit, quoted: bool = False) -> None:
        self.kind = kind
        self.value = value
        self.own: tuple[int, int, int, int] = own
        self.unit = unit
        self.quoted = quoted
        self.children: list[Node] = []

    @property
    def span(self) -> tuple[int, int, int, int]:
        """The place in the text: lines and columns from 1, its end is exclusive."""
        above = self.unit.above
        line, column, end_line, end_column = self.own
        return line + above, column, end_line + above, end_column

    @property
    def start(self) -> Place:
        return self.own[0] + self.unit.above, self.own[1]

    @property
    def end(self) -> Place:
        return self.own[2] + self.unit.above, self.own[3]

    @property
    def name(self) -> str:
        """The name of a symbol, else ""."""
        return self.value.name if type(self.value) is Symbol else ""

    @property
    def head(self) -> str:
        """The name that a list calls, else ""."""
        return self.children[0].name if self.kind == LIST and self.children else ""

    def holds(self, place: Place) -> bool:
        """Whether a place lies in the node or at its end."""
        return self.start <= place <= self.end


def parse(tokens: list[Token], unit: Unit) -> Node:
    """The root of a unit's tree: a vector of its top-level forms. Never raises; what can't be read is left out."""
    text = unit.text
    last = text.count("\n") + 1, len(text) - (text.rfind("\n") + 1) + 1
    root = Node(VECTOR, None, (1, 1, *last), unit)
    stack, prefixes = [root], list[str]()
    for kind, value, span in tokens:
        if kind == PREFIX:
            prefixes.append(value)
        elif kind == CLOSE:
            prefixes.clear()
            if len(stack) > 1:
                node = stack.pop()
                node.own = (*node.own[:2], span.end_line, span.end_col)
        else:
            parent = stack[-1]
            own = span.line, span.col, span.end_line, span.end_col
            node = Node(ATOM, value, own, unit, "'" in prefixes or parent.quoted)
            prefixes.clear()
            parent.children.append(node)
            if kind == OPEN:
                node.kind, node.value = KINDS.get(value, OTHER), None
                node.own = (*own[:2], *last)
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
            names = [(value, tuple(place)) for _, value, place in tokens if type(value) is Symbol]
            node.children += [Node(ATOM, value, place, node.unit) for value, place in names]


def path_to(root: Node, place: Place) -> list[Node]:
    """The nodes around a place, from the outermost form to the innermost."""
    path: list[Node] = []
    nodes = root.children
    while True:
        inside = [node for node in nodes if node.holds(place)]
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
