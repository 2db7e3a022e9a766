"""Nobody reads the output any more (`sema ... | head`): every command ends without a word, as other tools do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import workflow_journals as journals
from terminal_support import environment

STATUS = 141  # what a shell says of a program that SIGPIPE has ended
PROGRAM = "(define (f x) (* x 2))\n" * 4000
BIG = '(map (fn (i) (string/repeat "line " 20)) (range 5000))'
COMMANDS = (
    "workflow list", "workflow list --json", "workflow show a --all", "workflow show a --json",
    "workflow show a --events", "workflow show a --events --json", "workflow show a --agent worker_1",
    "workflow diff a b --full", "workflow diff a b --json", "workflow check bad.sema", "workflow --help",
    "workflow index", "workflow export a", "doc map", "doc guide", "check bad.sema", "ast p.sema", "ast p.sema --json",
    "compile p.sema", "usage", "usage --json", "doctor", "cassette --help", "--help", "--version", "show.sema",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pipe")
    for name in "ab":
        journals.written(made / ".sema" / "runs", name, journals.wide(800))
    (made / "p.sema").write_text(PROGRAM)
    (made / "bad.sema").write_text("(undefined-name 1)\n" * 300)
    (made / "show.sema").write_text(f"(println {BIG})")
    return made


def ended(folder: Path, args: list[str], stdin: str = "", both: bool = False) -> tuple[int, str]:
    """The status of a command whose stdout, or both streams, nobody ever reads; what it wrote to stderr."""
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "semac.cli.entry", *args],
            cwd=folder,
            env=environment(SEMA_HOME=str(folder / "home"), SEMA_NO_LLM="1"),
            input=stdin,
            stdout=write,
            stderr=write if both else subprocess.PIPE,
            text=True,
            timeout=60,
        )
    finally:
        os.close(write)
    return done.returncode, done.stderr or ""


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_ends_without_a_word(folder: Path, command: str) -> None:
    args = command.split()
    if args[:1] == ["compile"]:
        args += ["-o", "-"]
    assert ended(folder, args) == (STATUS, "")


@pytest.mark.parametrize("option", ["-p", "-e"])
def test_a_value_that_nobody_reads(folder: Path, option: str) -> None:
    for text in ("1", BIG):
        assert ended(folder, [option, text]) == (STATUS, "")
        assert ended(folder, [option, text], both=True) == (STATUS, "")


def test_evaluations_that_nobody_reads(folder: Path) -> None:
    assert ended(folder, ["eval", "--expr", BIG]) == (STATUS, "")
    assert ended(folder, ["eval", "--expr", BIG, "--json"]) == (STATUS, "")
    assert ended(folder, ["eval", "--jsonl"], '{"id": 1, "src": "1"}\n' * 50) == (STATUS, "")
    assert ended(folder, [], f"{BIG}\n" * 3) == (STATUS, "")
    assert ended(folder, [], ",builtins\n" * 3) == (STATUS, "")


def test_an_error_that_nobody_reads(folder: Path) -> None:
    assert ended(folder, ["-e", '(error "no")'], both=True) == (STATUS, "")


def test_another_broken_pipe_is_an_error() -> None:
    """Of a program's own pipe, not of its output."""
    python = "import os; r, w = os.pipe(); os.close(r); os.write(w, b'x')"
    code = f"import sys; from semac.cli.exits import guarded; sys.exit(guarded(lambda: exec({python!r})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), timeout=60)
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, "Error: BrokenPipeError: [Errno 32] Broken pipe")
