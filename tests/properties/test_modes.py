"""A program means the same compiled as a closed program and as an open module, whatever the optimizer makes of it."""

from __future__ import annotations

import sys

import pytest
from paths import SCRIPTS

from sema_runtime.lib.language import output
from sema_runtime.values.printer import to_text
from semac.session import Session

sys.path.insert(0, str(SCRIPTS))

from random_programs import Programs


def outcome(source: str, closed: bool) -> tuple[str, list[str]]:
    """What a program gives and prints."""
    output.sink = lines = []
    try:
        return to_text(Session(closed=closed).run(source)), lines
    finally:
        output.sink = None


@pytest.mark.parametrize("seed", range(4))
def test_closed_and_open_world_agree(seed: int) -> None:
    programs = Programs(seed)
    for _ in range(60):
        source = programs.program()
        assert outcome(source, closed=True) == outcome(source, closed=False), source
