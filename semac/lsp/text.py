"""Lines of a text, places in them as editors count, and changes to them."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Any

Position = dict[str, int]  # line and character, from 0, in the units of the client
Range = dict[str, Any]
UTF16, UTF32 = "utf-16", "utf-32"
ASTRAL = re.compile("[\U00010000-\U0010ffff]")  # characters of two units in UTF-16


class Lines:
    """The lines of one version of a text. Places outside of it are those of its nearest character.

    encoding: what the client counts within a line, "utf-16" or "utf-32".
    """

    __slots__ = ("encoding", "lines", "wide")

    def __init__(self, lines: list[str], encoding: str) -> None:
        self.lines = lines
        self.encoding = encoding
        self.wide: dict[int, list[int]] = {}  # line → columns of the characters of two units, for lines not in ASCII

    def place(self, position: Position) -> tuple[int, int]:
        """(line, column) from 1, of a place that the client names."""
        line = min(max(position["line"], 0), len(self.lines) - 1)
        if position["line"] > line:
            return line + 1, len(self.lines[line]) + 1
        column = max(position["character"], 0)
        text = self.lines[line]
        if not text.isascii() and self.encoding == UTF16:
            for at in self._wide(line):
                if at >= column:
                    break
                column -= 1
        return line + 1, min(column, len(text)) + 1

    def position(self, line: int, column: int) -> Position:
        """Where a line and column, from 1, are for the client."""
        return {"line": line - 1, "character": self.units(line, column)}

    def units(self, line: int, column: int) -> int:
        """The client's units before a column of a line, both from 1."""
        column = max(column - 1, 0)
        if self.encoding == UTF32 or line > len(self.lines) or self.lines[line - 1].isascii():
            return column
        return column + bisect_left(self._wide(line - 1), column)

    def _wide(self, line: int) -> list[int]:
        known = self.wide.get(line)
        if known is None:
            known = self.wide[line] = [match.start() for match in ASTRAL.finditer(self.lines[line])]
        return known

    def range(self, span: Any) -> Range:
        """The range of a span: lines and columns from 1, its end is exclusive."""
        line, column, end_line, end_column = span
        return {"start": self.position(line, column), "end": self.position(end_line, end_column)}

    def end(self) -> tuple[int, int]:
        """The place behind the last character."""
        return len(self.lines), len(self.lines[-1]) + 1

    def changed(self, change: dict[str, Any]) -> list[str]:
        """The lines after one change that the client reports. Raises KeyError and TypeError for what is no change."""
        text = change["text"]
        if change.get("range") is None:
            return text.split("\n")  # type: ignore[no-any-return]
        line, column = self.place(change["range"]["start"])
        end_line, end_column = self.place(change["range"]["end"])
        if (end_line, end_column) < (line, column):
            line, column, end_line, end_column = end_line, end_column, line, column
        middle = self.lines[line - 1][: column - 1] + text + self.lines[end_line - 1][end_column - 1 :]
        return [*self.lines[: line - 1], *middle.split("\n"), *self.lines[end_line:]]
