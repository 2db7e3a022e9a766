"""`sema completions`: what shells offer, asked through a real bash, and what the other scripts would ask."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

SEMA = Path(sys.executable).with_name("sema")


def offered(*words: str, cwd: Path | None = None) -> list[tuple[str, str]]:
    """The (kind, value) pairs for a command line, of which the last word is being typed."""
    done = subprocess.run([SEMA, "completions", "--words", *words], capture_output=True, text=True, cwd=cwd, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return [(kind, value) for kind, value, _ in (line.split("\t") for line in done.stdout.splitlines())]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["wor"], [("plain", "workflow"), ("file", "")]),
        (["workflow", "sh"], [("plain", "show"), ("file", "")]),
        (["workflow", "show", "--ev"], [("plain", "--events")]),
        (["box", "eval-s"], [("plain", "eval-suite")]),
        (["fmt", "--che"], [("plain", "--check")]),
        (["check", "--str"], [("plain", "--strict")]),
        (["notebook", "con"], [("plain", "convert"), ("file", "")]),
        (["completions", "z"], [("plain", "zsh")]),
        (["doc", "string/starts"], [("plain", "string/starts-with?"), ("file", "")]),
        (["--sand"], [("plain", "--sandbox")]),
        (["run", "x.sema", ""], [("file", "")]),
        (["nothing", ""], [("file", "")]),
    ],
)
def test_what_can_follow(words: list[str], wanted: list[tuple[str, str]]) -> None:
    assert offered(*words) == wanted


def test_nothing_is_run(tmp_path: Path) -> None:
    (tmp_path / "p.sema").write_text('(file/write "ran" "")')
    (tmp_path / "test_p.sema").write_text('(file/write "ran" "")')
    for words in (
        ["p.sema", ""],
        ["run", "p.sema", ""],
        ["test", "test_p.sema", ""],
        ["workflow", "run", "p.sema", ""],
    ):
        offered(*words, cwd=tmp_path)
    assert not (tmp_path / "ran").exists()


def completed_by_bash(line: str, folder: Path) -> list[str]:
    """What bash has after Tab behind a line."""
    script = subprocess.run([SEMA, "completions", "bash"], capture_output=True, text=True, timeout=60).stdout
    ask = f'{script}\nCOMP_WORDS=({line}); [[ $1 ]] && COMP_WORDS+=(""); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n'
    ask += '_sema_completions; printf "%s\\n" "${COMPREPLY[@]}"'
    environment = {**os.environ, "PATH": f"{SEMA.parent}:{os.environ['PATH']}"}
    bash = ["bash", "-c", ask, "bash", "yes" if line.endswith(" ") else ""]
    done = subprocess.run(bash, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash(tmp_path: Path) -> None:
    (tmp_path / "a file.sema").touch()
    (tmp_path / "other.txt").touch()
    assert completed_by_bash("sema wor", tmp_path) == ["workflow"]
    assert completed_by_bash("sema workflow show --ev", tmp_path) == ["--events"]
    assert sorted(completed_by_bash("sema run ", tmp_path)) == ["a file.sema", "other.txt"]


@pytest.mark.skipif(shutil.which("elvish") is None, reason="needs elvish")
def test_elvish(tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "elvish"
    (folder / "lib").mkdir(parents=True)
    script = subprocess.run([SEMA, "completions", "elvish"], capture_output=True, text=True, timeout=60).stdout
    (folder / "lib" / "sema.elv").write_text(script)
    (folder / "rc.elv").write_text("use sema\nset edit:prompt = { put 'ready> ' }\nset edit:rprompt = { put '' }\n")
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": f"{SEMA.parent}:{os.environ['PATH']}", "TERM": "xterm"}
    shell = pexpect.spawn("elvish", env=environment, cwd=str(tmp_path), encoding="utf-8", timeout=60)
    shell.expect("ready> ")
    shell.send("sema notebook conv\t")
    shell.expect("ert")  # the only candidate is written at once
    shell.close(force=True)


def test_powershell_has_no_place_to_install_to() -> None:
    printed = subprocess.run([SEMA, "completions", "powershell"], capture_output=True, text=True).stdout
    assert "Register-ArgumentCompleter -Native -CommandName sema" in printed
    done = subprocess.run([SEMA, "completions", "powershell", "--install"], capture_output=True, text=True)
    assert done.returncode == 1 and "$PROFILE" in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "elvish"])
def test_install(shell: str, tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run([SEMA, "completions", shell, "--install"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0
    (installed,) = [path for path in tmp_path.rglob("*") if path.is_file() and "sema" in path.name]
    assert str(installed) in done.stdout
    printed = subprocess.run([SEMA, "completions", shell], capture_output=True, text=True).stdout
    assert installed.read_text() == printed
    if shell != "elvish" and shutil.which(shell) is not None:
        subprocess.run([shell, "-n", installed], check=True)


def test_other_shells_are_refused() -> None:
    done = subprocess.run([SEMA, "completions", "tcsh"], capture_output=True, text=True)
    assert done.returncode == 2 and "'bash', 'zsh', 'fish'" in done.stderr
