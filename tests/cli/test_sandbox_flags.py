"""What `--sandbox` and `--allowed-paths` deny, everywhere they are taken, and what their help says of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sema_runtime import capabilities

SEMA = (sys.executable, "-m", "semac.cli.entry")
PLACES = ["-e", "-p", "file", "load", "repl", "eval", "eval --json", "eval --jsonl", "before eval", "workflow run"]
ESCAPES = {  # each reaches a file outside of the allowed directories, or would if it were not for the flag
    '(shell "cat /etc/passwd")': "shell requires",
    '(proc/spawn (list "cat" "/etc/passwd"))': "proc/spawn requires 'process'",
    '(file/read "/etc/passwd")': "outside allowed directories",
    '(py/import "os")': "py/import requires 'python'",
    '(db/open "d" "/etc/x.db")': "outside allowed directories",
    '(load "/etc/passwd")': "outside allowed directories",
    '(import "/etc/passwd")': "outside allowed directories",
    '(stream/open-input "/etc/passwd")': "outside allowed directories",
    '(git/status "/")': "git/status requires 'process'",
    '(file/write "/dev/stdout" "x")': "outside allowed directories",
}


def sema(*args: str, text: str = "") -> str:
    """What a command writes, whatever its status."""
    done = subprocess.run([*SEMA, *args], input=text, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


def run_in(place: str, program: str, flags: list[str]) -> str:
    """What comes of a program when one of the commands runs it under the flags."""
    Path("p.sema").write_text(program)
    if place in ("-e", "-p"):
        return sema(*flags, place, program)
    if place == "file":
        return sema(*flags, "p.sema")
    if place == "load":
        return sema(*flags, "-l", "p.sema", "-e", "1")
    if place == "repl":
        return sema(*flags, text=f"{program}\n")
    if place == "before eval":
        return sema(*flags, "eval", "--expr", program)
    if place == "eval --jsonl":
        return sema("eval", "--jsonl", *flags, text=json.dumps({"id": 1, "src": program}) + "\n")
    if place == "workflow run":
        Path("w.sema").write_text(
            f'(defworkflow w "w" {{}} (println (try {program} (catch e (:message e)))) {{:status :success}})'
        )
        return sema(*flags, "workflow", "run", "w.sema")
    return sema(*place.split(), *flags, "--expr", program)


@pytest.fixture(autouse=True)
def in_own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("place", PLACES)
def test_allowed_paths_deny_shell_and_processes_everywhere(place: str) -> None:
    assert "shell requires" in run_in(place, '(shell "echo out")', ["--allowed-paths", "."])
    assert "sys/pid requires 'process'" in run_in(place, "(sys/pid)", ["--allowed-paths", "."])


@pytest.mark.parametrize("place", PLACES)
def test_what_is_allowed_by_name_works(place: str) -> None:
    shown = run_in(
        place, '(begin (println (:stdout (shell "echo out"))) 1)', ["--allowed-paths", ".", "--allow", "shell,process"]
    )
    assert "out" in shown and "Permission denied" not in shown


@pytest.mark.parametrize(("program", "refusal"), ESCAPES.items())
def test_ways_out_of_the_allowed_directories(program: str, refusal: str) -> None:
    assert refusal in sema("--allowed-paths", ".", "-e", program)
    assert refusal in sema("--sandbox", "none", "--allowed-paths", ".", "-e", program)


def test_allow_takes_back_only_what_the_paths_deny() -> None:
    flags = ("--sandbox", "no-shell", "--allowed-paths", ".", "--allow", "shell,process")
    assert "shell requires" in sema(*flags, "-e", '(shell "true")')
    assert sema("--allowed-paths", ".", "--allow", "network", "-e", "1") == (
        "Error: --allow takes shell and process, not 'network'\n"
    )
    assert "py/import requires" in sema("--allowed-paths", ".", "--allow", "shell,process", "-e", '(py/import "os")')


def test_from_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "denied", set())
    monkeypatch.setattr(capabilities, "allowed", None)
    capabilities.restrict(paths=["."], allow=["process"])
    assert capabilities.denied == {"shell", "python"}
    capabilities.restrict(paths=["."])
    assert capabilities.denied == {"shell", "process", "python"}


def test_strict_is_what_its_help_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEEN", "yes")
    Path("in.txt").write_text("text")
    assert sema("--sandbox", "strict", "-e", '(list (file/read "in.txt") (env "SEEN"))') == '("text" "yes")\n'
    for program in (
        '(shell "x")',
        '(file/write "a" "b")',
        '(sys/set-env "A" "b")',
        '(http/get "http://x")',
        "(sys/pid)",
    ):
        assert "Permission denied" in sema("--sandbox", "strict", "-e", program)
    words = " ".join(sema("--help").split())
    assert "reading both is allowed" in words and "No security boundary" in words
    assert "without access to files" not in words
    assert "also denies shell, process and Python" in words
    assert "No security boundary" in " ".join(sema("eval", "--help").split())


def test_doctor_says_what_the_flags_leave_open() -> None:
    assert "Sandbox: none" in sema("doctor")
    strict = sema("--sandbox", "strict", "doctor")
    assert "Every file that this user may read can be read" in strict and "no security boundary" in strict
    assert "Whatever can be read can be sent" not in strict
    paths = json.loads(sema("--allowed-paths", ".", "doctor", "--json"))["sandbox"]
    assert paths["allowed_paths"] == [str(Path.cwd().resolve())] and "shell" in paths["denied"]
    assert any("Environment variables can be read" in gap for gap in paths["not_covered"])
    assert any("can be sent anywhere" in gap for gap in paths["not_covered"])
    opened = sema("--allowed-paths", ".", "--allow", "shell", "doctor")
    assert "--allow shell: programs that are started may touch any file" in opened
