"""Spinners: an animated line on stderr while the program works. Without a terminal, plain lines.

All running spinners share one line and one thread, which draws; it ends with the last of them.
"""

from __future__ import annotations

import os
import sys

from sema_runtime.catalogue import builtin
from sema_runtime.lib.language import output
from sema_runtime.support.terminal_state import Held, hold, release
from sema_runtime.support.text_arguments import text_of
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import type_error
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from typing import Any, TextIO

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
INTERVAL = 0.08  # seconds for which a frame is shown
CLEAR_LINE = "\r\x1b[K"
BETWEEN = "  "  # two spinners


class SpinnerLine:
    """The line on which spinners turn. messages: what they say, by their number."""

    def __init__(self) -> None:
        import threading

        self.messages: dict[int, str] = {}
        self.lock = threading.RLock()  # a signal may end the program while this thread changes the line
        self.stopped: threading.Event | None = None  # tells the thread to end; None when there is none
        self.held: Held | None = None
        self.beside: dict[str, _Beside] = {}
        self.frame = 0
        self.occupied = False  # whether the line has unfinished output

    def set(self, number: int, message: str) -> None:
        """Shows a new spinner, or another message."""
        with self.lock:
            self.messages[number] = message
            if self.stopped is None:
                self._start()
            self._draw()

    def remove(self, number: int) -> None:
        """Takes a spinner away; the line is empty afterwards, until the next frame of another one."""
        with self.lock:
            del self.messages[number]
            if not self.messages and self.held is not None:
                release(self.held)
            else:
                self.clear()

    def stop(self) -> None:
        """Takes all spinners away."""
        with self.lock:
            self.messages.clear()
            if self.stopped is not None:
                self.stopped.set()
                self.stopped = self.held = None
                for name, beside in self.beside.items():
                    if getattr(sys, name) is beside:
                        setattr(sys, name, beside.stream)
                self.clear()

    def clear(self) -> None:
        """Makes room for output."""
        if not self.occupied:
            _write(CLEAR_LINE)

    def _start(self) -> None:
        import threading

        self.held = hold(self.stop)
        self.stopped = threading.Event()
        self.occupied = False
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream.isatty():
                self.beside[name] = _Beside(self, stream)
                setattr(sys, name, self.beside[name])
        threading.Thread(target=self._turn, args=(self.stopped,), name="sema-spinner", daemon=True).start()

    def _turn(self, stopped: threading.Event) -> None:
        while not stopped.wait(INTERVAL):
            with self.lock:
                if not stopped.is_set():
                    self.frame += 1
                    self._draw()

    def _draw(self) -> None:
        from sema_runtime.support.visible import columns

        if self.occupied:
            return
        frame = FRAMES[self.frame % len(FRAMES)]
        text = BETWEEN.join(f"{frame} {' '.join(message.splitlines())}" for message in self.messages.values())
        room = _width() - 1  # a full line would break
        while columns(text) > room:
            text = text[: min(room, len(text) - 1)]
        _write(CLEAR_LINE + text)


class _Beside:
    """A standard stream while a spinner runs on the same terminal. Printed text takes the place of the spinner, which
    moves to the line below."""

    def __init__(self, line: SpinnerLine, stream: TextIO) -> None:
        self.line = line
        self.stream = stream

    def write(self, text: str) -> int:
        with self.line.lock:
            self.line.clear()
            size = self.stream.write(text)
            self.stream.flush()
            self.line.occupied = not text.endswith("\n")
        return size

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _width() -> int:
    try:
        return max(2, os.get_terminal_size(sys.stderr.fileno()).columns or 80)
    except OSError:
        return 80


def _write(text: str) -> None:
    """Writes to stderr, past Python's buffers, which a signal may have interrupted."""
    try:
        os.write(sys.stderr.fileno(), text.encode(sys.stderr.encoding, "replace"))
    except OSError:  # the terminal is gone
        return


_line: SpinnerLine | None = None
_plain: set[int] = set()  # spinners without a terminal
_started = 0


def _spins() -> bool:
    """Whether stderr is a terminal that can show a spinner."""
    collected = output.sink is not None or output.error_sink is not None
    return not collected and os.environ.get("TERM") != "dumb" and sys.stderr.isatty()


@builtin("term/spinner-start", type="str -> int")
def term_spinner_start(message: Any) -> int:
    """Shows a spinner with a message on stderr while the program continues, and returns its number.

    It ends with `term/spinner-stop` or with the program. When stderr isn't a terminal, the message is written once.

    (define s (term/spinner-start "Working ..."))
    (term/spinner-stop s {:symbol "✔" :text "Done"})
    """
    global _line, _started
    text = text_of(message)
    number, _started = _started, _started + 1
    if not _spins():
        _plain.add(number)
        output.println_error(text)
        return number
    if _line is None:
        _line = SpinnerLine()
    sys.stdout.flush()
    _line.set(number, text)
    return number


@builtin("term/spinner-update", type="int, str -> nil")
def term_spinner_update(spinner: Any, message: Any) -> None:
    """Changes the message of a spinner. Does nothing for a stopped one, and when stderr isn't a terminal.

    (define s (term/spinner-start "Working ..."))
    (term/spinner-update s "Still working ...")
    (term/spinner-stop s)
    """
    number, text = _number(spinner), text_of(message)
    if _line is not None and number in _line.messages:
        _line.set(number, text)


@builtin("term/spinner-stop", type="int, dict? -> nil")
def term_spinner_stop(spinner: Any, options: Any = None) -> None:
    """Ends a spinner. options: `{:symbol "✔" :text "Done"}`, two optional strings: the line to leave in its place.

    Does nothing for a spinner that was stopped before.

    (define s (term/spinner-start "Working ..."))
    (term/spinner-stop s)
    """
    number = _number(spinner)
    if options is not None and not isinstance(options, Map):
        type_error("map", options)
    parts = [] if options is None else [options.lookup(keyword(name)) for name in ("symbol", "text")]
    last = " ".join(text_of(part) for part in parts if part is not None)
    if number in _plain:
        _plain.remove(number)
    elif _line is not None and number in _line.messages:
        _line.remove(number)
    else:
        return
    if last:
        output.println_error(last)


def _number(spinner: Any) -> int:
    if type(spinner) is not int:
        type_error("integer", spinner)
    return spinner
