"""shell and proc/*: programs that write too much, don't read, don't end, can't be started, or outlive us."""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from child_support import ROOT, Witness, program

from sema_runtime import capabilities
from sema_runtime.conditions.describe import condition_map
from sema_runtime.lib.language import output
from sema_runtime.lib.system import processes, pty, system
from sema_runtime.lib.terminal import events
from sema_runtime.tasks import children
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import PermissionDenied, SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import to_text
from semac.session import Session

BIG = 10_000_000


pytestmark = pytest.mark.usefixtures("own_directory")


def options(**settings: Any) -> Map:
    return Map({keyword(name): value for name, value in settings.items()})


def sh(command: str, settings: Map | None = None) -> int:
    return processes.proc_spawn(List(["sh", "-c", command]), settings)


def run(source: str) -> tuple[str, list[str]]:
    """(printed value, printed lines) of a program."""
    lines: list[str] = []
    output.sink = lines
    try:
        return to_text(Session().run(source)), lines
    finally:
        output.sink = None


# Output and input


def test_output_beyond_what_pipes_hold() -> None:
    process = sh(f"head -c {BIG} /dev/zero >&2; head -c {BIG} /dev/zero; echo end")
    assert processes.proc_wait(process) == 0
    assert processes.proc_read_stdout(process).endswith("\0end\n")
    assert len(processes.proc_read_stderr(process)) == BIG
    assert processes.proc_read_stderr(process) == ""
    done = system.shell(f"head -c {BIG} /dev/zero >&2; head -c {BIG} /dev/zero")
    assert [len(done["stdout"]), len(done["stderr"])] == [BIG, BIG]


def test_input_beyond_what_pipes_hold() -> None:
    process = processes.proc_spawn(List(["cat"]))
    processes.proc_write_stdin(process, "é" * BIG)
    processes.proc_close_stdin(process)
    assert processes.proc_wait(process) == 0
    assert processes.proc_read_stdout(process) == "é" * BIG
    assert len(system.shell("wc", "-c", options(stdin="x" * BIG))["stdout"]) > 8
    assert system.shell("true", options(stdin="x" * BIG))["exit-code"] == 0


def test_a_program_that_does_not_read_stops_only_the_task_that_writes() -> None:
    source = f"""
    (define p (proc/spawn ["sleep" "100"]))
    (define writer (async (proc/write-stdin p (string/repeat "x" {BIG}))))
    (async/sleep 1)
    (println (proc/running? p) (try (proc/close-stdin p) (catch e (:message e))))
    (async/cancel writer)
    (proc/wait p)
    """
    value, lines = run(source)
    assert value == "-1"
    assert len(lines) == 1
    assert lines[0].startswith("#t proc/close-stdin: handle ")
    assert lines[0].endswith(" is busy — a proc/write-stdin is in flight on it")


def test_output_that_is_not_text() -> None:
    assert system.shell(r"printf 'a\377b'")["stdout"] == "a�b"
    process = sh(r"printf 'a\303'; read go; printf '\251\377'")
    events.event_select(List([options(type=keyword("proc"), handle=process)]))
    assert processes.proc_read_stdout(process) == "a"  # the é is not complete yet
    processes.proc_write_stdin(process, "go\n")
    processes.proc_wait(process)
    assert processes.proc_read_stdout(process) == "é�"


def test_unread_output_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    limited = partial(children.piped, limit=100_000)
    monkeypatch.setattr(processes, "piped", limited)
    monkeypatch.setattr(children, "piped", limited)
    process = processes.proc_spawn(List(["yes"]))
    assert processes.proc_wait(process) == -1
    with pytest.raises(SemaError, match=f"^proc/read-stdout: unread output of handle {process} exceeded the 100000-b"):
        processes.proc_read_stdout(process)
    with pytest.raises(SemaError, match="shell: output exceeded the 100000-byte limit: yes"):
        system.shell("yes")


def test_input_of_a_program_that_has_ended() -> None:
    process = processes.proc_spawn(List(["true"]))
    processes.proc_wait(process)
    with pytest.raises(SemaError, match="proc/write-stdin: Broken pipe") as raised:
        processes.proc_write_stdin(process, "x")
    assert condition_map(raised.value)["type"] is keyword("io")
    processes.proc_close_stdin(process)
    processes.proc_close_stdin(process)
    with pytest.raises(SemaError, match="proc/write-stdin: stdin already closed"):
        processes.proc_write_stdin(process, "x")


# Starting


