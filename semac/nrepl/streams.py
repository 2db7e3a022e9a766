"""Standard streams of an evaluation: output becomes messages while it runs, input is asked of the client."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable

PAUSE = 0.02  # seconds for which output is collected before it is sent
MOST = 16_384  # characters that are collected at most


class ReplyStream(io.TextIOBase):
    """Text that is sent in pieces: at a flush, when there is much of it, or after a short pause."""

    line_buffering = False
    encoding = "utf-8"

    def __init__(self, send: Callable[[str], None]) -> None:
        self.send = send
        self.parts: list[str] = []
        self.size = 0
        self.lock = threading.RLock()
        self.timer: threading.Timer | None = None

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        with self.lock:
            self.parts.append(text)
            self.size += len(text)
            if self.size >= MOST:
                self.flush()
            elif self.timer is None:
                self.timer = threading.Timer(PAUSE, self.flush)
                self.timer.daemon = True
                self.timer.start()
        return len(text)

    def flush(self) -> None:
        with self.lock:
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None
            text = "".join(self.parts)
            self.parts.clear()
            self.size = 0
            if text:
                self.send(text)


class RequestedInput:
    """Standard input of an evaluation. ask: tells the client that a line is needed; stopped: whether to give up."""

    encoding = "utf-8"

    def __init__(self, lines: InputLines, ask: Callable[[], None], stopped: Callable[[], bool]) -> None:
        self.lines = lines
        self.ask = ask
        self.stopped = stopped

    def readline(self, _: int = -1) -> str:
        """The next line; empty at the end of input. Raises KeyboardInterrupt after an interrupt."""
        return self.lines.next(self.ask, self.stopped)

    def read(self, _: int = -1) -> str:
        """All lines up to the end of input."""
        return "".join(iter(self.readline, ""))

    def fileno(self) -> int:
        raise OSError("the input comes from an editor")

    def isatty(self) -> bool:
        return False


class InputLines:
    """What the client sent for standard input, and was not read yet."""

    LOOK = 0.1  # seconds between two looks whether to give up

    def __init__(self) -> None:
        self.text = ""
        self.ended = False
        self.arrived = threading.Condition()

    def add(self, text: str) -> None:
        """Adds text; empty text is the end of input, as seen by one read."""
        with self.arrived:
            self.text += text
            self.ended = not text
            self.arrived.notify_all()

    def next(self, ask: Callable[[], None], stopped: Callable[[], bool]) -> str:
        """Takes a line, which the client is asked for if there is none."""
        with self.arrived:
            if not self.text and not self.ended:
                ask()
            while "\n" not in self.text and not self.ended:
                if stopped():
                    raise KeyboardInterrupt
                self.arrived.wait(self.LOOK)
            end = self.text.find("\n") + 1 or len(self.text)
            line, self.text = self.text[:end], self.text[end:]
            if not self.text:
                self.ended = False
            return line
