"""The examples, run as processes from the project's folder, print what stands in examples/expected."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.*") if path.suffix in (".sema", ".py"))
NO_KEYS = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_HOST"))}


def run(*args: str) -> subprocess.CompletedProcess[str]:
    env = {**NO_KEYS, "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, *args], cwd=ROOT, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_example(path: Path) -> None:
    """SEMA_UPDATE_GOLDEN=1 writes what it prints now."""
    expected = path.parent / "expected" / f"{path.stem}.txt"
    if not expected.exists() and path.name == "coding_agent.sema":
        pytest.skip("its output names the files of the working directory; tests/test_llm_agents.py runs it")
    command = [str(path)] if path.suffix == ".py" else ["-m", "semac.entry", str(path.relative_to(ROOT))]
    done = run(*command)
    assert (done.returncode, done.stderr) == (0, "")
    if os.environ.get("SEMA_UPDATE_GOLDEN"):
        expected.write_text(done.stdout)
    assert done.stdout == expected.read_text()


def test_static_check_finds_nothing() -> None:
    done = run("-m", "semac.entry", "check", *(str(path) for path in EXAMPLES if path.suffix == ".sema"))
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_examples_say_how_to_run_them(path: Path) -> None:
    assert f"examples/{path.name}" in "\n".join(path.read_text().splitlines()[:4])
