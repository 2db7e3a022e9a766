"""Programs in terminals of their own: `pty/spawn` and the functions of its handles. Like proc/*, but the program sees a
terminal, so that it prompts, edits lines and shows colors as it does for a person."""

from __future__ import annotations

import os
from contextlib import suppress

from sema_runtime.catalogue import builtin
from sema_runtime.support.handles import Handles
from sema_runtime.support.text_arguments import text_of
from sema_runtime.tasks.children import GRACE, Child, Settings, arguments, opened, refusal
from sema_runtime.tasks.threads import in_background
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import IoError, SemaError, type_error
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ROWS, COLS = 24, 80
LARGEST = 65535
LOOK_AGAIN = 50  # milliseconds until a writer sees that the program has ended


class Pty:
    """A program and our end of its terminal."""

    __slots__ = ("child", "terminal", "writing")

    def __init__(self, child: Child, terminal: Any) -> None:
        from threading import Lock

        self.child = child
        self.terminal = terminal  # a file, neither buffered nor blocking
        self.writing = Lock()  # held while something is typed

    def write(self, data: bytes) -> None:
        """Waits until the terminal has taken everything. Raises OSError when its other end is closed."""
        from errno import EIO
        from select import POLLOUT, poll

        room = poll()
        room.register(self.terminal, POLLOUT)
        view = memoryview(data)
        while view:
            if self.child.ended:  # the system would let us wait for ever
                raise OSError(EIO, os.strerror(EIO))
            written = self.terminal.write(view)
            if written is None:
                room.poll(LOOK_AGAIN)
            else:
                view = view[written:]

    def resize(self, rows: int, cols: int) -> None:
        from termios import tcsetwinsize

        tcsetwinsize(self.terminal, (rows, cols))

    def hang_up(self) -> None:
        """Ends the program as closing a terminal does, and by force when it ignores that."""
        from signal import SIGHUP, SIGKILL
        from subprocess import TimeoutExpired

        for number in (SIGHUP, SIGKILL):
            self.child.signal(number)
            with suppress(TimeoutExpired):
                self.child.handle.wait(GRACE)
                return


terminals = Handles("integer (pty handle)", "no such handle")


def pty_of(function: str, handle: Any) -> Pty:
    """The terminal of a handle."""
    terminal: Pty = terminals.get(function, handle)
    return terminal


@builtin("pty/spawn", type="seq str, dict? -> int", cap="process")
def pty_spawn(argv: Any, options: Any = None) -> int:
    """Starts a program, given with its arguments as a list or vector, in a new terminal and returns a handle.

    options: :rows (24), :cols (80), :cwd, :env (a map, added to the environment).

    (define t (pty/spawn ["sh" "-c" "stty size; test -t 1 && echo terminal"] {:rows 40 :cols 120}))
    (pty/wait t) => 0
    (pty/read t) => "40 120\\r\\nterminal\\r\\n"
    (pty/close t)
    """
    line = arguments("pty/spawn", argv)
    settings = Settings("pty/spawn", options)
    known = options or Map()
    size = (_cells(known.lookup(keyword("rows"), ROWS)), _cells(known.lookup(keyword("cols"), COLS)))
    try:
        return terminals.add(_opened(line, settings, size))
    except (OSError, ValueError) as error:
        raise SemaError(refusal("pty/spawn", line[0], settings, error)) from None


def _opened(line: list[str], settings: Settings, size: tuple[int, int]) -> Pty:
    try:
        from fcntl import ioctl
        from termios import TIOCSCTTY, tcsetwinsize
    except ImportError:
        raise SemaError("pty/spawn: this system has no Unix terminals") from None

    ours, theirs = os.openpty()
    os.set_blocking(ours, False)
    with os.fdopen(ours, "r+b", buffering=0) as terminal, os.fdopen(theirs, "r+b", buffering=0) as other_end:
        tcsetwinsize(terminal, size)

        def start() -> tuple[Any, Any]:
            handle = opened(
                line,
                settings,
                stdin=other_end,
                stdout=other_end,
                stderr=other_end,
                start_new_session=True,
                preexec_fn=lambda: ioctl(0, TIOCSCTTY, 0),  # makes it that session's terminal, for Ctrl-C and /dev/tty
            )
            return handle, [_copy(terminal)]

        return Pty(Child(start), _copy(terminal))


