"""Forked processes that check seeds: one that hangs, crashes or eats all memory is ended, and the next seed goes on."""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Check = Callable[[int], Any]  # of a seed; what it returns goes through JSON

COLLECTED = 50  # programs after which garbage is collected
SILENT = 40.0
MEMORY = 3 << 30  # bytes of a worker
STUCK = "stuck"
DIED = "died"


class Worker:
    """A process that checks seeds one after the other."""

    def __init__(self, check: Check, seeds: Sequence[int]) -> None:
        self.check = check
        self.seeds = list(seeds)
        self.done = 0
        self.start()

    def start(self) -> None:
        self.pipe, write = os.pipe()
        sys.stdout.flush()
        self.process = os.fork()
        if self.process == 0:
            try:
                os.close(self.pipe)
                serve(self.check, self.seeds[self.done :], write)
            finally:
                os._exit(0)
        os.close(write)
        self.buffer = b""
        self.heard = time.monotonic()

    def received(self) -> list[tuple[int, Any]]:
        """Results that have come, as (seed, result). A worker that has died has a result of its own for its seed."""
        data = os.read(self.pipe, 1 << 16)
        self.heard = time.monotonic()
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        found = [(self.seeds[self.done + index], json.loads(line)) for index, line in enumerate(lines)]
        self.done += len(lines)
        if not data:
            found += self.replaced(DIED)
        return found

    def replaced(self, reason: str) -> list[tuple[int, Any]]:
        """Ends the process, and starts one for the seeds after the one that it was at."""
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.pipe)
        if self.done == len(self.seeds):
            return []
        seed = self.seeds[self.done]
        self.done += 1
        self.start()
        return [(seed, {reason: True})]

    @property
    def finished(self) -> bool:
        return self.done == len(self.seeds)

    def end(self) -> None:
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.pipe)


def serve(check: Check, seeds: Sequence[int], pipe: int) -> None:
    """In the worker: a line of JSON for each seed."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    gc.freeze()  # the compiler is never garbage
    gc.disable()
    for number, seed in enumerate(seeds):
        if number % COLLECTED == 0:
            gc.collect()
        try:
            line = json.dumps(check(seed))
        except BaseException:  # a fault of ours is a result, too
            line = json.dumps({"fault": traceback.format_exc(limit=-4)[-1500:]})
        data = line.encode() + b"\n"
        while data:
            data = data[os.write(pipe, data) :]


def results(check: Check, seeds: Sequence[int], jobs: int, silent: float = SILENT) -> Iterator[tuple[int, Any]]:
    """(seed, result) of each seed, in the order in which they are done. Closing the iterator ends the workers.

    silent: seconds of one seed after which its worker is ended.
    """
    workers = [Worker(check, seeds[start::jobs]) for start in range(min(jobs, len(seeds)))]
    try:
        while workers:
            ready = select.select([worker.pipe for worker in workers], [], [], 1.0)[0]
            for worker in list(workers):
                if worker.pipe in ready:
                    yield from worker.received()
                elif time.monotonic() - worker.heard > silent:
                    yield from worker.replaced(STUCK)
                if worker.finished:
                    worker.end()
                    workers.remove(worker)
    finally:
        for worker in workers:
            worker.end()
