"""Runs the rules over a unit after each pass."""

from __future__ import annotations

from semac.ir.unit import Unit
from semac.verify.bare import check_bare
from semac.verify.scope import check_scope
from semac.verify.texts import check_texts


class Verifier:
    """Called with the name of each pass that has run over a unit."""

    def __call__(self, after: str, unit: Unit) -> None:
        """Raises Fault where the unit breaks a rule."""
        check_scope(unit, after)
        check_bare(unit, after)
        check_texts(unit, after)
