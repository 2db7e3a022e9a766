"""A whole text: its first line, top-level forms, and regions that stay as they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sema_runtime.form_layout import Atom, Break, Layout
from semac.format.align import AlignedLayout, align_definitions
from semac.format.tokens import BREAK, CLOSING, OPENING, PREFIX, REMARK, Token, end_of_shebang, tokens_of
from semac.format.tree import nodes_of
from semac.process import deepen

if TYPE_CHECKING:
    from sema_runtime.form_layout import Node

OFF, ON = "@formatter:off", "@formatter:on"


class Style(NamedTuple):
    """What may be chosen. width: columns of a line; indent: of a level; blanks: the most blank lines in a row."""

    width: int = 80
    indent: int = 2
    align: bool = False
    blanks: int = 1


DEFAULT = Style()


class Region(NamedTuple):
    """Lines that stay as they are, from offset `start` to `end`, without the last line break."""

    start: int
    end: int


def format_text(text: str, style: Style = DEFAULT) -> str:
    """The text laid out. Raises FormatError for text whose tokens or brackets are wrong."""
    deepen()
    nodes = list(_top_level(text, tokens_of(text)))
    if style.align:
        nodes = align_definitions(nodes, style.width)
    layout = (AlignedLayout if style.align else Layout)(style.width, style.indent, style.blanks)
    layout.below(nodes, 0)
    first_line = text[: end_of_shebang(text)]
    lines = layout.text().strip("\n")
    return "".join(part + "\n" for part in (first_line, lines) if part)


def _top_level(text: str, tokens: list[Token]) -> Iterator[Node]:
    """The nodes of the top level; a region is one atom. A line break comes first: no comment stands before it."""
    yield Break()
    index = 0
    for region in _regions(text, tokens):
        before = index
        while index < len(tokens) and tokens[index].start < region.start:
            index += 1
        yield from nodes_of(tokens[before:index], region.start)
        yield Atom(text[region.start : region.end])
        while index < len(tokens) and tokens[index].start < region.end:
            index += 1
    yield from nodes_of(tokens[index:], len(text))


def _regions(text: str, tokens: list[Token]) -> Iterator[Region]:
    """Lines from a top-level comment that switches the formatter off through the one that switches it on.

    A form that ends on the first of these lines belongs to them as a whole.
    """
    depth = 0
    row = 0  # the offset of the line on which the current top-level forms begin
    start = -1  # of the region that is open
    after_prefix = False  # whether the form of a prefix is still to come
    for token in tokens:
        if token.kind == BREAK and depth == 0 and not after_prefix:
            row = token.start + 1
        if token.kind != BREAK:
            after_prefix = token.kind == PREFIX
        if token.kind == OPENING:
            depth += 1
        elif token.kind == CLOSING:
            depth -= 1
        elif token.kind == REMARK and depth == 0 and token.text.lstrip(";").strip() == (OFF if start < 0 else ON):
            if start < 0:
                start = row
            else:
                end = text.find("\n", token.start)
                end = len(text) if end < 0 else end
                yield Region(start, end)
                start, row = -1, end + 1
    if start >= 0:
        yield Region(start, len(text))