def _copy(terminal: Any) -> Any:
    """Another file for our end of a terminal, which is closed when both are."""
    return os.fdopen(os.dup(terminal.fileno()), "r+b", buffering=0)


def _cells(value: Any) -> int:
    if type(value) is not int:
        type_error("integer", value)
    return max(1, min(value, LARGEST))


@builtin("pty/read", type="int -> str", cap="process")
def pty_read(pty: Any) -> str:
    """The text that the program has written to its terminal since the last call, control sequences included, without
    waiting.

    (define t (pty/spawn ["echo" "hello"]))
    (pty/wait t)
    (pty/read t) => "hello\\r\\n"
    """
    child = pty_of("pty/read", pty).child
    if child.exceeded:
        raise SemaError(f"pty/read: unread output of handle {pty} exceeded the {child.limit}-byte limit")
    return child.text(0)


@builtin("pty/write", type="int, str -> nil", cap="process")
def pty_write(pty: Any, text: Any) -> None:
    """Types text into the terminal: `\\n` is Enter, `\\x03;` is Ctrl-C. Waits until the terminal has taken it.

    Cancelling the waiting task ends the program.

    (define t (pty/spawn ["head" "-n" "1"]))
    (pty/write t "hello\\n")
    (pty/wait t) => 0
    """
    terminal = pty_of("pty/write", pty)
    data = text_of(text).encode(errors="surrogateescape")

    def write() -> None:
        with terminal.writing:
            terminal.write(data)

    try:
        in_background(write, stop=terminal.child.kill)
    except OSError as error:
        raise IoError(f"pty/write: {error.strerror}") from None


@builtin("pty/resize", type="int, int, int -> nil", cap="process")
def pty_resize(pty: Any, rows: Any, cols: Any) -> None:
    """Changes the size of the terminal and notifies the program (SIGWINCH).

    (define t (pty/spawn ["cat"] {:rows 24 :cols 80}))
    (pty/resize t 50 120) => nil
    (pty/close t)
    """
    size = (_cells(rows), _cells(cols))
    try:
        pty_of("pty/resize", pty).resize(*size)
    except OSError as error:
        raise SemaError(f"pty/resize: {error.strerror}") from None


@builtin("pty/wait", type="int -> int", cap="process")
def pty_wait(pty: Any) -> int:
    """Waits until the program ends and returns its exit status, 1 when a signal ended it; other tasks run meanwhile.

    Afterwards all its output can be read. Cancelling the waiting task ends the program.

    (define t (pty/spawn ["sh" "-c" "exit 3"]))
    (pty/wait t) => 3
    """
    child = pty_of("pty/wait", pty).child
    return _code(in_background(child.wait, stop=child.kill))


def _code(status: int) -> int:
    return 1 if status == -1 else status


@builtin("pty/running?", type="int -> bool", cap="process")
def pty_is_running(pty: Any) -> bool:
    """Whether the program is still running.

    (define t (pty/spawn ["cat"]))
    (pty/running? t) => #t
    (pty/close t)
    """
    return pty_of("pty/running?", pty).child.status() is None


@builtin("pty/exit-code", type="int -> int|nil", cap="process")
def pty_exit_code(pty: Any) -> int | None:
    """The exit status of the program: 1 when a signal ended it, nil while it runs.

    (define t (pty/spawn ["sh" "-c" "exit 3"]))
    (pty/wait t)
    (pty/exit-code t) => 3
    """
    status = pty_of("pty/exit-code", pty).child.status()
    return None if status is None else _code(status)


@builtin("pty/kill", type="int -> nil", cap="process")
def pty_kill(pty: Any) -> None:
    """Ends the program and the programs it has started: first as closing the terminal does, then by force.

    (define t (pty/spawn ["cat"]))
    (pty/kill t)
    (pty/wait t) => 1
    """
    terminal = pty_of("pty/kill", pty)
    in_background(terminal.hang_up, stop=terminal.child.kill)


@builtin("pty/close", type="int -> nil", cap="process")
def pty_close(pty: Any) -> None:
    """Ends the program if it still runs, closes the terminal and forgets the handle. Unknown handles are ignored.

    (define t (pty/spawn ["cat"]))
    (pty/close t) => nil
    """
    terminal: Pty | None = terminals.forget(pty)
    if terminal is None:
        return
    terminal.child.closed = True

    def finish() -> None:
        terminal.hang_up()
        terminal.child.wait()
        with terminal.writing:
            terminal.terminal.close()

    in_background(finish, stop=terminal.child.kill)
