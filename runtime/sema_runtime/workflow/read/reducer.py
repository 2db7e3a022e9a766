"""The state of a run, reduced from its journal event by event.

This is the one place that knows what events mean to readers: the typed objects (`recorded_run`), the viewer and the
commands all use `RunState`. A field of an event may hold anything: what the format doesn't allow counts as absent.
"""

from __future__ import annotations

from array import array
from itertools import islice
from math import isfinite

from sema_runtime.workflow.journal.clock import Clock
from sema_runtime.workflow.read.columns import (
    FAILED,
    INTERRUPTED,
    MOST_INT,
    NOBODY,
    OK,
    OTHER,
    RUNNING,
    STATUSES,
    Agents,
    Usage,
    Words,
    count,
    text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Fields = dict[str, Any]

DAMAGED, CALL, BUDGET, RESULT, STARTED, CHECKPOINT = range(6)  # numbers of kinds of events
KINDS = ("damaged", "agent.tool_call", "budget", "agent.result", "agent.started", "checkpoint")
MOST_KINDS = 255  # a kind is a byte; the kinds of a hostile journal beyond that count as the last one
BEFORE = None  # the name of the phase of what comes before the first phase


class Phase:
    """One opening of a phase. name: None for the events of a segment before its first phase. ended_ms: since the start
    of the run (of its segment), None while the phase is open. began, closed: on the run's clock. loose: what was used
    while it was open by no known agent."""

    __slots__ = (
        "began",
        "closed",
        "ended_ms",
        "first_agent",
        "first_checkpoint",
        "loose",
        "name",
        "number",
        "segment",
        "seq",
        "state",
        "status",
        "ts",
    )

    def __init__(self, state: RunState, name: str | None) -> None:
        self.state = state
        self.number = len(state.phases)  # among all openings of the run
        self.name = name
        self.segment = len(state.segments) - 1
        self.seq = 0
        self.ts = ""
        self.status = "running"
        self.ended_ms: int | None = None
        self.began = state.clock.now
        self.closed: float | None = None
        self.first_agent, self.first_checkpoint = len(state.agents), len(state.checkpoint_event)
        self.loose: Usage | None = None

    def rows(self) -> range:
        """The agents that started while it was open."""
        phases = self.state.phases
        last = self.number + 1 == len(phases)
        return range(self.first_agent, len(self.state.agents) if last else phases[self.number + 1].first_agent)

    def checkpoint_rows(self) -> range:
        state = self.state
        last = self.number + 1 == len(state.phases)
        end = len(state.checkpoint_event) if last else state.phases[self.number + 1].first_checkpoint
        return range(self.first_checkpoint, end)

    def items(self, agents: int = 0, checkpoints: int = 0) -> list[int]:
        """Its agents and checkpoints in the order of the journal: an agent's row, or -1 - a checkpoint's row. agents,
        checkpoints: how many of the first ones to leave out."""
        state = self.state
        rows, more = list(self.rows()[agents:]), self.checkpoint_rows()[checkpoints:]
        if not more:
            return rows
        placed = [(state.agents.event[row], row) for row in rows]
        placed += [(state.checkpoint_event[row], -1 - row) for row in more]
        return [item for _, item in sorted(placed)]

    @property
    def agents(self) -> int:
        return len(self.rows())

    @property
    def checkpoints(self) -> int:
        return len(self.checkpoint_rows())

    @property
    def failed(self) -> int:
        count, rows = self.state.agents.count, self.rows()
        return count(FAILED, rows) + count(OTHER, rows)

    @property
    def finished(self) -> int:
        return self.failed + self.state.agents.count(OK, self.rows())

    @property
    def usage(self) -> Usage:
        return self.state.agents.usage(self.rows(), self.loose or Usage())


class RunState:
    """A run as far as its journal has been read. Every line has a number, counted over all segments, damaged ones too.

    kind, owner: of each line, its kind and the row of the agent it belongs to. segments: {first, at, started} of each
    file. begun, latest: run.started of the first and of the last segment. open: rows of the agents of this segment."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.earlier_ms = 0.0  # how long the segments before this one took
        self.kinds = Words(*KINDS)
        self.kind = bytearray()
        self.owner = array("i")
        self.segments: list[Fields] = []
        self.agents = Agents()
        self.words = Words("")
        self.phases: list[Phase] = []
        self.checkpoint_event = array("I")
        self.checkpoint_key = array("I")  # numbers of words
        self.checkpoint_phase = array("I")
        self.begun: Fields = {}
        self.latest: Fields = {}
        self.started = ""
        self.most_parallel = 0
        self.token_limit: int | None = None
        self.overflow: dict[str, int] = {}  # reason of journal.overflow: what was lost
        self.damaged = 0
        self._reset_segment()

    def _reset_segment(self) -> None:
        self.open: dict[str, int] = {}  # by agent id
        self.first_agent, self.first_phase = len(self.agents), len(self.phases)
        self.running = 0  # agents
        self.status, self.reason, self.ended = "running", "", ""  # of the segment
        self.duration_ms: int | None = None

    def begin_segment(self) -> None:
        """Starts the next file. Agents that still run were interrupted."""
        agents, now = self.agents, self.clock.now
        for row in range(self.first_agent, len(agents)) if self.running else ():
            if agents.status[row] == RUNNING:
                agents.status[row] = INTERRUPTED
                agents.duration[row] = max(0.0, now - agents.start[row])
        if self.phases and self.phases[-1].status == "running":
            self._close(self.phases[-1], "interrupted")
        self.earlier_ms = self.elapsed_ms
        self.clock.begin_segment()
        self._reset_segment()
        self.segments.append({"first": len(self.kind), "at": now, "started": None})

    # What the columns say

    def segment_of(self, event: int) -> int:
        """The segment of an event."""
        at = len(self.segments) - 1
        while at > 0 and self.segments[at]["first"] > event:
            at -= 1
        return at

    def events_of(self, agent: int) -> list[int]:
        """The events of an agent, in order."""
        owner = self.owner
        numbers: list[int] = []
        at = self.agents.event[agent]
        following = self.segment_of(at) + 1
        end = self.segments[following]["first"] if following < len(self.segments) else len(owner)
        while True:
            try:
                at = owner.index(agent, at, end)
            except ValueError:
                return numbers
            numbers.append(at)
            at += 1

    def kind_name(self, event: int) -> str:
        return self.kinds.texts[self.kind[event]]

    def counts(self) -> dict[str, int]:
        """How many events there are of each kind, damaged lines among them."""
        return {name: many for number, name in enumerate(self.kinds.texts) if (many := self.kind.count(number))}

    @property
    def elapsed_ms(self) -> float:
        """How long the run was at work in all its segments. One without an end counts as far as its events go."""
        part = self.clock.now - self.clock.base if self.duration_ms is None else self.duration_ms
        return self.earlier_ms + part

    @property
    def failed(self) -> int:
        rows = range(len(self.agents))
        return self.agents.count(FAILED, rows) + self.agents.count(OTHER, rows)

    @property
    def finished(self) -> int:
        return self.failed + self.agents.count(OK, range(len(self.agents)))

    @property
    def usage(self) -> Usage:
        total = self.agents.usage(range(len(self.agents)), Usage())
        for phase in self.phases:
            if phase.loose is not None:
                total.join(phase.loose)
        return total

    # Events

    def apply(self, events: Iterable[Fields | None]) -> None:
        """Applies events in order; None stands for a damaged line."""
        clock, rows, add_kind, add_owner = self.clock, self.open, self.kind.append, self.owner.append
        kinds = self.kinds
        for fields in events:
            if fields is None:
                self.damaged += 1
                add_kind(DAMAGED)
                add_owner(NOBODY)
                continue
            if (stamp := fields.get("ts")) != clock.last and stamp:
                clock.see(stamp)
            name = fields["event"]
            agent_id = fields.get("agent_id")
            row = rows.get(agent_id, NOBODY) if type(agent_id) is str else NOBODY
            if name == "agent.started":
                row = self._agent_started(fields, agent_id)
            elif (handler := HANDLERS.get(name)) is not None:
                handler(self, fields, row)
            add_kind(kinds[name] if name in kinds or len(kinds) < MOST_KINDS else MOST_KINDS - 1)
            add_owner(row)

    # Agents

    def _agent_started(self, fields: Fields, agent_id: Any) -> int:
        if type(agent_id) is not str or not agent_id:
            return NOBODY
        words = self.words
        name, model = words[text(fields, "agent_name") or agent_id], words[text(fields, "model")]
        row = self.agents.add(agent_id, name, model, self._phase_now(), self.clock.now, len(self.kind))
        self.open[agent_id] = row
        self.running += 1
        if self.running > self.most_parallel:
            self.most_parallel = self.running
        return row

    def _agent_result(self, fields: Fields, row: int) -> None:
        agents = self.agents
        if row < 0 or agents.status[row] != RUNNING:  # the first one counts
            return
        agents.status[row] = STATUSES.get(text(fields, "status"), OTHER)
        agents.duration[row] = took = count(fields.get("dur_ms"))
        agents.result[row] = len(self.kind)
        if model := text(fields, "model"):
            agents.model[row] = self.words[model]
        self.running -= 1
        self.clock.reach(agents.start[row] + took)

    def _tool_call(self, fields: Fields, row: int) -> None:
        if row >= 0:
            self.agents.tools[row] += 1

    def _budget(self, fields: Fields, row: int) -> None:
        """Adds what an agent used; where the agent is unknown, to the open phase."""
        read, written, cost = count(fields.get("input_tokens")), count(fields.get("output_tokens")), _cost(fields)
        if (limit := fields.get("budget_limit")) is not None:
            self.token_limit = count(limit)
        if row < 0:
            phase = self.phases[self._phase_now()]
            phase.loose = (phase.loose or Usage()).add(1, cost is None, read, written, cost or 0.0)
            return
        agents = self.agents
        agents.input[row] += read
        agents.output[row] += written
        if cost is None:
            agents.unpriced[row] += 1
        else:
            agents.cost[row] += cost
            agents.priced[row] += 1

    def _checkpoint(self, fields: Fields, row: int) -> None:
        phase = self._phase_now()
        self.checkpoint_key.append(self.words[text(fields, "key") or "?"])
        self.checkpoint_event.append(len(self.kind))
        self.checkpoint_phase.append(phase)

    # Phases

    def _phase_now(self) -> int:
        """The number of the open phase; before the first one of a segment, that of everything before it."""
        if len(self.phases) == self.first_phase:
            self.phases.append(Phase(self, BEFORE))
        return len(self.phases) - 1

    def _close(self, phase: Phase, status: str) -> None:
        phase.status = status
        phase.closed = self.clock.now

    def _close_last(self, status: str, *, named: bool) -> None:
        """Closes the open phase, if no event has. named: also one that has a name, at the end of a run."""
        phase = self.phases[-1] if len(self.phases) > self.first_phase else None
        if phase is not None and phase.closed is None and (named or phase.name is BEFORE):
            self._close(phase, status)

    def _phase_started(self, fields: Fields, row: int) -> None:
        self._close_last("success", named=False)
        phase = Phase(self, text(fields, "phase") or "?")
        phase.seq, phase.ts = count(fields.get("seq")), text(fields, "ts")
        self.phases.append(phase)

    def _phase_ended(self, fields: Fields, row: int) -> None:
        took = count(fields.get("dur_ms"))
        self.clock.reach_in_segment(took)
        name = text(fields, "phase") or "?"
        for phase in islice(reversed(self.phases), len(self.phases) - self.first_phase):
            if phase.name == name and phase.status == "running":
                self._close(phase, text(fields, "status") or "success")
                phase.ended_ms = took
                return

    # The run

    def _run_started(self, fields: Fields, row: int) -> None:
        phases = fields.get("phases")
        names = "ts", "workflow", "run_id", "code_version", "args_json"
        start: Fields = {name: text(fields, name) for name in names}
        start["phases"] = [name for name in phases if type(name) is str] if type(phases) is list else []
        self.segments[-1]["started"] = start["ts"] or None
        self.begun = self.begun or start
        self.latest = start
        self.started = self.started or start["ts"]

    def _run_ended(self, fields: Fields, row: int) -> None:
        took = count(fields.get("dur_ms"))
        self.clock.reach_in_segment(took)
        self.status = text(fields, "status") or "failed"
        self.reason, self.ended, self.duration_ms = text(fields, "reason"), text(fields, "ts"), took
        self._close_last(self.status, named=True)

    def _overflow(self, fields: Fields, row: int) -> None:
        reason = str(fields.get("reason"))
        self.overflow[reason] = self.overflow.get(reason, 0) + count(fields.get("dropped", fields.get("bytes")))


HANDLERS: dict[str, Callable[[RunState, Fields, int], None]] = {
    "agent.result": RunState._agent_result,
    "agent.tool_call": RunState._tool_call,
    "budget": RunState._budget,
    "checkpoint": RunState._checkpoint,
    "phase.started": RunState._phase_started,
    "phase.ended": RunState._phase_ended,
    "run.started": RunState._run_started,
    "run.ended": RunState._run_ended,
    "journal.overflow": RunState._overflow,
}
"""What applies the events that mean something, by their names, but for `agent.started`."""


def _cost(fields: Fields) -> float | None:
    """The cost of an event; None when there is none."""
    cost = fields.get("cost_usd")
    if (type(cost) is float or type(cost) is int) and -MOST_INT < cost < MOST_INT and isfinite(cost):
        return float(cost)
    return None
