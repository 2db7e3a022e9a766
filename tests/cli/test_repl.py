"""The REPL: through a pipe, and in a terminal of its own."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

COMMAND = [sys.executable, "-m", "semac.cli.entry"]


def piped(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(COMMAND, input=text, capture_output=True, text=True, timeout=60)


def test_values_definitions_and_errors() -> None:
    done = piped('(define (f x)\n  (+ x 1))\n(f 1)\n(defmacro m (x) x)\nnil\n"a"\n(car 5)\n(f 2)\n')
    assert done.stdout == '; defined f\n2\n; defined m\n"a"\n3\n'
    assert done.stderr.startswith("Error: expected list or vector, got int\n  --> <input>:1:1\n")
    assert done.returncode == 0


def test_last_values_and_last_error() -> None:
    assert piped("1\n2\n3\n(list *1 *2 *3)\n(car 5)\n*e\n").stdout == (
        '1\n2\n3\n(3 2 1)\n"expected list or vector, got int"\n'
    )


def test_an_error_in_a_function_defined_earlier_points_at_its_text() -> None:
    done = piped("(define (f x)\n  (car x))\n(+ 1 (f 5))\n")
    assert "   2 |   (car x))\n" in done.stderr


def test_names_of_earlier_inputs_stay_known() -> None:
    done = piped("(define (even2? x) (= 0 x))\n(define (odd2? x) 1)\n(even2?)\n(even3? 1)\n")
    assert "even2? expects 1 argument, got 0" in done.stderr
    assert "Unbound variable: even3?" in done.stderr


def test_commands() -> None:
    text = (
        ",type [1]\n(define (f a . r) a)\n(define n 5)\n,env\n,doc f\n,doc n\n,doc\n"
        ",inspect n\n,builtins\n,gc\n,disasm (+ n 1)\n,help\n"
    )
    out = piped(text).stdout
    for line in (":vector", "f = <native-fn f>", "n = 5", "  f : lambda (a . r)", "Usage: ,doc <expr>"):
        assert line in out.split("\n")
    assert "  n : int = 5\n" in out
    assert "println\n" in out
    assert ",apropos PATTERN" in out


def test_unknown_names_and_commands_go_to_stderr() -> None:
    done = piped(",doc no-such-name\n,nonsense\n,time (+ 1 2)\n")
    assert "  not found: no-such-name\n" in done.stderr
    assert "Unknown command: ,nonsense" in done.stderr
    assert "elapsed: " in done.stderr
    assert done.stdout == "3\n"


def test_quit_and_exit() -> None:
    for word in ("quit", "exit", ":q", ",quit", ",q", ",exit"):
        assert piped(f"1\n{word}\n2\n").stdout == "1\n"
    assert piped("(exit 4)\n").returncode == 4


def test_input_that_ends_within_a_form() -> None:
    done = piped("(+ 1")
    assert (done.returncode, done.stderr) == (1, "Error: unterminated input at EOF: unterminated list\n")


def test_in_a_terminal(tmp_path: Path) -> None:
    pid, main = pty.fork()
    if pid == 0:
        os.environ.update(SEMA_HOME=str(tmp_path), TERM="dumb", NO_COLOR="1")
        os.execv(sys.executable, COMMAND)
    try:
        assert "Type ,help for help, ,quit to exit" in until(main, "sema> ")
        os.write(main, b"(+ 1\n")
        until(main, "  ... ")
        os.write(main, b"2)\n")
        assert "3\r\n" in until(main, "sema> ")
        os.write(main, b"(abc\n")
        until(main, "  ... ")
        assert "^C" in interrupted(main)
        os.write(main, b"(begin (println 'on) (let loop () (loop)))\n")
        until(main, "on\r\n")
        assert "^C" in interrupted(main)
        os.write(main, b"\x04")
        until(main, "Goodbye!")
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        pid = 0
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(main)
    assert "(+ 1" in (tmp_path / "history.txt").read_text()


def interrupted(descriptor: int) -> str:
    """What a terminal shows after Ctrl-C, up to the next prompt; pressed again when it came between two reads."""
    for _ in range(4):
        os.write(descriptor, b"\x03")
        if select.select([descriptor], [], [], 3)[0]:
            break
    return until(descriptor, "sema> ")


def until(descriptor: int, text: str, seconds: float = 15) -> str:
    """What a terminal shows until text appears."""
    seen = ""
    deadline = time.monotonic() + seconds
    while text not in seen:
        ready, _, _ = select.select([descriptor], [], [], max(0, deadline - time.monotonic()))
        assert ready, f"{text!r} did not appear, but {seen!r}"
        seen += os.read(descriptor, 4096).decode()
    return seen
