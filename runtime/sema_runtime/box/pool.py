"""The host's side of the box: programs, each in a fresh process, and sessions of programs."""

from __future__ import annotations

import os
import re
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sema_runtime.box.calls import Quota, Results
from sema_runtime.box.codec import TooLarge, nodes_in, to_frame
from sema_runtime.box.host_values import HostEncoder
from sema_runtime.box.limits import CEILINGS, Limits
from sema_runtime.box.outcome import Outcome
from sema_runtime.box.policy import check, needed
from sema_runtime.box.probe import Unprotected
from sema_runtime.box.snapshots import Snapshot, read, write
from sema_runtime.box.toolbox import NAME, Granted, grants
from sema_runtime.box.turns import Turn, history_full
from sema_runtime.box.workers import Died, Late, Worker, Zygote
from sema_runtime.values.errors import SemaError

DATA_GROWS = 24  # memory that inputs take while they are read, as a multiple of their bytes
CANCELLED = Outcome("error", reason="cancelled", message="the program was cancelled; nothing that it defined was kept")
TOOL_NAMES = re.compile(r"\(tool/([^\s(){}\[\]\"';,`]+)")  # that a program calls


class Pool:
    """Runs programs, each in a fresh process. May be shared by threads.

    limits: of programs for which nothing else is said. spare: processes that are kept ready. needs: layers without
    which nothing runs (none: `frozenset()`; by default all, or those of SEMA_BOX_NEEDS); raises Unprotected where the
    machine lacks one, and warns where it lacks another.
    """

    def __init__(self, limits: Limits | None = None, spare: int = 2, needs: frozenset[str] | None = None) -> None:
        self.limits = limits or Limits()
        self.spare = spare
        self.needs = needed() if needs is None else needs
        self.ready: deque[Worker] = deque()
        self.lock = threading.Lock()
        self.process = os.getpid()
        self.zygote = self._start()

    def _start(self) -> Zygote:
        zygote = Zygote()
        try:
            check(zygote.layers, self.needs)
        except Unprotected:
            zygote.close()
            raise
        return zygote

    @property
    def layers(self) -> frozenset[str]:
        """The layers of the kernel's protection that programs run under."""
        return self.zygote.layers

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends all processes."""
        with self.lock:
            if self.process != os.getpid():  # what it was forked from still uses them
                return
            while self.ready:
                self.ready.popleft().end()
            self.zygote.close()

    def run(
        self,
        source: str,
        data: Mapping[str, Any] | None = None,
        tools: Granted | None = None,
        limits: Limits | None = None,
        quota: Quota | None = None,
    ) -> Outcome:
        """The outcome of one program in a fresh state. data: its inputs `data/NAME`. tools: functions `tool/NAME`.
        quota: calls of tools that it shares with other programs."""
        with Session(self, data, tools, limits, quota) as session:
            session.keeps = False
            return session.run(source)

    def restore(
        self,
        path: str | Path,
        tools: Granted | None = None,
        limits: Limits | None = None,
        quota: Quota | None = None,
    ) -> Session:
        """A session that `Session.save` has written, as it was then. tools: those that its programs name, and others.

        Its programs run again, with what tools replied then; no tool is called. Raises SemaError for a file that isn't
        such a session or is damaged, for tools that are missing, and where a program fails now.
        """
        snapshot = read(path)
        session = Session(self, None, tools, limits, quota)
        session.data, session.history = snapshot.data, snapshot.programs
        session.history_bytes = size_of(session.history)
        session.check_data()
        try:
            session.begin()
        except (Died, Late):
            session.close()
            named = {name for source, _ in snapshot.programs for name in TOOL_NAMES.findall(source)}
            missing = ", ".join(sorted(named - session.tools.keys()))
            hint = (
                f"its tools are missing: {missing}" if missing else "it had other limits, or another version saved it"
            )
            raise SemaError(f"box: a program of the session in {path} no longer succeeds", hint) from None
        return session

    async def run_async(
        self,
        source: str,
        data: Mapping[str, Any] | None = None,
        tools: Granted | None = None,
        limits: Limits | None = None,
        quota: Quota | None = None,
    ) -> Outcome:
        """`run`, without blocking the loop. A task that is cancelled meanwhile ends the program."""
        with Session(self, data, tools, limits, quota) as session:
            session.keeps = False
            return await session.run_async(source)

    def take(self, limits: Limits, data_mb: int = 0) -> Worker:
        """A fresh process. data_mb: memory for inputs, beyond what a program may use."""
        with self.lock:
            self._own()
            is_fitting = not data_mb and self.ready and self.ready[0].limits == limits
            worker = self.ready.popleft() if is_fitting else self._fork(limits, data_mb)
        try:
            worker.known()
        except Died:  # somebody has ended the process that starts others
            worker.end()
            with self.lock:
                worker = self._fork(limits, data_mb)
            worker.known()
        return worker

    def refill(self) -> None:
        """Starts processes for the next programs."""
        with self.lock:
            self._own()
            while len(self.ready) < self.spare:
                self.ready.append(self._fork(self.limits))

    def _own(self) -> None:
        """Has a process that was forked with the pool in it use processes of its own."""
        if self.process != os.getpid():
            self.process = os.getpid()
            self.ready.clear()
            self.zygote = self._start()

    def _fork(self, limits: Limits, data_mb: int = 0) -> Worker:
        try:
            return self.zygote.fork(limits, data_mb)
        except Died:  # somebody has ended it: another takes its place
            self.zygote.close()
            self.zygote = self._start()
            return self.zygote.fork(limits, data_mb)


def size_of(programs: list[tuple[str, list[str]]]) -> int:
    """The bytes that programs and the replies of their tools take."""
    return sum(len(source) + sum(map(len, replies)) for source, replies in programs)


class Session:
    """Programs that build on each other: definitions live on when a program succeeds, and leave nothing when it fails.

    A program in the box is deterministic, so the session is the list of programs that have succeeded: after a failure a
    fresh process runs them again, with the results that tools gave then.
    """

    def __init__(
        self,
        pool: Pool,
        data: Mapping[str, Any] | None = None,
        tools: Granted | None = None,
        limits: Limits | None = None,
        quota: Quota | None = None,
    ) -> None:
        self.pool = pool
        self.quota = quota
        self.results = Results()
        self.limits = limits or pool.limits
        self.data = {name: self.encoded(name, value) for name, value in (data or {}).items()}
        self.check_data()
        self.tools = grants(tools)
        self.worker: Worker | None = None
        self.is_cancelled = False  # since the last program began
        self.keeps = True  # whether another program may follow
        self.history_bytes = 0
        self.history: list[tuple[str, list[str]]] = []  # programs, and the replies that tools gave them, as JSON

    def cancel(self) -> None:
        """Ends the program that runs, from another thread; its outcome is `cancelled`. The session goes on."""
        self.is_cancelled = True
        worker = self.worker
        if worker is not None:
            worker.kill()

    def forget(self, programs: int) -> None:
        """Takes the session back to before its last programs that succeeded."""
        if type(programs) is not int or not 0 < programs <= len(self.history):
            raise SemaError(f"box: the session has {len(self.history)} programs, it can't forget {programs}")
        del self.history[-programs:]
        self.history_bytes = size_of(self.history)
        self.close()

    def encoded(self, name: str, value: Any) -> Any:
        """An input as it crosses. Raises SemaError."""
        try:
            return HostEncoder(nodes_in(self.limits.data_bytes)).encode(value)
        except TooLarge as problem:
            raise SemaError(f"box: data/{name} {problem.message}", "give a part of it, or raise data_bytes") from None

    def check_data(self) -> None:
        """Raises SemaError for inputs that take too many bytes, or have names that no program can say."""
        for name in self.data:
            if type(name) is not str or NAME.fullmatch(name) is None:
                raise SemaError(f"box: data can't be called {name!r}", "names have letters, digits, - and _")
        size = len(to_frame(self.data))
        self.data_mb = size * DATA_GROWS >> 20
        if size > self.limits.data_bytes:
            raise SemaError(f"box: the data take {size} bytes, limit data_bytes is {self.limits.data_bytes}")

    def save(self, path: str | Path) -> None:
        """Writes programs, data and replies of tools to a file, which `Pool.restore` reads. Raises SemaError."""
        write(path, Snapshot(self.history, self.data))

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self.worker is not None:
            self.worker.end()
            self.worker = None

    async def run_async(self, source: str) -> Outcome:
        """`run`, without blocking the loop. A task that is cancelled meanwhile ends the program, and waits for that."""
        import asyncio

        is_unwanted = threading.Event()
        work = asyncio.create_task(asyncio.to_thread(self.run, source, is_unwanted))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            is_unwanted.set()
            self.cancel()
            await asyncio.wait([work])
            raise

    def run(self, source: str, is_unwanted: threading.Event | None = None) -> Outcome:
        """The outcome of one program. A failed one leaves the session as it was.

        is_unwanted: set before `cancel`, which finds no process of a program that doesn't run yet. Raises SemaError for
        a source that is no text.
        """
        if not isinstance(source, str):
            raise SemaError(f"box: a program is text, got {type(source).__name__}")
        if self.is_cancelled:  # too late for the program before: its process may be gone nevertheless
            self.close()
            self.is_cancelled = False
        try:
            if self.worker is None:
                self.begin()
            if is_unwanted is not None and is_unwanted.is_set():
                raise Died()
        except (Died, Late):
            self.close()
            if self.is_cancelled:
                return CANCELLED
            text = "the process for the program could not be started"
            if self.history:
                text += ", or could not be taken to where the session is"
            return Outcome("error", reason="worker_died", message=text, hint="run it again")
        assert self.worker is not None
        turn = Turn(source, self.data, self.tools, self.limits, results=self.results, quota=self.quota,
                    keeps=self.keeps, room=self.limits.history_bytes - self.history_bytes)  # fmt: skip
        outcome = turn.run(self.worker, self.pool.refill)
        if outcome.ok:
            outcome = self.kept(source, turn.replies, outcome)
        elif not turn.left_nothing:
            self.close()
        if self.is_cancelled and outcome.reason == "worker_died":
            outcome = replace(outcome, reason=CANCELLED.reason, message=CANCELLED.message, hint=turn.broker.effects())
        return outcome

    def kept(self, source: str, replies: list[str], outcome: Outcome) -> Outcome:
        """The outcome of a program that succeeded, which the session keeps if there is room for it."""
        size = size_of([(source, replies)]) if self.keeps else 0
        if self.history_bytes + size > self.limits.history_bytes:
            self.close()
            message, hint = history_full(self.limits)
            return replace(outcome, status="error", reason="history_exceeded", value=None, text=None, encoded=None,
                           defined={}, message=message, hint=hint)  # fmt: skip
        self.history_bytes += size
        self.history.append((source, replies))
        return outcome

    def begin(self) -> None:
        """Takes a fresh process to where the session is. Its programs did succeed, so they may take longer."""
        self.worker = self.pool.take(self.limits, self.data_mb)
        patient = replace(self.limits, wall_ms=min(4 * self.limits.wall_ms + 2_000, CEILINGS["wall_ms"]))
        for source, replies in self.history:
            turn = Turn(source, self.data, self.tools, patient, list(replies), keeps=True)
            if not turn.run(self.worker, bool).ok:
                raise Died()