def test_what_cannot_be_started(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("text")
    refused = [
        (List(["no-such-program"]), None, "proc/spawn no-such-program: No such file or directory"),
        (List(["./plain"]), None, "proc/spawn ./plain: Permission denied"),
        (List(["true"]), options(cwd="missing"), "proc/spawn :cwd missing: No such file or directory"),
        (List(["true"]), options(cwd="plain"), "proc/spawn :cwd plain: Not a directory"),
        (List(["a\0b"]), None, "proc/spawn a\0b: embedded null byte"),
        (List([]), None, "proc/spawn: argv must be non-empty"),
        ("true", None, r"expected list of strings \(argv\), got string"),
        (List(["true", 5]), None, "expected string, got int"),
        (List(["true"]), 5, "expected map, got int"),
        (List(["true"]), options(cwd=5), "expected string, got int"),
        (List(["true"]), options(env=Map({"A": 1})), "expected string, got int"),
        (List(["true"]), options(env=Map({"A=B": "x"})), "proc/spawn true: illegal environment variable name"),
    ]
    for argv, settings, message in refused:
        with pytest.raises(SemaError, match=f"^{message}$"):
            processes.proc_spawn(argv, settings)
    with pytest.raises(SemaError, match=r"^shell no-such-program: No such file or directory$") as raised:
        system.shell("no-such-program", "x")
    assert condition_map(raised.value)["type"] is keyword("io")
    with pytest.raises(SemaError, match=r"^shell :cwd missing: No such file or directory$"):
        system.shell("true", options(cwd="missing"))
    assert system.shell("no-such-program")["exit-code"] == 127


def test_directory_and_environment(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    settings = options(cwd="inner", env=Map({"A": "1", keyword("B"): "2"}))
    process = sh('echo "$A$B $(basename $PWD)"', settings)
    processes.proc_wait(process)
    assert processes.proc_read_stdout(process) == "12 inner\n"


@pytest.mark.parametrize("text", ["", "plain", "it's", '$HOME `id` \\ " * ; & \n é', "''"])
def test_a_quoted_word_stays_one_word(text: str) -> None:
    assert system.shell(f"printf %s {system.shell_quote(text)}")["stdout"] == text


def test_quoting_is_the_same_for_every_word() -> None:
    assert [system.shell_quote(text) for text in ("", "abc", "it's")] == ["''", "'abc'", r"'it'\''s'"]


def test_the_sandbox(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(capabilities, "denied", {"process"})
    for call in (lambda: sh("true"), lambda: processes.proc_wait(1), lambda: system.shell("true")):
        with pytest.raises(PermissionDenied, match="requires 'process' capability"):
            call()
    monkeypatch.setattr(capabilities, "denied", {"shell"})
    assert processes.proc_wait(sh("true")) == 0
    with pytest.raises(PermissionDenied, match="shell requires 'shell' capability"):
        system.shell("true")
    monkeypatch.setattr(capabilities, "allowed", [str(tmp_path)])
    with pytest.raises(PermissionDenied, match="outside allowed directories"):
        sh("true", options(cwd="/"))


# Handles


def test_handles() -> None:
    first, second = sh("exit 7"), sh("exit 8")
    assert second == first + 1
    assert [processes.proc_wait(first), processes.proc_wait(first), processes.proc_exit_code(second)][:2] == [7, 7]
    processes.proc_close(first)
    processes.proc_close(first)
    with pytest.raises(SemaError, match=f"^proc/exit-code: no such handle {first}$"):
        processes.proc_exit_code(first)
    for wrong in ("1", None, 1.0, True):
        with pytest.raises(SemaError, match=r"^expected integer \(proc handle\), got "):
            processes.proc_close(wrong)


def test_states() -> None:
    process = processes.proc_spawn(List(["cat"]))
    assert [processes.proc_is_running(process), processes.proc_exit_code(process)] == [True, None]
    processes.proc_kill(process)
    assert processes.proc_wait(process) == -1
    processes.proc_kill(process)
    assert [processes.proc_is_running(process), processes.proc_exit_code(process)] == [False, -1]
    assert system.shell("kill -TERM $$")["exit-code"] == -1


def test_nobody_need_wait_for_a_program_to_be_rid_of_it() -> None:
    child = processes.proc_child("test", processes.proc_spawn(List(["true"])))
    assert child.ends_within(20)
    assert child.handle.returncode == 0  # has been reaped


# Endings


def test_a_kill_ends_what_the_program_has_started(witness: Witness) -> None:
    process = sh(witness.command("sleep 100 | cat"))
    witness.runs()
    processes.proc_kill(process)
    assert processes.proc_wait(process) == -1
    witness.ended()


def test_close_ends_the_program(witness: Witness) -> None:
    process = sh(witness.command())
    witness.runs()
    processes.proc_close(process)
    witness.ended()


def test_a_timeout_ends_the_whole_command(witness: Witness) -> None:
    command = witness.command("sleep 100 | cat")
    with pytest.raises(SemaError, match=r"^shell: timed out after 200 ms: exec 9>"):
        system.shell(command, options(timeout=200))
    witness.ended()
    with pytest.raises(SemaError, match="expected non-negative number"):
        system.shell("true", options(timeout=-1))


@pytest.mark.parametrize("waiting", ["(shell command)", '(proc/wait (proc/spawn ["sh" "-c" command]))'])
def test_cancelling_ends_what_the_task_waits_for(witness: Witness, waiting: str) -> None:
    source = f"""
    (define command "{witness.command("sleep 100 | cat")}")
    (try (async/with-timeout 200 (fn () {waiting})) (catch e (:message e)))
    """
    assert run(source)[0] == '"operation exceeded 200 ms"'
    witness.ended()


@pytest.mark.parametrize(
    "source",
    [
        "(shell command)",
        '(proc/wait (proc/spawn ["sh" "-c" command]))',
        "(async/all (list (async (shell command)) (async (async/sleep 100000))))",
    ],
)
def test_ctrl_c_ends_the_command_too(witness: Witness, source: str) -> None:
    started = program(f'(define command "{witness.command("sleep 100 | cat")}") {source}')
    witness.runs()
    started.send_signal(signal.SIGINT)
    _, errors = started.communicate(timeout=20)
    witness.ended()
    assert "Traceback" not in errors
    assert started.returncode != 0


def test_programs_that_still_run_end_with_us(witness: Witness) -> None:
    started = program(f"""(proc/spawn ["sh" "-c" "{witness.command()}"]) (println (read-line))""")
    witness.runs()
    assert started.communicate(timeout=20) == ("nil\n", "")
    witness.ended()


def test_a_program_in_the_background_of_a_shell_outlives_its_command(witness: Witness) -> None:
    command = witness.command("sleep 100 >/dev/null 2>&1 & echo $!")
    started = program(f'(println (:stdout (shell "{command}")))')
    out, errors = started.communicate(timeout=20)
    assert errors == ""
    os.kill(int(out), signal.SIGKILL)  # raises if it has ended
    witness.ended()


def test_waiting_is_for_the_program_not_for_those_it_leaves_behind() -> None:
    process = sh("sleep 100 & echo $!")
    assert processes.proc_wait(process) == 0
    os.kill(int(processes.proc_read_stdout(process)), signal.SIGKILL)


def test_commands_don_t_wait_for_each_other() -> None:
    gates = [f"gate{number}" for number in range(30)]
    for gate in gates:
        os.mkfifo(gate)
    source = f"""
    (define waiting (map (fn (gate) (async (shell (str "read line < " gate)))) '({" ".join(map(to_text, gates))})))
    (shell "for gate in gate*; do echo > $gate; done")
    (count (async/all waiting))
    """
    assert run(source)[0] == "30"


# Signals


def test_signals_are_handled_when_the_program_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGWINCH), signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(system, "_handlers", {})
    seen: list[str] = []
    try:
        system.sys_on_signal(keyword("term"), partial(seen.append, "term"))
        system.sys_on_signal(keyword("winch"), partial(seen.append, "one"))
        system.sys_on_signal(keyword("winch"), partial(seen.append, "two"))
        for number in (signal.SIGTERM, signal.SIGWINCH, signal.SIGWINCH):
            os.kill(os.getpid(), number)
        assert seen == []
        system.sys_check_signals()
        system.sys_check_signals()
        assert seen == ["one", "two", "term"]
    finally:
        signal.signal(signal.SIGWINCH, before[0])
        signal.signal(signal.SIGTERM, before[1])
    with pytest.raises(SemaError, match="sys/on-signal: unknown signal :hup; use :winch, :int, or :term"):
        system.sys_on_signal(keyword("hup"), lambda: None)


# At a terminal


def at_terminal(source: str) -> int:
    """A Sema program in a terminal."""
    command = List([sys.executable, "-m", "semac.cli.entry", "-e", source])
    return pty.pty_spawn(command, options(env=Map({"PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}"})))


def test_a_command_may_ask_at_the_terminal() -> None:
    terminal = at_terminal("""(println (:stdout (shell "read -r word < /dev/tty; echo got $word")))""")
    pty.pty_write(terminal, "secret\n")
    assert pty.pty_wait(terminal) == 0
    assert "got secret" in pty.pty_read(terminal)


def test_in_a_task_there_is_no_terminal_that_a_command_could_wait_for() -> None:
    terminal = at_terminal("""(println (await (async (:exit-code (shell "read -r word < /dev/tty")))))""")
    assert pty.pty_wait(terminal) == 0
    assert pty.pty_read(terminal).strip() in ("1", "2")


def test_ctrl_c_at_the_terminal(witness: Witness) -> None:
    terminal = at_terminal(f"""(shell "{witness.command()}")""")
    witness.runs()
    pty.pty_write(terminal, "\x03")
    assert pty.pty_wait(terminal) != 0
    witness.ended()
