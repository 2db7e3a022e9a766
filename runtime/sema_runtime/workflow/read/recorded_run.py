"""Reading runs: the contents of a run directory as typed objects, during the run and afterwards.

    run = open_run(".sema/runs", "wf_1")     # raises RunNotFound, ValueError for unsafe ids
    run.status, run.usage.cost_usd, [agent.model for agent in run.agents]
    run.refresh()                            # takes in what was written since

Nothing but the directory is needed. Lines that are damaged are counted and skipped, events of newer versions are kept
as they are (`run.others`), files that are missing are None. Texts (prompts, outputs, values) are read when they are
asked for, so that a run of a million events takes a few seconds and some dozens of bytes an event.
"""

from __future__ import annotations

import os

from sema_runtime.support.json_input import loads
from sema_runtime.workflow.journal import nested, origin, outcomes
from sema_runtime.workflow.journal.segments import Event, Segment, segment_files
from sema_runtime.workflow.journal.writer import safe_id, segment_name
from sema_runtime.workflow.read.columns import Usage
from sema_runtime.workflow.read.follower import Reader
from sema_runtime.workflow.read.reducer import BEFORE, Phase, RunState
from sema_runtime.workflow.read.tables import Agent, Agents, Checkpoints, Others, ToolCalls
from sema_runtime.workflow.read.totals import Inside, Totaller, Totals, totals_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sema_runtime.workflow.journal.nested import Nested
    from sema_runtime.workflow.journal.origin import Origin

__all__ = ["Agent", "Event", "Phase", "Run", "RunNotFound", "Usage", "found_run", "is_held", "open_run", "run_ids"]


class RunNotFound(Exception):
    """There is no such run; the message says where it was looked for."""


def run_ids(root: str | os.PathLike[str]) -> list[str]:
    """The runs in a directory, the one that was written to last first. [] when there is no directory."""
    by_age = []
    try:
        with os.scandir(root) as entries:
            for entry in entries:
                files = segment_files(entry.path)
                if files:
                    by_age.append((-_changed(files[-1]), entry.name))
    except OSError:
        return []
    return [name for _, name in sorted(by_age)]


def is_held(folder: str) -> bool | None:
    """Whether a process of ours is writing a run: it locks the journal. None where the system doesn't tell. It reads
    the locks and doesn't try to take one, which could make a resume fail."""
    try:
        inode = os.stat(os.path.join(folder, segment_name(0))).st_ino
        with open("/proc/locks", encoding="ascii") as locks:
            return any(line.split()[1] == "FLOCK" and line.split()[5].endswith(f":{inode}") for line in locks)
    except (OSError, ValueError, IndexError):
        return None


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:  # it is gone
        return 0


def latest_run(root: str | os.PathLike[str]) -> str | None:
    """The id of the run that was written to last, by itself or by a run inside of it: then of the outermost one. None
    when there is no run."""
    ids = run_ids(root)
    return nested.outermost(os.fspath(root), ids[0]) if ids else None


def open_run(root: str | os.PathLike[str], run_id: str) -> Run:
    """A run of a directory of runs. Raises ValueError when the id is no safe name, RunNotFound when it isn't there."""
    run = found_run(root, run_id)
    run.refresh()
    return run


def found_run(root: str | os.PathLike[str], run_id: str) -> Run:
    """The same without reading it: for its `events` one by one."""
    folder = os.path.join(root, safe_id(run_id))
    if not segment_files(folder):
        raise RunNotFound(f"no run '{run_id}' in {root}")
    return Run(folder)


