"""The examples, run as processes from the project's folder, print what stands in examples/expected.

Those that ask a model replay their tape, as the second command line in them says; tests/process/test_llm_examples.py
runs them otherwise.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from example_runs import PROGRAMS, check_example, places, run, tape_of, typed
from paths import EXAMPLES


@pytest.mark.parametrize("path", PROGRAMS, ids=[path.stem for path in PROGRAMS])
def test_example(path: Path, tmp_path: Path) -> None:
    check_example(path, tmp_path)


def test_static_check_finds_nothing() -> None:
    done = run("-m", "semac.cli.entry", "check", *(str(path) for path in EXAMPLES.rglob("*.sema")))
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("path", PROGRAMS, ids=[path.stem for path in PROGRAMS])
def test_examples_say_how_to_run_them(path: Path) -> None:
    beginning = "\n".join(path.read_text().splitlines()[:4])
    assert f"examples/{path.name}" in beginning
    for name, value in tape_of(path).items():
        assert f"{name}={value}" in beginning


def test_tapes_hold_what_the_examples_ask(tmp_path: Path) -> None:
    """Recorded anew, no tape differs, but in the order of what goes on side by side: none has calls that nobody makes
    any more. (examples/tapes/record makes them.)"""
    for tape in sorted((EXAMPLES / "tapes").glob("*.jsonl")):
        if tape.stem == "rag":
            continue  # the last digits of its embeddings are the machine's: tests/llm/test_local_embeddings.py
        path, again = EXAMPLES / f"{tape.stem}.sema", tmp_path / tape.name
        to_tape = {"SEMA_LLM_CASSETTE": str(again), "SEMA_LLM_CASSETTE_MODE": "record", **places(tmp_path)}
        done = run(
            "-m",
            "semac.cli.entry",
            "-l",
            str(EXAMPLES / "tapes" / "stand_in.sema"),
            str(path),
            stdin=typed(path),
            **to_tape,
        )
        assert done.returncode == 0, done.stderr
        assert sorted(again.read_text().splitlines()) == sorted(tape.read_text().splitlines()), tape.name


def test_a_review_that_is_killed_goes_on(tmp_path: Path) -> None:
    """With the same output as if nothing had been; a page that was edited meanwhile is asked again."""
    example = EXAMPLES / "review_docs.sema"
    handbook = shutil.copytree(EXAMPLES / "data" / "handbook", tmp_path / "handbook")
    settings = {**tape_of(example), **places(tmp_path)}
    args = ["--args", json.dumps({"folder": str(handbook)})]
    command = ["-m", "semac.cli.entry", "workflow", "run", str(example)]
    killed = run(*command, *args, **settings, SEMA_WORKFLOW_FAULT="memo.sync.after:4")
    assert (killed.returncode, killed.stdout) == (-9, "")
    (run_id,) = (one.name for one in (tmp_path / "runs").iterdir() if one.is_dir())
    done = run(*command, *args, "--resume", run_id, **settings)
    assert (done.returncode, done.stdout) == (0, (EXAMPLES / "expected" / "review_docs.txt").read_text())
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
    folder = shutil.copytree(EXAMPLES / "tested", tmp_path / "tested")
    program = folder / "triage.sema"
    program.write_text(program.read_text().replace(":technical]", ":technical :sales]"))
    done = run("-m", "semac.cli.entry", str(folder / "triage_test.sema"))
    assert done.returncode == 1
    assert "FAIL a refund is for billing - cassette miss in :replay mode" in done.stdout
