"""The patterns of the analyzed tree as nodes."""

from __future__ import annotations

from typing import Any

from semac.anf.nodes import (
    AnyPattern,
    BadPattern,
    LiteralPattern,
    MapPattern,
    Pattern,
    SequencePattern,
    VarPattern,
)


def pattern_node(shape: tuple[Any, ...]) -> Pattern:
    """The node of a pattern of `semac/analyze/forms/patterns.py`."""
    kind = shape[0]
    if kind == "any":
        return AnyPattern()
    if kind == "var":
        return VarPattern(shape[1])
    if kind == "literal":
        return LiteralPattern(shape[1])
    if kind == "sequence":
        rest = pattern_node(shape[2]) if shape[2] is not None else None
        return SequencePattern([pattern_node(part) for part in shape[1]], rest)
    if kind == "map":
        return MapPattern([(key, pattern_node(part), required) for key, part, required in shape[1]])
    return BadPattern(shape[1], shape[2])
