"""The REPL in a real terminal, driven as a person would; the screen is that of a terminal emulator."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import pexpect
import pyte
import pytest

LINES, COLUMNS = 30, 100
WAIT = 20
ENTER, TAB, UP, CTRL_C, CTRL_D, ESCAPE = "\r", "\t", "\x1b[A", "\x03", "\x04", "\x1b"


class Terminal:
    """`sema` in a terminal of 100 x 30."""

    def __init__(self, home: Path, *args: str, **env: str) -> None:
        self.screen = pyte.Screen(COLUMNS, LINES)
        self.stream = pyte.Stream(self.screen)
        settings = {**os.environ, "SEMA_HOME": str(home / "sema"), "TERM": "xterm-256color", **env}
        self.child = pexpect.spawn(
            sys.executable,
            ["-m", "semac.cli.entry", *args],
            cwd=home,
            env=settings,
            dimensions=(LINES, COLUMNS),
            encoding="utf-8",
            timeout=WAIT,
        )
        self.child.logfile_read = self

    def write(self, text: str) -> None:
        """Takes what the process writes; answers where the cursor is, as terminals do."""
        self.stream.feed(text)
        if "\x1b[6n" in text:
            self.child.send(f"\x1b[{self.screen.cursor.y + 1};{self.screen.cursor.x + 1}R")

    def flush(self) -> None:
        """For pexpect."""

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def type(self, keys: str, until: str) -> None:
        """Sends keys and waits for a text on the screen."""
        self.child.send(keys)
        self.wait(until)

    def wait(self, until: str) -> None:
        from time import monotonic

        end = monotonic() + WAIT
        while until not in self.text():
            assert monotonic() < end, f"no {until!r} in\n{self.text()}"
            try:
                self.child.read_nonblocking(4096, timeout=1)
            except pexpect.TIMEOUT:
                continue
            except pexpect.EOF:
                assert until in self.text(), self.text()


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    terminal.wait("sema>")
    yield terminal
    terminal.child.close(force=True)


def test_values_and_farewell(terminal: Terminal) -> None:
    terminal.type(f"(* 6 7){ENTER}", "\n42\n")
    terminal.type(f"(+ *1 1){ENTER}", "\n43\n")
    terminal.type(CTRL_D, "Goodbye!")


def test_a_form_over_lines_is_indented_and_remembered_whole(terminal: Terminal) -> None:
    terminal.type(f"(define (twice x){ENTER}(* 2 x)", "  ...   (* 2 x)")
    terminal.type(f"){ENTER}", "; defined twice")
    terminal.type(f"(twice 21){ENTER}", "\n42\n")
    terminal.child.send(CTRL_D)
    terminal.child.expect(pexpect.EOF)
    again = Terminal(Path(str(terminal.child.cwd)))
    again.wait("sema>")
    again.type(UP, "(twice 21)")
    again.type(UP, "(define (twice x)\n  ...   (* 2 x))")
    again.child.close(force=True)


def test_completion(terminal: Terminal) -> None:
    terminal.type(f"(define (first-of figures){ENTER}(car figu{TAB}", "(car figures")
    terminal.type(CTRL_C, "^C")
    terminal.type(f'(py/import "math"){ENTER}(math.sq{TAB}', "(math.sqrt")
    terminal.type(f" 16){ENTER}", "\n4.0\n")
    terminal.type(f"(string/pad{TAB}", "string/pad-left")
    terminal.type(CTRL_C, "^C")
    (Path(str(terminal.child.cwd)) / "figures.csv").touch()
    terminal.type(f'"figu{TAB}', "figures.csv")


def test_documentation_of_the_call_is_shown_below(terminal: Terminal) -> None:
    terminal.type("(string/join ", "Joins the items of a list or vector")


def test_own_functions_have_documentation(terminal: Terminal) -> None:
    terminal.type(f'(define (half x) "Half of it." (/ x 2)){ENTER}', "; defined half")
    terminal.type(f",doc half{ENTER}", "half : lambda (x)")
    terminal.wait("Half of it.")
    terminal.type("(half ", "(half x) — Half of it.")


def test_colours(terminal: Terminal) -> None:
    terminal.type('(define name "text")', '"text"')
    row = terminal.screen.buffer[terminal.screen.cursor.y]
    line = "".join(row[x].data for x in range(COLUMNS))
    colours = {row[line.index(part)].fg for part in ("define", "name", '"text"')}
    assert len(colours) == 3


def test_errors_and_interrupts(terminal: Terminal) -> None:
    terminal.type(f"(car 5){ENTER}", "expected list or vector, got int")
    terminal.type(f"*e{ENTER}", '"expected list or vector, got int"')
    terminal.type(f"(begin (println (+ 1000 1)) (sleep 1000000)){ENTER}", "\n1001\n")
    terminal.type(CTRL_C, "^C")
    terminal.type(f"(* 6 7){ENTER}", "\n42\n")


def test_long_values_are_cut(terminal: Terminal) -> None:
    terminal.type(f"(define xs (range 20000)){ENTER}", "; defined xs")
    terminal.type(f"xs{ENTER}", ",all shows all")
    if which("less"):
        terminal.type(f",all{ENTER}", "\n:")
        terminal.type("G", "19999)")
    else:
        terminal.type(f",all{ENTER}", "19999)")


def test_vi_keys(terminal: Terminal) -> None:
    terminal.type(f",keys vi{ENTER}(+ 1 2)", "(+ 1 2)")
    terminal.type(f"{ESCAPE}0xi[{ESCAPE}x", "+ 1 2)")
    terminal.type(f"i({ESCAPE}{ENTER}", "\n3\n")


def test_breakpoint(terminal: Terminal) -> None:
    terminal.type(f"(define (stops secret) (breakpoint) (* secret 2)){ENTER}", "; defined stops")
    terminal.type(f"(stops 4321){ENTER}", "(Pdb)")
    terminal.type(f"p secret{ENTER}", "\n4321\n")
    terminal.type(f"c{ENTER}", "\n8642\n")
    terminal.type(f"(* 6 7){ENTER}", "\n42\n")


def test_after_a_program(tmp_path: Path) -> None:
    (tmp_path / "p.sema").write_text("(define (stops secret) (breakpoint) (* secret 2))\n(println (stops 50))\n")
    terminal = Terminal(tmp_path, "-i", "p.sema")
    terminal.wait("(Pdb)")
    terminal.type(f"p secret{ENTER}", "\n50\n")
    terminal.type(f"c{ENTER}", "sema>")
    terminal.type(f"(+ 20 22){ENTER}", "\n42\n")
    terminal.child.close(force=True)


@pytest.mark.parametrize("env", [{"TERM": "dumb"}, {"SEMA_REPL": "plain"}])
def test_the_plain_prompt(tmp_path: Path, env: dict[str, str]) -> None:
    terminal = Terminal(tmp_path, **env)
    terminal.wait("sema>")
    terminal.type(f"(* 6 7){ENTER}", "\n42\n")
    terminal.type(CTRL_D, "Goodbye!")
    assert not (tmp_path / "sema" / "repl_history").exists()
