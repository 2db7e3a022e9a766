"""The examples, run as processes from the project's folder, print what stands in examples/expected.

Those that ask a model replay their tape, as the second command line in them says; tests/test_llm_examples.py runs them
otherwise.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "examples"
EXAMPLES = sorted(path for path in FOLDER.glob("*.*") if path.suffix in (".sema", ".py"))
NO_KEYS = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_HOST"))}


def tape_of(path: Path) -> dict[str, str]:
    """The settings that replay an example's tape, if it has one."""
    tape = FOLDER / "tapes" / f"{path.stem}.jsonl"
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
    lines = FOLDER / "data" / f"{path.stem}.txt"
    return lines.read_text() if lines.exists() else ""


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_example(path: Path, tmp_path: Path) -> None:
    """SEMA_UPDATE_GOLDEN=1 writes what it prints now. What goes to stderr stands in NAME.err."""
    expected = FOLDER / "expected" / f"{path.stem}.txt"
    errors = expected.with_suffix(".err")
    if not expected.exists() and path.name == "coding_agent.sema":
        pytest.skip("its output names the files of the working directory; tests/test_llm_agents.py runs it")
    command = [str(path)] if path.suffix == ".py" else ["-m", "semac.cli.entry", str(path.relative_to(ROOT))]
    done = run(*command, stdin=typed(path), **places(tmp_path), **tape_of(path))
    assert done.returncode == 0, done.stderr
    if os.environ.get("SEMA_UPDATE_GOLDEN"):
        expected.write_text(done.stdout)
        errors.write_text(done.stderr)
        if not done.stderr:
            errors.unlink()
    assert (done.stdout, done.stderr) == (expected.read_text(), errors.read_text() if errors.exists() else "")


def test_static_check_finds_nothing() -> None:
    done = run("-m", "semac.cli.entry", "check", *(str(path) for path in FOLDER.rglob("*.sema")))
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_examples_say_how_to_run_them(path: Path) -> None:
    beginning = "\n".join(path.read_text().splitlines()[:4])
    assert f"examples/{path.name}" in beginning
    for name, value in tape_of(path).items():
        assert f"{name}={value}" in beginning


def test_tapes_hold_what_the_examples_ask(tmp_path: Path) -> None:
    """Recorded anew, no tape differs, but in the order of what goes on side by side: none has calls that nobody makes
    any more. (examples/tapes/record makes them.)"""
    for tape in sorted((FOLDER / "tapes").glob("*.jsonl")):
        if tape.stem == "rag":
            continue  # the last digits of its embeddings are the machine's: tests/test_local_embeddings.py
        path, again = FOLDER / f"{tape.stem}.sema", tmp_path / tape.name
        to_tape = {"SEMA_LLM_CASSETTE": str(again), "SEMA_LLM_CASSETTE_MODE": "record", **places(tmp_path)}
        done = run(
            "-m",
            "semac.cli.entry",
            "-l",
            str(FOLDER / "tapes" / "stand_in.sema"),
            str(path),
            stdin=typed(path),
            **to_tape,
        )
        assert done.returncode == 0, done.stderr
        assert sorted(again.read_text().splitlines()) == sorted(tape.read_text().splitlines()), tape.name


def test_a_review_that_is_killed_goes_on(tmp_path: Path) -> None:
    """With the same output as if nothing had been; a page that was edited meanwhile is asked again."""
    example = FOLDER / "review_docs.sema"
    handbook = shutil.copytree(FOLDER / "data" / "handbook", tmp_path / "handbook")
    settings = {**tape_of(example), **places(tmp_path)}
    args = ["--args", json.dumps({"folder": str(handbook)})]
    command = ["-m", "semac.cli.entry", "workflow", "run", str(example)]
    killed = run(*command, *args, **settings, SEMA_WORKFLOW_FAULT="memo.sync.after:4")
    assert (killed.returncode, killed.stdout) == (-9, "")
    (run_id,) = (one.name for one in (tmp_path / "runs").iterdir() if one.is_dir())
    done = run(*command, *args, "--resume", run_id, **settings)
    assert (done.returncode, done.stdout) == (0, (FOLDER / "expected" / "review_docs.txt").read_text())
    kept = int(done.stderr.rpartition(" kept from before")[0].split()[-1])
    assert kept >= 3  # the file names, and steps of before
    page = handbook / "laser-cutter.md"
    page.write_text(page.read_text() + "\nEdited.\n")
    again = run(*command, *args, "--resume", run_id, **settings)  # the tape hasn't what is asked now
    asked = [line.split()[1] for line in again.stderr.splitlines() if line.startswith("  failed")]
    assert asked == ["reader_1", "comparer_1"]
    assert "3 pages reviewed, 2 with problems, 1 not answered." in again.stdout
    assert "Contradictions: not answered" in again.stdout


def test_tested_program() -> None:
    """A program with its tests: in Sema, and for pytest, which takes the example's folder for a project of its own."""
    done = run("-m", "semac.cli.entry", "examples/tested/triage_test.sema")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line[:4] for line in done.stdout.splitlines()] == ["ok  "] * 4
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "examples/tested")
    assert done.returncode == 0, done.stdout


def test_tested_program_changed(tmp_path: Path) -> None:
    """A changed prompt isn't on the tape: the tests say so."""
    folder = shutil.copytree(FOLDER / "tested", tmp_path / "tested")
    program = folder / "triage.sema"
    program.write_text(program.read_text().replace(":technical]", ":technical :sales]"))
    done = run("-m", "semac.cli.entry", str(folder / "triage_test.sema"))
    assert done.returncode == 1
    assert "FAIL a refund is for billing - cassette miss in :replay mode" in done.stdout
