"""What became of one program in the box."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """What came of one program.

    status: "value" (of the last form), "return", "fail" (the program's own words), "error".

    text: the value as Sema prints it, None for nil. value: the same for Python, keywords as strings; functions and the
    like as their text. defined: what the program defined and the session keeps, in a few words each. encoded: the value
    as it crossed; `codec.decoded` makes a value of Sema of it. reason: of an error, a stable word
    (docs/reference/box.md). line, column: in the source, from 1.
    """

    status: str
    value: Any = None
    text: str | None = None
    reason: str | None = None
    message: str | None = None
    hint: str | None = None
    line: int | None = None
    column: int | None = None
    prints: list[str] = field(default_factory=list)
    defined: dict[str, str] = field(default_factory=dict)
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    duration_ms: float = 0.0
    encoded: Any = field(default=None, repr=False)

    @property
    def ok(self) -> bool:
        return self.status in ("value", "return")
