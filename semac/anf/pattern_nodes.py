"""The nodes of patterns: what destructuring, `match` and loops bind."""

from __future__ import annotations

from typing import Any

from semac.ir.node import Node
from semac.ir.nodes import Var


class Pattern(Node):
    pass


class AnyPattern(Pattern):
    pass


class VarPattern(Pattern):
    var: Var


class LiteralPattern(Pattern):
    value: Any


class SequencePattern(Pattern):
    """fits: whether the value surely is a sequence of this length, or nil with `or_nil` (set by inference). kinds: the
    tags of what the value can be; 0 where that isn't known."""

    parts: list[Pattern]
    rest: Pattern | None
    fits: bool = False
    or_nil: bool = False
    kinds: int = 0


class MapPattern(Pattern):
    """entries: (key, pattern, whether the key must be there). fits: whether the value surely is a map, as above."""

    entries: list[tuple[Any, Pattern, bool]]
    fits: bool = False


class BadPattern(Pattern):
    """A malformed pattern: an error when a value gets as far."""

    message: str
    hint: str | None
