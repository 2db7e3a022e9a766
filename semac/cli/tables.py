"""Plain text for people: tables with aligned columns, texts in one line."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from unicodedata import category, east_asian_width

from sema_runtime.support.visible import visible

GAP = "  "
ELLIPSIS = "..."
ENDS = "\n\t\r"


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = (), width: int | None = None) -> Iterator[str]:
    """The lines of a table. right: columns that are aligned at their right. width: of a line; the last column is cut
    to fit."""
    widths = [max(map(columns, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            " " * (room - columns(cell)) + cell if index in right else cell + " " * (room - columns(cell))
            for index, (cell, room) in enumerate(zip(row, widths, strict=True))
        ]
        if len(row) - 1 not in right:
            cells[-1] = row[-1]
        line = GAP.join(cells)
        yield (line if width is None else cut(line, width)).rstrip()


def columns(text: str) -> int:
    """The number of columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if category(char) in ("Mn", "Me") else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def cut(text: str, width: int) -> str:
    """The text, or the part that fits with `...` after it."""
    if columns(text) <= width:
        return text
    while text and columns(text) > width - len(ELLIPSIS):
        text = text[: width - len(ELLIPSIS)] if len(text) > width else text[:-1]
    return text + ELLIPSIS


def one_line(text: str) -> str:
    """The text without line ends and with visible control characters, so that it can't affect a terminal."""
    if text.isprintable():
        return text
    return visible("".join(" " if char in ENDS or category(char) == "Zs" else char for char in text), "")
