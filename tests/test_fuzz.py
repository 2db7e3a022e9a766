"""A short run of the fuzz driver: any text gives forms and code, or a Sema error with a place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).resolve().parent.parent / "scripts" / "fuzz.py"


@pytest.mark.parametrize("part", ["reader", "compiler"])
def test_no_internal_errors(part: str) -> None:
    command = [sys.executable, str(DRIVER), "--inputs", "3000", "--seed", "5", "--part", part]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3000 inputs" in done.stdout
