"""Type inference over the IR."""

from __future__ import annotations

from semac.analyze import Unit


def infer(unit: Unit, closed: bool) -> None:
    """Fills in types."""
