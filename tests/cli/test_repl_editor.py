"""The editor of the REPL, in a terminal that is emulated."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("prompt_toolkit", reason="the dev extra is not installed")
import pyte

COMMAND = [sys.executable, "-m", "semac.cli.entry"]
ROWS, COLUMNS = 30, 100
UP, DOWN, LEFT, RIGHT, F1, DELETE = "\x1b[A", "\x1b[B", "\x1b[D", "\x1b[C", "\x1bOP", "\x1b[3~"


class Terminal:
    """A program in a terminal: what it shows, and keys for it."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self.stream = pyte.ByteStream(self.screen)
        self.process, self.descriptor = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.environ.update({"SEMA_HOME": str(folder / "home"), "TERM": "xterm-256color", **settings})
            for name in ("SEMA_REPL", "NO_COLOR", "SEMA_REPL_KEYS"):
                os.environ.pop(name, None)
            os.execv(sys.executable, COMMAND)
        termios.tcsetwinsize(self.descriptor, (ROWS, COLUMNS))
        self.screen.write_process_input = self.type

    def type(self, keys: str) -> None:
        os.write(self.descriptor, keys.encode())

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    def until(self, *wanted: str) -> str:
        """The screen once all of some texts are on it."""
        return self.wait(lambda: all(text in self.text() for text in wanted), repr(wanted))

    def until_prompt(self) -> str:
        """The screen once the cursor is behind an empty prompt: then keys are the editor's, not the terminal's own."""
        return self.wait(lambda: self.screen.display[self.screen.cursor.y].rstrip() == "sema>", "an empty prompt")

    def wait(self, is_there: Callable[[], bool], what: str, seconds: float = 20) -> str:
        deadline = time.monotonic() + seconds
        while not is_there():
            ready, _, _ = select.select([self.descriptor], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"{what} did not appear in\n{self.text()}"
            self.stream.feed(os.read(self.descriptor, 65536))
        return self.text()

    def press(self, keys: str, *wanted: str) -> str:
        self.type(keys)
        return self.until(*wanted)

    def colours(self, text: str) -> set[Any]:
        """The colours of the characters of a text on the screen."""
        row, line = next((row, line) for row, line in enumerate(self.screen.display) if text in line)
        return {self.screen.buffer[row][line.index(text) + number].fg for number in range(len(text))}

    def close(self) -> None:
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.descriptor)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    running = Terminal(tmp_path)
    running.until("sema>")
    yield running
    running.close()


def test_the_prompt_comes_before_the_compiler_and_before_the_editor() -> None:
    loaded = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import semac.cli.repl.start, semac.cli.repl.loop"],
        capture_output=True, text=True, check=True,
    ).stderr  # fmt: skip
    assert "semac.cli.repl.early" in loaded
    assert not [name for name in ("semac.syntax", "semac.session", "prompt_toolkit", "click") if name in loaded]


def test_keys_that_are_typed_at_once_are_kept(tmp_path: Path) -> None:
    running = Terminal(tmp_path)
    try:
        running.until("sema>")  # the prompt alone: nothing else is loaded
        for key in "(+ 1 20)\r(* 2 3":
            running.type(key)
        shown = running.press(")\r", "\n21\n", "\n6\n")
        assert "sema> (+ 1 20)\n21\nsema> (* 2 3)\n6\nsema>" in shown
    finally:
        running.close()


def test_whole_forms_are_edited_and_remembered(terminal: Terminal, tmp_path: Path) -> None:
    terminal.press("(define (area w h)\r", "  ...")
    shown = terminal.press('"The area of a box." (* w h))\r', "; defined area")
    assert '  ...   "The area of a box." (* w h))' in shown
    terminal.press("(area 2 3)\r", "\n6\n")
    assert "sema> (define (area w h)\n  ..." in terminal.press(UP + UP, "(define (area w h)\n  ...", "The area of a")
    terminal.type("\x03")
    terminal.until_prompt()
    terminal.press("\x12area 2", "(area 2 3)\n")
    terminal.type("\x03")
    terminal.until_prompt()
    terminal.press("\x04", "Goodbye!")
    later = Terminal(tmp_path)
    try:
        later.until("sema>")
        later.press(UP, "sema> (area 2 3)")
    finally:
        later.close()


def test_no_interrupt_ends_it(terminal: Terminal) -> None:
    terminal.press("(+ 1 1)\r", "\n2\n")
    for _ in range(100):  # as a key in the editor, or as a signal between two prompts
        terminal.screen.reset()
        terminal.press("\x03\x03", "^C")
    terminal.until_prompt()
    terminal.press("(begin (println 'on) (let loop () (loop)))\r", "\non")
    os.kill(terminal.process, signal.SIGINT)
    terminal.until_prompt()
    terminal.press("(+ 1 20)\r", "\n21\n")


def test_what_cannot_be_read_stays_in_the_editor(terminal: Terminal) -> None:
    terminal.press("(+ 1 2))\r", "unexpected closing `)`")
    assert "\n3\n" in terminal.press(DELETE + "\r", "\n3\n")
    terminal.press("(foo", "(foo")
    terminal.press("\x1b\r", "unterminated list")
    terminal.press("(begin (println 'on) (let loop () (loop)))\r", "\non")
    terminal.press("\x03", "^C\nsema>")
    terminal.press("(car 5)\r", "expected list or vector")
    terminal.press("*e\r", '"expected list or vector, got int"')


def test_completions_tips_and_documentation(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "readings.txt").write_text("")
    terminal.press('(define (area w h) "The area." (* w h))\r', "; defined area")
    terminal.press("(let ((width 3)) (area wi", "width ", "local")  # unasked
    terminal.press("\t", "(area width")
    terminal.press(" 2))\r", "\n6\n")
    terminal.press("(area 1 ", "(area w h) — The area.")
    assert terminal.colours("h) — The") != terminal.colours("area w")
    terminal.press("\x03(string/spl\t ", "(string/split text separator) — Splits a string")
    terminal.press(F1, "string/split : builtin", "F1 closes")
    terminal.type(F1)
    terminal.press('\x03(file/read "read\t', '(file/read "readings.txt')
    terminal.press('\x03(py/import "math")\r', 'import "math")\nsema>')
    terminal.press("(math.sq\t", "(math.sqrt")
    terminal.press("\x03,ti\t", ",time")
    terminal.press("\x03,doc area\r", "  area : lambda (w h)\n\n  The area.")
    assert len(terminal.colours("define")) == 1
    assert terminal.colours("define") != terminal.colours("area w h")


def test_values_that_are_long_and_values_as_trees(terminal: Terminal) -> None:
    assert "more lines, ,all shows all" in terminal.press("(range 1000)\r", ",all shows all")
    terminal.press(",inspect {:a 1 :b [1 {:deep 2}]}\r", "▾ {:a 1", ":b [1 {:deep 2}]  vector, 2", "q leave")
    terminal.press(DOWN + DOWN + RIGHT, "1 {:deep 2}  map, 1")
    terminal.press(DOWN + DOWN + " ", ":deep 2  int")
    terminal.press(LEFT + LEFT + LEFT, "▸ :b [1")
    terminal.press("q", "sema>")
    terminal.press("(+ 1 1)\r", "\n2\n")


def test_the_keys_of_vi(terminal: Terminal) -> None:
    terminal.press(",keys vi\r", "vi\nsema>")
    terminal.press("(* 2 3x)\x1b", "-- commands --")
    terminal.press("hx\r", "\n6\n")
    terminal.press(",complete off\r", "off\nsema>")
