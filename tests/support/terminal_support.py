"""Programs in a pseudo terminal. What they write is judged by a terminal emulator, which also answers them."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Sequence

import pyte
from paths import ROOT

PATIENCE = 20  # seconds after which a test has failed; nothing takes that long
ROWS, COLUMNS = 24, 80
STYLE_SETTINGS = ("NO_COLOR", "FORCE_COLOR", "TERM")


def environment(**settings: str) -> dict[str, str]:
    """The environment, with settings of ours in place of those that decide about styles."""
    kept = {name: value for name, value in os.environ.items() if name not in STYLE_SETTINGS}
    return {**kept, "PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}", "TERM": "xterm-256color", **settings}


class Terminal:
    """A terminal of that many columns, in which a program runs."""

    def __init__(self, command: Sequence[str], width: int = COLUMNS, **settings: str) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, width, 0, 0))
        self.modes_before = termios.tcgetattr(self.master)
        self.screen = pyte.Screen(width, ROWS)
        self.screen.write_process_input = lambda text: self.type(text.encode())  # type: ignore[method-assign]
        self.stream = pyte.ByteStream(self.screen)
        self.written = b""
        self.program = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment(**settings),
            start_new_session=True,
        )
        os.close(slave)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.program.poll() is None:
            self.program.kill()
        self.program.wait()
        os.close(self.master)

    def type(self, data: bytes) -> None:
        """Presses keys. The program may have to read before it can write and the other way round."""
        while data:
            readable, writable, _ = select.select([self.master], [self.master], [], PATIENCE)
            if readable:
                self._read()
            elif writable:
                data = data[os.write(self.master, data[:512]) :]

    def until(self, expected: str | Callable[[], bool]) -> None:
        """Reads what the program writes until a text has come or something is so."""
        is_so = expected if callable(expected) else lambda: expected.encode() in self.written
        while not is_so():
            assert self._read(), f"ended before {expected!r} after {self.written!r}"

    def _read(self) -> bool:
        """Waits for what the program writes. False when it has ended."""
        assert select.select([self.master], [], [], PATIENCE)[0], f"silent after {self.written!r}"
        try:
            data = os.read(self.master, 65536)
        except OSError:  # how Linux says that nobody has the terminal open any more
            data = b""
        self.written += data
        self.stream.feed(data)
        return bool(data)

    def end(self, number: int | None = None) -> int:
        """Waits for the program's end, after a signal if one is given; its status. All it has written is read."""
        if number is not None:
            self.program.send_signal(number)
        while self._read():
            pass
        return self.program.wait()

    def shown(self) -> str:
        """The lines of the screen, without trailing spaces and empty lines."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    def is_raw(self) -> bool:
        return not termios.tcgetattr(self.master)[3] & termios.ICANON

    def is_restored(self) -> bool:
        return termios.tcgetattr(self.master) == self.modes_before

    def has_mode(self, number: int) -> bool:
        """Whether the program has switched on a private mode."""
        return number << 5 in self.screen.mode


def in_terminal(source: str, **settings: str) -> Terminal:
    """A terminal in which a Sema program runs."""
    return Terminal([sys.executable, "-m", "semac.cli.entry", "-e", source], **settings)


def sema(source: str, stdin: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
    """A program between pipes."""
    return subprocess.run(
        [sys.executable, "-m", "semac.cli.entry", "-e", source],
        input=stdin,
        capture_output=True,
        text=True,
        env=environment(**settings),
        timeout=60,
    )


ENDINGS = {"SIGTERM": signal.SIGTERM, "SIGHUP": signal.SIGHUP, "SIGINT": signal.SIGINT}