class Run:
    """A run. Everything is empty until `refresh`."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.id = os.path.basename(os.path.normpath(folder))
        self.reader = Reader(folder)
        self._begin()

    def _begin(self) -> None:
        self.agents = Agents(self)
        self.tool_calls = ToolCalls(self)
        self.checkpoints = Checkpoints(self)
        self.others = Others(self)

    def refresh(self) -> int:
        """Takes in what was written since the last time; the number of new events. A journal that has become shorter,
        or was replaced, is read from its beginning. Raises OSError when it can't be read."""
        generation = self.reader.generation
        read = self.reader.refresh()
        if self.reader.generation != generation:
            self._begin()
        return read

    # What the journal says

    @property
    def state(self) -> RunState:
        """The state of the run, as far as its journal is read."""
        return self.reader.state

    @property
    def segments(self) -> list[Segment]:
        return self.reader.segments

    @property
    def workflow(self) -> str:
        return str(self.state.latest.get("workflow", ""))

    @property
    def embedded_id(self) -> str:
        """The id as the journal has it."""
        return str(self.state.latest.get("run_id", ""))

    @property
    def args_json(self) -> str:
        return str(self.state.latest.get("args_json", ""))

    @property
    def code_version(self) -> str:
        return str(self.state.latest.get("code_version", ""))

    @property
    def declared_phases(self) -> list[str]:
        return list(self.state.latest.get("phases", ()))

    @property
    def started(self) -> str:
        """The ts of the first start."""
        return self.state.started

    @property
    def status(self) -> str:
        """running, success, failed, needs-auth ...: of the last segment. What the envelope says, where the body has
        returned one of its own."""
        return outcomes.outcome(self.folder, self.state.status)

    @property
    def reason(self) -> str:
        return self.state.reason

    @property
    def ended(self) -> str:
        return self.state.ended

    @property
    def duration_ms(self) -> int | None:
        """Of the last segment; None while it runs. `totals` has that of all."""
        return self.state.duration_ms

    @property
    def totals(self) -> Totals:
        """Its agents, what they used, how long it took: without the runs inside."""
        return totals_of(self.folder, self.state)

    @property
    def inside(self) -> Inside:
        """How many runs there are inside of this one, those inside of them included, and what they used. Reads them."""
        return Totaller(os.path.dirname(os.path.normpath(self.folder)) or ".").inside(self.id)

    @property
    def usage_with_inside(self) -> Usage:
        """What the run and the runs inside of it used."""
        return self.usage.join(self.inside.usage)

    @property
    def phases(self) -> list[Phase]:
        """Every opening of a phase, in order, of all segments."""
        return [phase for phase in self.state.phases if phase.name is not BEFORE]

    @property
    def usage(self) -> Usage:
        return self.state.usage

    @property
    def token_limit(self) -> int | None:
        return self.state.token_limit

    @property
    def events_read(self) -> int:
        return len(self.state.kind) - self.state.damaged

    def event(self, number: int) -> Event:
        """An event by its number, counted over all segments, read again. Raises OSError, ValueError when the journal
        has changed since."""
        return self.reader.event(number)

    # What is there besides

    def is_open(self, segment: int) -> bool:
        """Whether a segment is still being written, as far as the journal tells."""
        return segment == len(self.segments) - 1 and self.state.status == "running"

    @property
    def metadata(self) -> dict[str, Any] | None:
        """metadata.json; None when it is missing or damaged."""
        metadata = self._json("metadata.json")
        return metadata if type(metadata) is dict else None

    @property
    def result(self) -> Any:
        """result.json: the envelope of the last run; None when it is missing or damaged."""
        return self._json("result.json")

    @property
    def origin(self) -> Origin | None:
        """Of which run this one is a fork, if it is one."""
        return origin.of(self.folder)

    @property
    def nested(self) -> list[Nested]:
        """The runs inside of this one, in the order in which they first began."""
        return nested.runs_of(self.folder)

    def _json(self, name: str) -> Any:
        try:
            with open(os.path.join(self.folder, name), "rb") as file:
                return loads(file.read())
        except (OSError, ValueError, RecursionError):
            return None

    @property
    def damaged(self) -> int:
        """Lines that are no events."""
        return self.state.damaged

    def problems(self) -> list[str]:
        """What is wrong with the directory, in words."""
        said = []
        for segment in self.segments:
            name = os.path.basename(segment.path)
            if segment.damaged:
                said.append(f"{name}: {segment.damaged} damaged line{'s' if segment.damaged > 1 else ''}, skipped")
            if segment.unfinished and not self.is_open(segment.number):
                said.append(f"{name}: the last line is cut off")
        for name in ("metadata.json", "result.json"):
            if os.path.exists(os.path.join(self.folder, name)) and self._json(name) is None:
                said.append(f"{name}: no JSON")
        for event in self.others.named("journal.overflow"):
            lost = event.data.get("dropped")
            said.append(
                f"{lost} events were not written" if lost else "the journal reached its limit: later events are lost"
            )
        return said

    def agent(self, id_: str) -> Agent | None:
        """The agent of an id; of several segments that have one, the last."""
        rows = self.agents.rows_of(id_)
        return Agent(self, rows[-1]) if rows else None

    def events(self) -> Iterator[Event]:
        """All events from the beginning, read again: everything as it stands in the files. Raises OSError."""
        for number in range(len(segment_files(self.folder))):
            yield from self.events_of(number)

    def events_of(self, segment: int) -> Iterator[Event]:
        """Those of one segment."""
        for offset, fields in Segment(self.folder, segment).fresh():
            yield Event(segment, offset, fields)
