"""The supervisor's side of a worker of `sema eval`: starting it, waiting for it, ending it."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from semac.cli.eval import processes
from semac.cli.eval.limits import ENDED, TIMEOUT, Limits

FIRST_LOOK, LOOK = 0.02, 0.05  # seconds between two looks at the memory of a program's processes
PATIENCE = 5.0  # seconds in which a process whose program has ended may send its telemetry and end
LEAST_READ = 1 << 16


class Overrun(Exception):
    """A program was ended. message: the text of its answer."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def load_compiler() -> None:
    """Loads what each worker needs, once for all of them."""
    import_module("semac.cli.eval.worker")
    import_module("semac.pipeline").prelude()
    gc.freeze()


class Watched:
    """A process that runs a program, and the pipes from it. Use it as a context manager, which ends the process.

    pipes: name to read end. Their output is collected, at most `limits.output` bytes of each.
    """

    def __init__(self, limits: Limits, work: Callable[[dict[str, int]], object], names: tuple[str, ...]) -> None:
        """work: what the process does, with the write ends by name; limits.memory holds in it."""
        self.limits = limits
        ends = {name: os.pipe() for name in names}
        self.pipes = {name: read for name, (read, _) in ends.items()}
        self.collected = {name: bytearray() for name in names}
        self.base = processes.resident([os.getpid()])

        def run() -> None:
            for read in self.pipes.values():
                os.close(read)
            if limits.memory:
                processes.limit_data(limits.memory)
            work({name: write for name, (_, write) in ends.items()})

        self.process = processes.forked(run)
        self.status: int | None = None
        for _, write in ends.values():
            os.close(write)

    def wait(self, enough: Callable[[], bool], deadline: float | None) -> None:
        """Collects the output of the process until it is enough, or all pipes are closed. deadline: of
        time.monotonic(). Raises Overrun when a limit is passed, after ending the process."""
        pause = FIRST_LOOK
        while self.pipes and not enough():
            left = pause if deadline is None else min(pause, deadline - time.monotonic())
            if left <= 0:
                self._overrun(TIMEOUT)
            ready = select.select(list(self.pipes.values()), [], [], left)[0]
            if ready:
                self._read(ready)
            else:
                self._check_memory()
                pause = LOOK

    def drain(self) -> None:
        """Collects the output that is already in the pipes."""
        while ready := select.select(list(self.pipes.values()), [], [], 0)[0] if self.pipes else []:
            self._read(ready)

    def _read(self, ready: list[int]) -> None:
        for name, read in list(self.pipes.items()):
            if read not in ready:
                continue
            data = os.read(read, LEAST_READ)
            self.collected[name] += data
            if not data:
                os.close(read)
                del self.pipes[name]
            elif name != "answer" and self.limits.output and len(self.collected[name]) > self.limits.output:
                self._overrun(self.limits.too_much_output())

    def _check_memory(self) -> None:
        if not self.limits.memory:
            return
        used = processes.resident(processes.descendants(os.getpid()))
        if used > self.limits.memory + self.base:
            self._overrun(self.limits.out_of_memory())

    def _overrun(self, message: str) -> None:
        self.end()
        raise Overrun(message)

    def end(self) -> int:
        """Ends the process and all its descendants. Returns its status."""
        if self.status is None:
            self.status = processes.end_all(self.process)
            for read in self.pipes.values():
                os.close(read)
            self.pipes.clear()
        return self.status

    def ended_by_itself(self, seconds: float) -> bool:
        """Waits at most some seconds for the process to end. Returns whether it has."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if os.waitid(os.P_PID, self.process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return True
            time.sleep(FIRST_LOOK / 4)
        return False

    def reason(self) -> str:
        """Why the process ended, for the answer."""
        from semac.cli.eval.worker import MEMORY_STATUS, OUTPUT_STATUS

        status = self.end()
        if status == MEMORY_STATUS:
            return self.limits.out_of_memory()
        return self.limits.too_much_output() if status == OUTPUT_STATUS else ENDED


class Worker:
    """A process for a stream of programs. It starts when needed, and again after a program that ended it."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.watched: Watched | None = None
        self.copy = _memory_file()
        self.folder = ""
        self.questions = -1

    def ask(self, source: str) -> dict[str, Any]:
        """The answer for one program."""
        watched = self.watched or self._start()
        seconds = self.limits.seconds
        deadline = time.monotonic() + seconds if seconds else None
        answer = watched.collected["answer"]
        try:
            token = os.urandom(16).hex()
            _write_all(self.questions, json.dumps([token, source]).encode() + b"\n")
            watched.wait(lambda: answer[-1:] == b"\n", deadline)
        except Overrun as overrun:
            return self._cut_off(overrun.message)
        except BrokenPipeError:
            return self._cut_off(watched.reason())
        if answer[-1:] != b"\n":
            return self._cut_off(watched.reason())
        try:
            response: dict[str, Any] = json.loads(answer)
            spent = response.pop("spent")
            if response.pop("token") != token:
                return self._cut_off(ENDED)
        except (ValueError, KeyError, TypeError, AttributeError):  # the program wrote into our pipe
            return self._cut_off(ENDED)
        answer.clear()
        if spent is not None:
            self.stop()
            _load(spent)
        return response

    def _start(self) -> Watched:
        from semac.cli.eval import worker

        self.folder = tempfile.mkdtemp(prefix="sema-eval-")
        questions, self.questions = os.pipe()

        def work(ends: dict[str, int]) -> None:
            os.close(self.questions)
            worker.serve(questions, ends["answer"], self.copy, self.folder, self.limits)

        self.watched = Watched(self.limits, work, ("answer",))
        os.close(questions)
        return self.watched

    def _cut_off(self, error: str) -> dict[str, Any]:
        """The answer for a program that was ended: its output so far, and the reason."""
        self.stop()
        size = os.fstat(self.copy).st_size
        lines = os.pread(self.copy, size, 0).split(b"\n")[:-1]
        os.ftruncate(self.copy, 0)
        os.lseek(self.copy, 0, os.SEEK_SET)
        try:
            printed = [str(json.loads(line)) for line in lines]
        except ValueError:  # the program wrote into our file
            printed = []
        return {"value": None, "output": printed, "error": error}

    def stop(self) -> None:
        """Ends the process, if there is one."""
        if self.watched is not None:
            self.watched.end()
            os.close(self.questions)
            shutil.rmtree(self.folder, ignore_errors=True)
        self.watched = None

    def close(self) -> None:
        self.stop()
        os.close(self.copy)


def _load(modules: list[str]) -> None:
    """Imports modules here, so that later workers needn't."""
    for name in modules:
        if name not in sys.modules:
            with contextlib.suppress(Exception):
                import_module(name)


def _memory_file() -> int:
    """A file without a name, in memory where the system has that."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("sema-eval", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
