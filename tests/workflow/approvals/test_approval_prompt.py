"""Approvals on a real terminal: what is shown and typed there, Ctrl-C, the end of the input, other tasks meanwhile."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from terminal_support import PATIENCE, Terminal

from sema_runtime.workflow.approvals import deciding, keys

pytest.importorskip("cryptography", reason="the extra `approvals` is not installed")
for name in ("SEMA_WORKFLOW_RUN_DIR", "SEMA_WORKFLOW_RUN_ID", "SEMA_WORKFLOW_RESUME"):
    os.environ.pop(name, None)

CONTROLLED = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
"""Has the terminal be the one that sends signals for keys, then runs a command."""
RUN = [sys.executable, "-c", CONTROLLED, sys.executable, "-m", "semac.cli.entry", "workflow", "run", "w.sema"]
QUESTION = "anything else: later"
ASK = '(approval :deploy {:reason "to production" :subject {:version 2} :preview "v1 -> v2\\nof everything"})'
SIMPLE = f'(defworkflow deploy "" {{}} (checkpoint :plan 1) {ASK} {{:status :success}})'
BESIDE = f"""(llm/define-provider :fake {{:default-model "m" :complete (fn (req) {{:content "ok"}})}})
(define (work)
  (while (not (file/exists? "asked")) (sleep 5))
  (step "beside" {{:name "beside"}})
  (file/write "done" "x")
  7)
(defworkflow deploy "" {{}}
  (let ((other (async (work))))
    {ASK}
    {{:status :success :other (await other)}}))"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def sema(*args: str, program: str = SIMPLE) -> Terminal:
    Path("w.sema").write_text(program)
    home = str(Path.cwd() / "home")
    return Terminal([*RUN, *args], CI="", HOME=home, SEMA_HOME=home)


def only_run() -> Path:
    (found,) = Path(".sema/runs").iterdir()
    return found


def status() -> str:
    """Of the only request."""
    ((_, decision),) = deciding.requests(str(only_run()))
    return deciding.status_of(decision)


def result() -> dict[str, object]:
    found: dict[str, object] = json.loads((only_run() / "result.json").read_text())
    return found


def test_yes() -> None:
    with sema() as terminal:
        terminal.until(QUESTION)
        assert (
            "Approval needed: to production\r\n  v1 -> v2\r\n  of everything\r\nApprove?" in terminal.written.decode()
        )
        terminal.type(b"y\n")
        assert terminal.end() == 0
    assert (status(), result()) == ("approved", {"status": "success"})
    assert (Path("home/approvals/private-key").stat().st_mode & 0o777) == 0o600


def test_no_and_why() -> None:
    with sema() as terminal:
        terminal.until(QUESTION)
        terminal.type(b"no\n")
        terminal.until("Why?")
        terminal.type(b"not on a Friday\n")
        assert terminal.end() == 1
        assert "workflow approval rejected" in terminal.written.decode()
    ((_, decision),) = deciding.requests(str(only_run()))
    assert decision is not None and decision.reason == "not on a Friday"


@pytest.mark.parametrize("keys", [b"\x04", b"\n", b"what?\n"])
def test_the_end_of_the_input_and_unclear_answers_leave_it_for_later(keys: bytes) -> None:
    with sema() as terminal:
        terminal.until(QUESTION)
        terminal.type(keys)
        assert terminal.end() == 3
    assert (status(), result()["status"]) == ("pending", "needs-approval")
    with sema("--resume", only_run().name) as terminal:
        terminal.until(QUESTION)
        terminal.type(b"yes\n")
        assert terminal.end() == 0
    assert status() == "approved"


@pytest.mark.parametrize("program", [SIMPLE, BESIDE])
def test_ctrl_c_leaves_a_run_that_can_be_resumed(program: str) -> None:
    with sema(program=program) as terminal:
        terminal.until(QUESTION)
        terminal.type(b"\x03")
        assert terminal.end() == 1
        shown = terminal.written.decode()
        assert f"sema workflow run w.sema --resume {only_run().name}" in shown
        assert "Traceback" not in shown
    assert status() == "pending"
    Path("asked").touch()
    with sema("--resume", only_run().name, program=program) as terminal:
        terminal.until(QUESTION)
        terminal.type(b"y\n")
        assert terminal.end() == 0
    assert status() == "approved"


def test_other_tasks_go_on_while_nobody_answers() -> None:
    with sema(program=BESIDE) as terminal:
        terminal.until(QUESTION)
        Path("asked").touch()
        end = time.monotonic() + PATIENCE
        while not Path("done").exists():
            assert time.monotonic() < end, terminal.written
            time.sleep(0.005)
        before = terminal.shown()
        assert before.endswith(QUESTION)
        terminal.type(b"y\n")
        assert terminal.end() == 0
        assert terminal.written.decode().index("beside_1") > terminal.written.decode().index(QUESTION)
    assert result() == {"other": 7, "status": "success"}


def test_what_was_typed_before_the_question_is_no_answer() -> None:
    with sema(program=SIMPLE.replace("(checkpoint :plan 1)", '(println "typed?") (sleep 100)')) as terminal:
        terminal.until("typed?")
        terminal.type(b"y\n")
        terminal.until(QUESTION)
        terminal.type(b"\n")
        assert terminal.end() == 3
    assert status() == "pending"


def test_input_that_is_no_terminal_answers_only_when_that_is_wanted() -> None:
    Path("w.sema").write_text(SIMPLE)
    run = [sys.executable, "-m", "semac.cli.entry", "workflow", "run", "w.sema", "-q", "--run-dir"]
    here = os.environ | {"SEMA_HOME": "home", "CI": ""}
    piped = subprocess.run([*run, "a"], input="y\n", env=here, text=True, capture_output=True, timeout=60)
    assert piped.returncode == 3
    wanted = [*run, "b", "--approval-mode", "prompt"]
    assert subprocess.run(wanted, input="y\n", env=here, text=True, capture_output=True, timeout=60).returncode == 0
    assert subprocess.run(wanted, input="", env=here, text=True, capture_output=True, timeout=60).returncode == 3
    nothing = subprocess.run(
        f"{shlex.join(wanted)} <&-", shell=True, env=here, text=True, capture_output=True, timeout=60
    )
    assert nothing.returncode == 3, nothing.stderr


def test_on_a_terminal_ci_is_not_asked() -> None:
    Path("w.sema").write_text(SIMPLE)
    with Terminal(RUN, CI="1") as terminal:
        assert terminal.end() == 3


def test_on_a_terminal_nobody_is_asked_who_has_no_key_for_it() -> None:
    keys.generate("k", "k.pub")
    with sema("--approval-public-key-file", "k.pub") as terminal:
        assert terminal.end() == 3
        assert QUESTION not in terminal.written.decode()
    with sema("--approval-mode", "prompt", "--approval-public-key-file", "k.pub") as terminal:
        assert terminal.end() == 1
        assert "--approval-mode prompt needs the signing key" in terminal.written.decode()


def test_denied_on_a_terminal_too() -> None:
    with sema("--approval-mode", "deny") as terminal:
        assert terminal.end() == 1
        assert "Error: workflow approval rejected: " in terminal.written.decode()
    assert status() == "pending"
