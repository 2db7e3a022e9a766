"""Ctrl-C at any line of the runtime: journals are whole, each run has its end, what was finished is not asked again.

A few lines of each program, spread over the whole run; `tests/support/workflow/workflow_interrupts.py` goes through all
of them.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
from paths import TESTS
from workflow_interrupts import PROGRAMS
from workflow_schema import journals_fit_their_schema as journals_fit_their_schema

SWEEP = TESTS / "support" / "workflow" / "workflow_interrupts.py"
EVERY = 397  # lines


@pytest.mark.parametrize("program", PROGRAMS)
def test_ctrl_c_between_any_two_lines(program: str) -> None:
    """In a process of its own: it takes signals, and its children are forks without threads."""
    first = str(17 * [*PROGRAMS].index(program) + 7)
    done = subprocess.run(
        [sys.executable, str(SWEEP), program, str(EVERY), first],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
