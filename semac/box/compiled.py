"""Programs of a session that were compiled before: agents and services send the same ones again and again."""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType

from semac.pipeline import CompiledUnit

MOST_PROGRAMS = 32
MOST_SOURCE = 4_096  # characters of one that is kept


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program that has passed all checks. warnings: of the compiler."""

    unit: CompiledUnit
    code: CodeType
    warnings: list[str]


class CompiledPrograms:
    """Those that define nothing, since the last one that did: nothing has changed what they were compiled with."""

    def __init__(self) -> None:
        self.by_source: dict[str, Compiled] = {}

    def get(self, source: str) -> Compiled | None:
        return self.by_source.get(source)

    def keep(self, source: str, compiled: Compiled) -> None:
        """Keeps a program that has run, unless values in its code might have changed meanwhile."""
        if len(source) > MOST_SOURCE or compiled.unit.unit.values:
            return
        if len(self.by_source) >= MOST_PROGRAMS:
            del self.by_source[next(iter(self.by_source))]
        self.by_source[source] = compiled

    def forget(self) -> None:
        self.by_source.clear()
