"""The files of tests/golden: Sema sources, each with the Python it is compiled to."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from paths import TESTS

from semac.pipeline import compile_source

GOLDEN = sorted((TESTS / "golden").glob("*.txt"))
DIVIDER = "-- python --\n"
MODULE_MODE = "mode: module\n"


class Golden(NamedTuple):
    header: str
    source: str
    python: str

    @property
    def mode(self) -> str:
        return "module" if self.header else "program"

    def compiled(self) -> str:
        return compile_source(self.source, "example.sema", self.mode, is_text=True).python_text()


def read(path: Path) -> Golden:
    text = path.read_text()
    header = MODULE_MODE if text.startswith(MODULE_MODE) else ""
    source, _, python = text.removeprefix(header).partition(DIVIDER)
    return Golden(header, source, python)
