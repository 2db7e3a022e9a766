"""Sema programs in processes of their own, and knowing for sure that what a test has started has ended."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

from paths import ROOT


def program(source: str) -> subprocess.Popen[str]:
    """A Sema program in a process of its own, with pipes for its streams, no terminal, and Ctrl-C as usual."""
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-m", "semac.cli.entry", "-e", source],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}"},
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # jobs in the background ignore it
    )


class Witness:
    """A pipe of the file system that programs hold open as long as they live."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "witness"
        os.mkfifo(self.path)
        self.reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)

    def command(self, then: str = "sleep 100; true") -> str:
        """A shell command that reports that it runs, then goes on; what it starts is watched too."""
        return f"exec 9>{self.path}; echo runs >&9; {then}"

    def runs(self) -> None:
        """Waits for the report."""
        assert self._read() == b"runs\n"

    def ended(self) -> None:
        """Waits until nobody is left who holds the pipe."""
        os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))  # if nobody ever did, its end must be seen too
        while self._read():
            pass

    def _read(self) -> bytes:
        assert select.select([self.reader], [], [], 20)[0], "still running"
        return os.read(self.reader, 100)
