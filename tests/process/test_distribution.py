"""The distribution of tests over processes, when one of them dies (tests/support/distribution.py)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from paths import TESTS

CONFTEST = f"""
import sys
sys.path.insert(0, {str(TESTS / "support")!r})
from distribution import Files

def pytest_xdist_make_scheduler(config, log):
    return Files(config, log)
"""
DEADLY = """
import os, pytest, signal
@pytest.mark.parametrize("number", range(5))
def test(number):
    if number == {}:
        os.kill(os.getpid(), signal.SIGKILL)
"""
QUIET = "import pytest\n@pytest.mark.parametrize('number', range(4))\ndef test(number): pass\n"


def test_a_process_that_dies_fails_one_test_and_the_others_run(tmp_path: Path) -> None:
    files = {"conftest": CONFTEST, "test_a": DEADLY.format(2), "test_b": QUIET, "test_c": DEADLY.format(4)}
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", "-p", "no:cacheprovider", "."]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 1
    assert "2 failed, 12 passed" in ran.stdout
    assert "crashed while running 'test_a.py::test[2]'" in ran.stdout
    assert "crashed while running 'test_c.py::test[4]'" in ran.stdout
