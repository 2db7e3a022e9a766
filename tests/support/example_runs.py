"""Runs the examples as processes from the project's folder; those that ask a model replay their tape."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from paths import EXAMPLES, ROOT

from sema_runtime.box.probe import layers

PROGRAMS = sorted(path for path in EXAMPLES.glob("*.*") if path.suffix in (".sema", ".py"))
NO_KEYS = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_HOST"))}


def tape_of(path: Path) -> dict[str, str]:
    """The settings that replay an example's tape, if it has one."""
    tape = EXAMPLES / "tapes" / f"{path.stem}.jsonl"
    if not tape.exists():
        return {}
    return {"SEMA_LLM_CASSETTE": str(tape.relative_to(ROOT)), "SEMA_LLM_CASSETTE_MODE": "replay"}


def places(folder: Path) -> dict[str, str]:
    """The settings that have an example leave nothing outside of a folder."""
    return {"TMPDIR": str(folder), "SEMA_WORKFLOW_RUN_DIR": str(folder / "runs")}


def run(*args: str, stdin: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
    env = {**NO_KEYS, "NO_COLOR": "1", **settings}
    return subprocess.run(
        [sys.executable, *args], cwd=ROOT, env=env, input=stdin, capture_output=True, text=True, timeout=60
    )


def typed(path: Path) -> str:
    """What an example reads from its input."""
    lines = EXAMPLES / "data" / f"{path.stem}.txt"
    return lines.read_text() if lines.exists() else ""


def check_example(path: Path, folder: Path) -> None:
    """Compares what an example prints with examples/expected; it leaves nothing outside of a folder.

    SEMA_UPDATE_GOLDEN=1 writes what it prints now. What goes to stderr stands in NAME.err.
    """
    expected = EXAMPLES / "expected" / f"{path.stem}.txt"
    errors = expected.with_suffix(".err")
    if not expected.exists() and path.name == "coding_agent.sema":
        pytest.skip("its output names the files of the working directory; tests/llm/test_llm_agents.py runs it")
    if path.name == "box_analyst.sema" and not {"landlock", "seccomp"} <= layers():
        pytest.skip("the machine lacks a layer of the box")
    command = [str(path)] if path.suffix == ".py" else ["-m", "semac.cli.entry", str(path.relative_to(ROOT))]
    done = run(*command, stdin=typed(path), **places(folder), **tape_of(path))
    assert done.returncode == 0, done.stderr
    if os.environ.get("SEMA_UPDATE_GOLDEN"):
        expected.write_text(done.stdout)
        errors.write_text(done.stderr)
        if not done.stderr:
            errors.unlink()
    assert (done.stdout, done.stderr) == (expected.read_text(), errors.read_text() if errors.exists() else "")
