"""Reading runs: what a run directory tells, as typed objects, while the run goes on and afterwards.

    run = open_run(".sema/runs", "wf_1")     # raises RunNotFound, ValueError for unsafe ids
    run.status, run.usage.cost_usd, [agent.model for agent in run.agents]
    run.refresh()                            # takes in what was written since

Nothing but the directory is needed. Lines that are damaged are counted and skipped, events of newer versions are kept
as they are (`run.others`), files that are missing are None. Texts (prompts, outputs, values) are read when they are
asked for, so that a run of a million events takes a few seconds and some dozens of bytes an event.
"""

from __future__ import annotations

import json
import os

from sema_runtime.workflow.journal import safe_id
from sema_runtime.workflow.segments import Event, Segment, segment_name
from sema_runtime.workflow.tables import (
    OK,
    OTHER,
    RUNNING,
    STATUSES,
    Agent,
    Agents,
    Checkpoints,
    Others,
    ToolCalls,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

LARGEST = 1 << 53  # numbers beyond this are taken for damage


class RunNotFound(Exception):
    """There is no such run; the message says where it was looked for."""


def run_ids(root: str) -> list[str]:
    """The runs in a directory, the one that was written to last first. [] when there is no directory."""
    found = []
    try:
        with os.scandir(root) as entries:
            for entry in entries:
                files = segment_files(entry.path)
                if files:
                    found.append((-_changed(files[-1]), entry.name))
    except OSError:
        return []
    return [name for _, name in sorted(found)]


def segment_files(folder: str) -> list[str]:
    """The files of a run's journal, in order; [] when the folder is no run."""
    found: list[str] = []
    while os.path.isfile(path := os.path.join(folder, segment_name(len(found)))):
        found.append(path)
    return found


def is_held(folder: str) -> bool | None:
    """Whether a process of ours is writing a run: it locks the journal. None where the system doesn't tell. Looks, and
    doesn't try the lock, which would stand in the way of a resume."""
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


def open_run(root: str, run_id: str) -> Run:
    """A run of a directory of runs. Raises ValueError when the id is no safe name, RunNotFound when it isn't there."""
    folder = os.path.join(root, safe_id(run_id))
    if not segment_files(folder):
        raise RunNotFound(f"no run '{run_id}' in {root}")
    run = Run(folder)
    run.refresh()
    return run


class Usage:
    """What calls to models used. cost_usd: of those whose price is known, None when there are none."""

    __slots__ = ("calls", "cost_usd", "input_tokens", "output_tokens", "unpriced")

    def __init__(self) -> None:
        self.calls = self.unpriced = self.input_tokens = self.output_tokens = 0
        self.cost_usd: float | None = None

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def add(self, read: int, written: int, cost: float | None) -> None:
        self.calls += 1
        self.input_tokens += read
        self.output_tokens += written
        if cost is None:
            self.unpriced += 1
        else:
            self.cost_usd = cost + (self.cost_usd or 0.0)


class Phase:
    """One opening of a phase. ended_ms: since the start of the run (of its segment), None while it is open."""

    __slots__ = (
        "agents",
        "checkpoints",
        "ended_ms",
        "failed",
        "finished",
        "name",
        "segment",
        "seq",
        "status",
        "ts",
        "usage",
    )

    def __init__(self, name: str, segment: int, seq: int, ts: str) -> None:
        self.name = name
        self.segment = segment
        self.seq = seq
        self.ts = ts
        self.status = "running"
        self.ended_ms: int | None = None
        self.agents = self.finished = self.failed = self.checkpoints = 0
        self.usage = Usage()


class Run:
    """A run. Everything is empty until `refresh`."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.id = os.path.basename(os.path.normpath(folder))
        self._begin()

    def _begin(self) -> None:
        self.segments: list[Segment] = []
        self.workflow = self.embedded_id = self.args_json = self.code_version = ""
        self.declared_phases: list[str] = []
        self.started = self.ended = self.reason = ""
        self.duration_ms: int | None = None
        self.status = "running"  # of the last segment
        self.phases: list[Phase] = []
        self.agents = Agents(self)
        self.tool_calls = ToolCalls(self)
        self.checkpoints = Checkpoints(self)
        self.others = Others(self)
        self.usage = Usage()
        self.events_read = 0
        self.token_limit: int | None = None
        self._open: dict[str, int] = {}  # rows of the agents of the segment that is read, by id
        self._first_phase = 0  # number of the first phase of the segment that is read

    # Reading

    def refresh(self) -> int:
        """Takes in what was written since the last time; the number of new events. A journal that has become shorter,
        or was replaced, is read anew. Raises OSError when it can't be read."""
        if any(not os.path.exists(one.path) or os.path.getsize(one.path) < one.read for one in self.segments):
            self._begin()
        before = self.events_read
        if self.segments:
            self._take(self.segments[-1])
        while os.path.isfile(os.path.join(self.folder, segment_name(len(self.segments)))):
            segment = Segment(self.folder, len(self.segments))
            self.segments.append(segment)
            self._open = {}
            self._first_phase = len(self.phases)
            self._take(segment)
        return self.events_read - before

    def _take(self, segment: Segment) -> None:
        number = segment.number
        handlers = HANDLERS
        count = 0
        for offset, fields in segment.fresh():
            count += 1
            handler = handlers.get(fields["event"])
            try:
                if handler is None:
                    self.others.add(number, offset, fields["event"])
                else:
                    handler(self, number, offset, fields)
            except (KeyError, TypeError, ValueError, AttributeError):  # an event that lacks what makes it one
                self.others.add(number, offset, fields["event"])
        self.events_read += count

    def _run_started(self, segment: int, offset: int, fields: dict[str, Any]) -> None:
        workflow, run_id = _text(fields, "workflow"), _text(fields, "run_id")
        phases = fields.get("phases")
        self.workflow, self.embedded_id = workflow, run_id
        self.args_json, self.code_version = _text(fields, "args_json"), _text(fields, "code_version")
        self.declared_phases = [name for name in phases if type(name) is str] if type(phases) is list else []
        self.started = self.started or _text(fields, "ts")
        self.status, self.reason, self.ended, self.duration_ms = "running", "", "", None

    def _run_ended(self, segment: int, offset: int, fields: dict[str, Any]) -> None:
        self.status = _text(fields, "status") or "ended"
        self.reason, self.ended = _text(fields, "reason"), _text(fields, "ts")
        self.duration_ms = _count(fields.get("dur_ms"))

    def _phase_started(self, segment: int, offset: int, fields: dict[str, Any]) -> None:
        self.phases.append(Phase(str(fields["phase"]), segment, _count(fields.get("seq")), _text(fields, "ts")))

    def _phase_ended(self, segment: int, offset: int, fields: dict[str, Any]) -> None:
        name = fields["phase"]
        for number in range(len(self.phases) - 1, self._first_phase - 1, -1):
            phase = self.phases[number]
            if phase.name == name and phase.status == "running":
                phase.status = _text(fields, "status")
                phase.ended_ms = _count(fields.get("dur_ms"))
                return

    def _phase(self) -> int:
        """The number of the phase that was opened last in this segment, -1 without."""
        last = len(self.phases) - 1
        return last if last >= self._first_phase else -1

    def _agent_started(self, segment: int, offset: int, fields: dict[str, Any]) -> None:
        id_, name, phase = fields["agent_id"], fields["agent_name"], self._phase()
        if type(id_) is not str or type(name) is not str:
            raise TypeError
        self._open[id_] = self.agents.add(segment, offset, phase, id_, name, _text(fields, "model"))
        if phase >= 0:
            self.phases[phase].agents += 1

    def _agent_result(self, segment: int, offset: int, fields: dict[str, Any]) -> None:
        row = self._open[fields["agent_id"]]
        agents = self.agents
        status = STATUSES.get(fields["status"], OTHER)
        model = _text(fields, "model")
        if agents.status[row] == RUNNING and agents.phase[row] >= 0:
            phase = self.phases[agents.phase[row]]
            phase.finished += 1
            phase.failed += status != OK
        agents.status[row] = status
        agents.result[row] = offset
        agents.duration[row] = _count(fields.get("dur_ms"))
        if model:
            agents.model[row] = agents.models.number(model)

    def _tool_call(self, segment: int, offset: int, fields: dict[str, Any]) -> None:
        row = self._open.get(fields["agent_id"], -1)
        self.tool_calls.add(segment, offset, row, str(fields["tool_name"]))
        if row >= 0:
            self.agents.tools[row] += 1

    def _checkpoint(self, segment: int, offset: int, fields: dict[str, Any]) -> None:
        phase = self._phase()
        self.checkpoints.add(segment, offset, phase, str(fields["key"]))
        if phase >= 0:
            self.phases[phase].checkpoints += 1

    def _budget(self, segment: int, offset: int, fields: dict[str, Any]) -> None:
        read, written, cost = (
            _count(fields.get("input_tokens")),
            _count(fields.get("output_tokens")),
            fields.get("cost_usd"),
        )
        if type(cost) is not float:
            cost = float(cost) if type(cost) is int else None
        row = self._open.get(fields.get("agent_id", ""), -1)
        phase = self._phase()
        if row >= 0:
            agents = self.agents
            phase = agents.phase[row]
            agents.input[row] += read
            agents.output[row] += written
            if cost is not None:
                known = agents.cost[row]
                agents.cost[row] = cost if known != known else known + cost
        if phase >= 0:
            self.phases[phase].usage.add(read, written, cost)
        self.usage.add(read, written, cost)
        if "budget_limit" in fields:
            self.token_limit = _count(fields["budget_limit"])

    # What is there besides

    def is_open(self, segment: int) -> bool:
        """Whether a segment is still being written, as far as the journal tells."""
        return segment == len(self.segments) - 1 and self.status == "running"

    @property
    def metadata(self) -> dict[str, Any] | None:
        """metadata.json; None when it is missing or damaged."""
        found = self._json("metadata.json")
        return found if type(found) is dict else None

    @property
    def result(self) -> Any:
        """result.json: the envelope of the last run; None when it is missing or damaged."""
        return self._json("result.json")

    def _json(self, name: str) -> Any:
        try:
            with open(os.path.join(self.folder, name), "rb") as file:
                return json.loads(file.read())
        except (OSError, ValueError, RecursionError):
            return None

    @property
    def damaged(self) -> int:
        """Lines that are no events."""
        return sum(segment.damaged for segment in self.segments)

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
        for number in range(len(self.segments)):
            yield from self.events_of(number)

    def events_of(self, segment: int) -> Iterator[Event]:
        """Those of one segment."""
        for offset, fields in Segment(self.folder, segment).fresh():
            yield Event(segment, offset, fields)


HANDLERS: dict[str, Callable[[Run, int, int, dict[str, Any]], None]] = {
    "run.started": Run._run_started,
    "run.ended": Run._run_ended,
    "phase.started": Run._phase_started,
    "phase.ended": Run._phase_ended,
    "agent.started": Run._agent_started,
    "agent.result": Run._agent_result,
    "agent.tool_call": Run._tool_call,
    "checkpoint": Run._checkpoint,
    "budget": Run._budget,
}


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if type(value) is str else ""


def _count(value: Any) -> int:
    return value if type(value) is int and 0 <= value < LARGEST else 0
