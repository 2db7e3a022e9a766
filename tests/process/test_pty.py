"""pty/*: real programs in real terminals."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import pytest
from child_support import Witness, program

from sema_runtime import capabilities
from sema_runtime.conditions.describe import condition_map
from sema_runtime.lib.language import output
from sema_runtime.lib.system import pty
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import PermissionDenied, SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from semac.session import Session

pytestmark = pytest.mark.usefixtures("own_directory")


def sh(command: str, **settings: Any) -> int:
    return pty.pty_spawn(List(["sh", "-c", command]), Map({keyword(name): value for name, value in settings.items()}))


def output_of(terminal: int) -> str:
    """All that a program writes until it ends."""
    pty.pty_wait(terminal)
    return pty.pty_read(terminal)


class Reader:
    """Reads a terminal up to certain words, like a person."""

    def __init__(self, terminal: int) -> None:
        self.terminal = terminal
        self.seen = ""

    def until(self, words: str) -> None:
        deadline = time.monotonic() + 20
        while words not in self.seen:
            assert time.monotonic() < deadline, self.seen
            time.sleep(0.001)
            self.seen += pty.pty_read(self.terminal)
        self.seen = self.seen.partition(words)[2]


def test_a_program_sees_a_terminal() -> None:
    found = output_of(sh("test -t 0 && test -t 1 && test -t 2 && stty size && echo yes > /dev/tty", rows=40, cols=120))
    assert found == "40 120\r\nyes\r\n"
    assert output_of(sh("stty size")) == "24 80\r\n"
    assert output_of(sh("stty size", rows=-5, cols=10**9)) == "1 65535\r\n"


def test_a_conversation() -> None:
    terminal = pty.pty_spawn(List(["sh"]), Map({keyword("env"): Map({"PS1": "ready> ", "ENV": ""})}))
    reader = Reader(terminal)
    reader.until("ready> ")
    pty.pty_write(terminal, "echo $((6 * 7)) é\n")
    reader.until("\n42 é\r\n")
    pty.pty_resize(terminal, 50, 200)
    pty.pty_write(terminal, "stty size\n")
    reader.until("\n50 200\r\n")
    pty.pty_write(terminal, "tr a-z A-Z\nmeow\n")
    reader.until("MEOW")
    pty.pty_write(terminal, "\x03")  # goes to tr, not to the shell
    reader.until("ready> ")
    pty.pty_write(terminal, "exit 3\n")
    assert pty.pty_wait(terminal) == 3


def test_a_change_of_size_is_told_to_the_program() -> None:
    terminal = sh("trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.01; done")
    Reader(terminal).until("ready")
    pty.pty_resize(terminal, 30, 90)
    assert output_of(terminal).endswith("30 90\r\n")


def test_states_and_codes() -> None:
    terminal = sh("read x; exit 7")
    assert [pty.pty_is_running(terminal), pty.pty_exit_code(terminal)] == [True, None]
    pty.pty_write(terminal, "\n")
    assert [pty.pty_wait(terminal), pty.pty_wait(terminal), pty.pty_exit_code(terminal)] == [7, 7, 7]
    assert not pty.pty_is_running(terminal)
    with pytest.raises(SemaError, match="pty/write: Input/output error") as raised:
        pty.pty_write(terminal, "x")
    assert condition_map(raised.value)["type"] is keyword("io")
    assert pty.pty_wait(sh("kill -9 $$")) == 1


def test_kill_hangs_up_then_insists(witness: Witness) -> None:
    polite = sh(witness.command("sleep 100 | cat"))
    witness.runs()
    pty.pty_kill(polite)
    assert pty.pty_wait(polite) == 1
    witness.ended()
    deaf = sh(witness.command("trap '' HUP; echo deaf; sleep 100 | cat"))
    Reader(deaf).until("deaf")
    witness.runs()
    pty.pty_kill(deaf)
    assert pty.pty_exit_code(deaf) == 1
    witness.ended()


def test_close(witness: Witness) -> None:
    terminal = sh(witness.command())
    witness.runs()
    pty.pty_close(terminal)
    pty.pty_close(terminal)
    witness.ended()
    for use in (pty.pty_read, pty.pty_wait, pty.pty_kill, pty.pty_is_running, pty.pty_exit_code):
        with pytest.raises(SemaError, match=rf"^pty/[a-z?-]+: no such handle {terminal}$"):
            use(terminal)


def test_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(SemaError, match=r"^pty/spawn no-such-program: No such file or directory$"):
        pty.pty_spawn(List(["no-such-program"]))
    with pytest.raises(SemaError, match=r"^pty/spawn :cwd missing: No such file or directory$"):
        sh("true", cwd="missing")
    with pytest.raises(SemaError, match=r"^pty/spawn: argv must be non-empty$"):
        pty.pty_spawn(())
    with pytest.raises(SemaError, match=r"^expected integer, got string$"):
        sh("true", rows="9")
    with pytest.raises(SemaError, match=r"^expected integer \(pty handle\), got string$"):
        pty.pty_read("1")
    terminal = sh("read x")
    with pytest.raises(SemaError, match=r"^expected integer, got nil$"):
        pty.pty_resize(terminal, None, 5)
    with pytest.raises(SemaError, match=r"^expected string, got int$"):
        pty.pty_write(terminal, 5)
    pty.pty_close(terminal)


def test_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "denied", {"process"})
    with pytest.raises(PermissionDenied, match="pty/spawn requires 'process' capability"):
        sh("true")


def test_waiting_suspends_its_task_only_and_cancelling_ends_the_program(witness: Witness) -> None:
    lines: list[str] = []
    output.sink = lines
    source = f"""
    (define t (pty/spawn ["sh" "-c" "{witness.command()}"]))
    (define waiting (async (pty/wait t)))
    (async/sleep 1)
    (println "others" (pty/running? t))
    (async/cancel waiting)
    (println (pty/wait t))
    """
    try:
        Session().run(source)
    finally:
        output.sink = None
    assert lines == ["others #t", "1"]
    witness.ended()


def test_a_program_that_does_not_read_stops_only_the_task_that_writes(witness: Witness) -> None:
    lines: list[str] = []
    output.sink = lines
    source = f"""
    (define t (pty/spawn ["sh" "-c" "stty raw -echo; {witness.command()}"]))
    (define writer (async (try (pty/write t (string/repeat "x" 10000000)) (catch e (println (:message e))))))
    (async/sleep 1)
    (println "others")
    (pty/kill t)
    (await writer)
    """
    try:
        Session().run(source)
    finally:
        output.sink = None
    assert lines == ["others", "pty/write: Input/output error"]
    witness.ended()


def test_programs_end_with_us_also_by_ctrl_c(witness: Witness) -> None:
    source = f"""(pty/wait (pty/spawn ["sh" "-c" "{witness.command()}"]))"""
    started = program(source)
    witness.runs()
    started.send_signal(signal.SIGINT)
    _, errors = started.communicate(timeout=20)
    assert "Traceback" not in errors
    witness.ended()
