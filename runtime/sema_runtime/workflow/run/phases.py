"""The open phase of a run."""

from __future__ import annotations

import time

from sema_runtime.tasks import interrupts
from sema_runtime.workflow.journal import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sema_runtime.workflow.run.event_log import EventLog
    from sema_runtime.workflow.run.keys import Keys


class Phases:
    """label: of the open phase, "" for none. seq: of its `phase.started`, None for none. started: when the run began,
    by the monotonic clock."""

    def __init__(self, log: EventLog, keys: Keys) -> None:
        self.log = log
        self.keys = keys
        self.label = ""
        self.seq: int | None = None
        self.started = time.monotonic()

    def open(self, label: str) -> None:
        """Closes the open phase as a success, and opens another."""
        with interrupts.held():
            self.close("success")
            self.seq = self.log.emit((events.PhaseStarted, label))
            self.label = label
            self.keys.opened(label)

    def close(self, status: str) -> None:
        with interrupts.held():
            if self.seq is not None:
                self.log.emit((events.PhaseEnded, self.label, status, self.log.since(self.started)))
            self.label, self.seq = "", None
