"""The runs of a folder: which there are, and the little that a list shows, read from both ends of their journals."""

from __future__ import annotations

import os
from pathlib import Path

from sema_runtime.workflow.journal import outcomes
from sema_runtime.workflow.journal.segments import first_event, last_event
from sema_runtime.workflow.journal.writer import segment_name
from sema_runtime.workflow.read.totals import Totaller
from sema_runtime.workflow.viewer.journal import Journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Row = dict[str, Any]

LOADED = 8  # runs that are kept in memory
EVENTS_KEPT = 3_000_000  # events of all runs that are kept in memory


class Runs:
    """The runs of a run directory, and the journals of those that are open in a page."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.rows: dict[str, tuple[Any, Row]] = {}  # run: (what its files looked like, its row)
        self.totals = Totaller(root)
        self.journals: dict[str, Journal] = {}  # the last one used stands last

    def names(self) -> list[str]:
        """Runs by the time of their journal, the newest first."""
        by_age: list[tuple[float, str]] = []
        try:
            with os.scandir(self.root) as entries:
                for entry in entries:
                    try:
                        by_age.append((os.stat(os.path.join(entry.path, "events.jsonl")).st_mtime, entry.name))
                    except OSError:
                        continue
        except OSError:
            return []
        return [name for _, name in sorted(by_age, key=lambda entry_age: (-entry_age[0], entry_age[1])) if shown(name)]

    def has(self, run: str) -> bool:
        return (self.root / run / "events.jsonl").is_file()

    def journal(self, run: str) -> Journal | None:
        """The journal of a run, as far as it has been read; None when there is no such run."""
        if not self.has(run):
            self.journals.pop(run, None)
            return None
        journal = self.journals.pop(run, None) or Journal(self.root / run)
        self.journals[run] = journal
        self._make_room()
        return journal

    def _make_room(self) -> None:
        events = sum(len(journal.state.kind) for journal in self.journals.values())
        for run in list(self.journals)[:-1]:
            if len(self.journals) <= LOADED and events <= EVENTS_KEPT:
                return
            events -= len(self.journals.pop(run).state.kind)

    def listing(self) -> list[Row]:
        """Newest first: {run, workflow, status, reason, started, ended, dur_ms, resumed, written} of each run."""
        names = self.names()
        self.rows = {name: self.rows[name] for name in names if name in self.rows}
        return [self._row(name) for name in names]

    def _row(self, run: str) -> Row:
        folder = self.root / run
        number = 0
        while (folder / segment_name(number + 1)).exists():
            number += 1
        path = folder / segment_name(number)
        try:
            status = os.stat(path)
            mark = (number, status.st_ino, status.st_size, status.st_mtime_ns, outcomes.mark(folder))
            known = self.rows.get(run)
            if known is not None and known[0] == mark:
                return known[1]
            row = row_of(run, folder, path, number)
            row["written"] = status.st_mtime
            if number and row["dur_ms"] is not None and (totals := self.totals.own(run)) is not None:
                row["dur_ms"] = totals.duration_ms  # of all parts
        except OSError:
            return {"run": run, "status": "unreadable", "workflow": None}
        self.rows[run] = (mark, row)
        return row


def shown(name: str) -> bool:
    """Whether a name can be shown: file systems also have names that are no text."""
    return name.isprintable()


def row_of(run: str, folder: Path, path: Path, segments: int) -> Row:
    first = first_event(str(folder / "events.jsonl"))
    last = last_event(str(path))
    ended = last.get("event") == "run.ended"
    return {
        "run": run,
        "workflow": first.get("workflow"),
        "started": first.get("ts"),
        "status": outcomes.outcome(folder, str(last.get("status"))) if ended else "running",
        "reason": last.get("reason") if ended else None,
        "ended": last.get("ts") if ended else None,
        "dur_ms": last.get("dur_ms") if ended else None,
        "resumed": segments,
    }
