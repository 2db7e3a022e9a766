"""Where emission sends the value of a node."""

from __future__ import annotations


class Dest:
    """Where a value goes. kind: "return", "assign" (to target) or "drop"; then `after` follows (a loop's `break`)."""

    __slots__ = ("after", "kind", "target")

    def __init__(self, kind: str, target: str = "", after: bool = False) -> None:
        self.kind = kind
        self.target = target
        self.after = after


RETURN = Dest("return")
DROP = Dest("drop")
