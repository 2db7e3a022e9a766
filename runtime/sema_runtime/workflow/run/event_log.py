"""The events of a run: numbered, stamped, written to its journal and shown to its watchers."""

from __future__ import annotations

import os
import time
from threading import RLock

from sema_runtime.tasks import interrupts
from sema_runtime.workflow.journal import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sema_runtime.workflow.journal.writer import Journal


class EventLog:
    """journal: of the run. watch: called with each event that was written. seq: of the next event. emitted: names of
    events. ended: True after `run.ended`, behind which nothing is written."""

    def __init__(self, journal: Journal, watch: Callable[[events.Event], None]) -> None:
        self.journal = journal
        self.watch = watch
        self.seq = 0
        self.emitted: set[str] = set()
        self.ended = False
        self.fixed_ts = os.environ.get("SEMA_WORKFLOW_FIXED_TS")
        self.process = os.getpid()
        self.lock = RLock()
        self._second, self._ts = -1, ""

    @property
    def is_ours(self) -> bool:
        """False in a process that was forked from the one of the run: it writes nothing."""
        return os.getpid() == self.process

    def emit(self, *new: tuple[Any, ...]) -> int:
        """Writes events, given as (class, fields behind seq and ts...), with one write; the seq of the first."""
        with interrupts.held(), self.lock:
            first = self.seq
            if self.ended or not self.is_ours:
                return first
            ts = self.ts()
            written = [kind(first + index, ts, *fields) for index, (kind, *fields) in enumerate(new)]
            self.seq += len(written)
            self.journal.append([events.line(event) for event in written])
            self.emitted.update(event.name for event in written)
            self.ended = isinstance(written[-1], events.RunEnded)
        for event in written:
            self.watch(event)
        return first

    def record(self, kind: Any, **fields: Any) -> None:
        """Writes one event, its fields behind seq and ts given by name."""
        self.emit((kind, *(fields.get(name) for name, _, _ in events.FIELDS[kind.name][2:])))

    def ts(self) -> str:
        """The time of an event, UTC to the second."""
        if self.fixed_ts is not None:
            return self.fixed_ts
        now = int(time.time())
        if now != self._second:
            self._second, self._ts = now, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
        return self._ts

    def since(self, started: float) -> int:
        """Milliseconds since a moment of the monotonic clock; 0 where a test has fixed the time."""
        return 0 if self.fixed_ts is not None else int((time.monotonic() - started) * 1000)
