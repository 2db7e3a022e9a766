"""Tokens to nodes of the layout: brackets and prefixes, with the author's comments and line breaks between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sema_runtime.form_layout import Atom, Break, Comment, Group, Prefixed
from semac.format.tokens import BREAK, CLOSING, NAME, OPENING, PREFIX, REMARK, FormatError, Token

if TYPE_CHECKING:
    from sema_runtime.form_layout import Node

DEEPEST = 200  # levels of brackets and prefixes
CLOSERS = {"(": ")", "#(": ")", "#u8(": ")", "[": "]", "{": "}"}


class _Open:
    """A bracket that is still open: the nodes inside so far, and the prefixes that wait for a node."""

    __slots__ = ("children", "opening", "prefixes")

    def __init__(self, opening: Token | None) -> None:
        self.opening = opening
        self.children: list[Node] = []
        self.prefixes: list[str] = []

    def add(self, node: Node) -> None:
        while self.prefixes:
            node = Prefixed(self.prefixes.pop(), node)
        self.children.append(node)


def nodes_of(tokens: Sequence[Token], end: int) -> list[Node]:
    """The top-level nodes of tokens; end: the offset behind them. Raises FormatError."""
    top = inner = _Open(None)
    outer: list[_Open] = []
    depth = 0  # of the next node
    for token in tokens:
        kind, text, start = token
        if kind == BREAK:
            if not inner.prefixes:
                inner.children.append(Break())
            continue
        if kind == CLOSING:
            if inner.prefixes or inner.opening is None or CLOSERS[inner.opening.text] != text:
                raise FormatError("unexpected closing delimiter", start)
            group = Group(inner.opening.text, inner.children)
            inner = outer.pop()
            depth -= 1 + len(inner.prefixes)
            inner.add(group)
            continue
        if depth > DEEPEST:
            raise FormatError(f"input nested too deeply (limit {DEEPEST})", start)
        if kind == OPENING:
            outer.append(inner)
            inner = _Open(token)
            depth += 1
        elif kind == PREFIX:
            inner.prefixes.append(text)
            depth += 1
        else:
            depth -= len(inner.prefixes)
            inner.add(Comment(text) if kind == REMARK else Atom(text, kind == NAME))
    if inner.prefixes:
        raise FormatError("prefix token at end of input", end)
    if inner.opening is not None:
        raise FormatError("unclosed delimiter", inner.opening.start)
    return top.children
