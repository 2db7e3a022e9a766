"""What became of one program in the box."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

WIDTH = 120  # characters of a line that are shown
BEFORE = 60  # of them before the place


@dataclass(frozen=True)
class Outcome:
    """What came of one program.

    status: "value" (of the last form), "return", "fail" (the program's own words), "error".

    text: the value as Sema prints it, None for nil. value: the same for Python, keywords as strings; functions and the
    like as their text. defined: what the program defined and the session keeps, in a few words each. encoded: the value
    as it crossed; `codec.decoded` makes a value of Sema of it. reason: of an error, a stable word
    (docs/reference/box.md). line, column: in the source, from 1. excerpt: that line, and a mark below the column.
    warnings: what the language accepts although it is a mistake, a line each. tool_calls: see `Calls.made`.
    """

    status: str
    value: Any = None
    text: str | None = None
    reason: str | None = None
    message: str | None = None
    hint: str | None = None
    line: int | None = None
    column: int | None = None
    excerpt: str | None = None
    prints: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    defined: dict[str, str] = field(default_factory=dict)
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    duration_ms: float = 0.0
    encoded: Any = field(default=None, repr=False)

    @property
    def ok(self) -> bool:
        return self.status in ("value", "return")


def excerpt(source: str, line: int | None, column: int | None) -> str | None:
    """The line of a program that an error is about, or a part of a long one, with a mark below the place."""
    lines = source.split("\n")
    if line is None or column is None or not 0 < line <= len(lines) or not 0 < column <= len(lines[line - 1]) + 1:
        return None
    text, start = lines[line - 1], max(0, column - 1 - BEFORE)
    shown = "".join(char if char.isprintable() else " " for char in text[start : start + WIDTH])
    return f"    {shown}\n    {' ' * (column - 1 - start)}^"
