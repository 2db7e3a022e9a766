"""The host's side of the box: programs, each in a fresh process, and sessions of programs."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sema_runtime.box.calls import Quota, Reply, Results
from sema_runtime.box.codec import Encoder, to_frame
from sema_runtime.box.limits import Limits
from sema_runtime.box.outcome import Outcome
from sema_runtime.box.probe import Unprotected
from sema_runtime.box.snapshots import Snapshot, read, write
from sema_runtime.box.toolbox import Granted, grants
from sema_runtime.box.turns import Turn
from sema_runtime.box.workers import Died, Late, Worker, Zygote
from sema_runtime.values.errors import SemaError

NEEDED = frozenset(("landlock", "seccomp"))
TOOL_NAMES = re.compile(r"\(tool/([^\s(){}\[\]\"';,`]+)")  # that a program calls


class Pool:
    """Runs programs, each in a fresh process. May be shared by threads.

    limits: of programs for which nothing else is said. spare: processes that are kept ready. needs: layers without
    which nothing runs (none: `frozenset()`); raises Unprotected where the machine lacks one.
    """

    def __init__(self, limits: Limits | None = None, spare: int = 2, needs: frozenset[str] = NEEDED) -> None:
        self.limits = limits or Limits()
        self.spare = spare
        self.needs = needs
        self.ready: deque[Worker] = deque()
        self.lock = threading.Lock()
        self.zygote = self._start()

    def _start(self) -> Zygote:
        zygote = Zygote()
        missing = self.needs - zygote.layers
        if missing:
            zygote.close()
            raise Unprotected(
                f"box: this machine lacks {' and '.join(sorted(missing))}",
                "sema doctor says more; pass needs=frozenset() to run with fewer layers",
            )
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

    async def run_async(self, source: str, **options: Any) -> Outcome:
        """`run`, without blocking the loop."""
        import asyncio

        return await asyncio.to_thread(self.run, source, **options)

    def take(self, limits: Limits) -> Worker:
        """A fresh process."""
        with self.lock:
            kept = self.ready.popleft() if self.ready and self.ready[0].limits == limits else None
            return kept if kept is not None else self._fork(limits)

    def refill(self) -> None:
        """Starts processes for the next programs."""
        with self.lock:
            while len(self.ready) < self.spare:
                self.ready.append(self._fork(self.limits))

    def _fork(self, limits: Limits) -> Worker:
        try:
            return self.zygote.fork(limits)
        except Died:  # somebody has ended it: another takes its place
            self.zygote.close()
            self.zygote = self._start()
            return self.zygote.fork(limits)


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
        self.data = {name: Encoder().encode(value) for name, value in (data or {}).items()}
        self.check_data()
        self.tools = grants(tools)
        self.worker: Worker | None = None
        self.history: list[tuple[str, list[Reply]]] = []  # programs, and the replies that tools gave them

    def check_data(self) -> None:
        size = len(to_frame(self.data))
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

    def run(self, source: str) -> Outcome:
        """The outcome of one program. A failed one leaves the session as it was."""
        try:
            if self.worker is None:
                self.begin()
        except (Died, Late):
            self.close()
            return Outcome("error", reason="worker_died", message="the process for the program could not be started")
        assert self.worker is not None
        turn = Turn(source, self.data, self.tools, self.limits, results=self.results, quota=self.quota)
        outcome = turn.run(self.worker, self.pool.refill)
        if outcome.ok:
            self.history.append((source, turn.replies))
        else:
            self.close()
        return outcome

    def begin(self) -> None:
        """Takes a fresh process to where the session is."""
        self.worker = self.pool.take(self.limits)
        for source, replies in self.history:
            turn = Turn(source, self.data, self.tools, self.limits, list(replies))
            if not turn.run(self.worker, bool).ok:
                raise Died()
