"""Places in source text: of forms that the reader found, and of forms that the compiler makes out of other forms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sema_runtime.values.lists import List


class Span:
    """Where a form stands: lines and columns count from 1 in characters, the end is behind the last character.

    children: the places of the elements of a list or vector; for a map those of its keys and values in turn, in the
    order of the map's dict; empty for atoms. Unpacks as (line, col, end_line, end_col).
    is_written: whether the form itself stands there, and not what a macro or the reader made out of something else.
    has_place: whether traces show it, other than a form that binds variables, or stands around one.
    """

    __slots__ = ("children", "col", "end_col", "end_line", "has_place", "is_written", "line")

    def __init__(self, line: int, col: int, end_line: int, end_col: int, children: Sequence[Span] = ()) -> None:
        self.line = line
        self.col = col
        self.end_line = end_line
        self.end_col = end_col
        self.children = children
        self.is_written = self.has_place = True

    def __iter__(self) -> Iterator[int]:
        return iter((self.line, self.col, self.end_line, self.end_col))

    def __getitem__(self, index: int) -> int:
        return (self.line, self.col, self.end_line, self.end_col)[index]

    def __eq__(self, other: object) -> bool:
        return type(other) is Span and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Span({self.line}, {self.col}, {self.end_line}, {self.end_col})"


class SiteSpan(Span):
    """Where a form of a called function stands whose code is part of the caller's. site: the number of the call."""

    __slots__ = ("site",)
    site: int

    def __init__(self, span: Any, site: int) -> None:
        super().__init__(span.line, span.col, span.end_line, span.end_col, span.children)
        self.is_written, self.has_place = span.is_written, span.has_place
        self.site = site


def relocated(items: list[Any], span: Any, children: Sequence[Any] | None = None) -> List:
    """A list of the items that stands where span says.

    children: the places of the items; None takes those of span, for items that correspond to the old ones.
    """
    copy = List(items)
    if span is not None:
        copy.span = span if children is None else moved(span, children)
    return copy


def moved(span: Any, children: Sequence[Any] = ()) -> Any:
    """The same place for a form that is made, with other places of elements; None stays None."""
    if span is None:
        return None
    copy = Span(span.line, span.col, span.end_line, span.end_col, tuple(children))
    copy.is_written = False
    return copy
