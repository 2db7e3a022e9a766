"""What the viewer knows of one run, folded event by event from its journal into columns: some 15 bytes an event and
100 an agent, texts stay in the file. Times are milliseconds on the run's own clock (see `Clock`)."""

from __future__ import annotations

import heapq
from array import array
from math import isfinite, nan

from sema_runtime.workflow.viewer.clock import Clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RUNNING, OK, FAILED, INTERRUPTED = range(4)
STATUS = ("running", "ok", "failed", "interrupted")
NOBODY = -1
DAMAGED = "damaged"
CALL = "agent.tool_call"
BEFORE = ""  # the name of the phase of what comes before the first phase
MOST_KINDS = 255  # a kind is a byte; what a hostile journal has beyond that counts as the last one
MOST_INT = 1 << 62


class Phase:
    """A phase and what happened while it was open. items: an agent's number, or -1 - a checkpoint's number."""

    def __init__(self, number: int, name: str) -> None:
        self.number = number
        self.name = name
        self.status = "pending"
        self.started: float | None = None
        self.ended: float | None = None
        self.items = array("i")
        self.agents = self.finished = self.failed = self.checkpoints = 0
        self.tokens = 0
        self.cost = nan
        self.unpriced = 0


class Agents:
    """The agents of a run, a column each."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.name = array("I")
        self.model = array("I")
        self.phase = array("I")
        self.segment = array("H")
        self.lane = array("I")
        self.status = array("B")
        self.start = array("d")
        self.duration = array("d")  # -1 before the result
        self.input = array("Q")
        self.output = array("Q")
        self.cost = array("d")  # NaN: nothing known
        self.unpriced = array("I")  # budgets without a cost
        self.tools = array("I")
        self.last = array("I")  # its latest event; the others by State.previous

    def __len__(self) -> int:
        return len(self.ids)


class Words:
    """Texts by number, each kept once."""

    def __init__(self, *first: str) -> None:
        self.texts = list(first)
        self.numbers = {text: number for number, text in enumerate(first)}

    def number(self, text: Any) -> int:
        if not isinstance(text, str):
            return 0
        found = self.numbers.get(text)
        if found is None:
            found = self.numbers[text] = len(self.texts)
            self.texts.append(text)
        return found


class State:
    """A run as far as its journal has been folded. Every event has a number, counted over all segments."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.kinds = Words(DAMAGED, CALL)
        self.call_kind = self.kinds.numbers[CALL]
        self.kind = array("B")
        self.offset = array("Q")  # where its line begins in the file of its segment
        self.owner = array("i")  # the agent it belongs to, or NOBODY
        self.previous = array("i")  # the event before it of the same agent, or -1
        self.segments: list[dict[str, Any]] = []  # {first, started, workflow ...}: one for each file
        self.agents = Agents()
        self.words = Words("")
        self.phases: list[Phase] = []
        self.named: dict[tuple[str, int], Phase] = {}  # by name, and how often it was opened before and with it
        self.checkpoint_event = array("I")
        self.checkpoint_keys: list[str] = []
        self.checkpoint_phase = array("I")
        self.status = "running"
        self.reason: str | None = None
        self.started_ts: str | None = None
        self.ended_ts: str | None = None
        self.begun: dict[str, Any] = {}  # run.started of the first segment
        self.tokens_in = self.tokens_out = 0
        self.cost = nan
        self.unpriced = 0
        self.finished = self.failed = self.most_parallel = 0
        self.budget_limit: int | None = None
        self.overflow: dict[str, int] = {}  # reason of journal.overflow: what was lost
        self.policy: dict[str, int] = {}  # policy.* and approval.* events: how many
        self.damaged = 0
        self._fresh_segment()

    def _fresh_segment(self) -> None:
        self.open: dict[str, int] = {}  # agent ids of this segment
        self.running: set[int] = set()
        self.free: list[int] = []  # lanes nobody is in, a heap
        self.lanes = 0
        self.phase: Phase | None = None
        self.times: dict[str, int] = {}  # how often a phase was opened in this segment

    # Segments

    def begin_segment(self) -> None:
        """The events that follow are those of the next file: agents that run now were cut off."""
        for number in self.running:
            self.agents.status[number] = INTERRUPTED
            self.agents.duration[number] = max(0.0, self.clock.now - self.agents.start[number])
        if self.phase is not None and self.phase.status == "running":
            self.phase.status = "interrupted"
            self.phase.ended = self.clock.now
        self.clock.begin_segment()
        self._fresh_segment()
        self.segments.append({"first": len(self.kind), "at": self.clock.now, "started": None})
        self.status, self.reason, self.ended_ts = "running", None, None

    def segment_of(self, event: int) -> int:
        """The segment an event stands in."""
        at = len(self.segments) - 1
        while at > 0 and self.segments[at]["first"] > event:
            at -= 1
        return at

    # Events

    def add(self, offset: int, event: Any) -> None:
        """Folds the event whose line begins at an offset of the current segment; None for a damaged line."""
        number = len(self.kind)
        self.offset.append(offset)
        name = event.get("event") if type(event) is dict else None
        if type(name) is not str:
            self.damaged += 1
            self.kind.append(0)
            self.owner.append(NOBODY)
            self.previous.append(-1)
            return
        stamp = event.get("ts")
        if stamp != self.clock.last:
            self.clock.see(stamp)
        kind = self.kinds.numbers.get(name)
        if kind is None:
            kind = self.kinds.number(name) if len(self.kinds.texts) < MOST_KINDS else MOST_KINDS - 1
        self.kind.append(kind)
        owner = NOBODY
        who = event.get("agent_id")
        if type(who) is str:
            if name == "agent.started":
                owner = self._start(who, event)
            else:
                owner = self.open.get(who, NOBODY)
        self.owner.append(owner)
        if owner == NOBODY:
            self.previous.append(-1)
        else:
            last = self.agents.last
            self.previous.append(last[owner] if name != "agent.started" else -1)
            last[owner] = number
            if name == CALL:
                self.agents.tools[owner] += 1
                return
            if name == "agent.started":
                return
        fold = FOLDS.get(name)
        if fold is not None:
            fold(self, event, owner)
        elif name.startswith(("policy.", "approval.")):
            self.policy[name] = self.policy.get(name, 0) + 1

    def add_call(self, offset: int, stamp: str, who: str) -> None:
        """The same for an `agent.tool_call`, of which journals have the most."""
        if stamp != self.clock.last:
            self.clock.see(stamp)
        owner = self.open.get(who, NOBODY)
        number = len(self.kind)
        self.offset.append(offset)
        self.kind.append(self.call_kind)
        self.owner.append(owner)
        if owner == NOBODY:
            self.previous.append(-1)
            return
        agents = self.agents
        self.previous.append(agents.last[owner])
        agents.last[owner] = number
        agents.tools[owner] += 1

    def _start(self, who: str, event: dict[str, Any]) -> int:
        agents = self.agents
        number = len(agents)
        self.open[who] = number
        self.running.add(number)
        phase = self._phase_now()
        phase.items.append(number)
        phase.agents += 1
        if self.free:
            lane = heapq.heappop(self.free)
        else:
            lane = self.lanes
            self.lanes += 1
            self.most_parallel = max(self.most_parallel, self.lanes)
        agents.ids.append(who)
        agents.name.append(self.words.number(event.get("agent_name")))
        agents.model.append(self.words.number(event.get("model")))
        agents.phase.append(phase.number)
        agents.segment.append(min(len(self.segments), 65535) - 1)
        agents.lane.append(lane)
        agents.status.append(RUNNING)
        agents.start.append(self.clock.now)
        agents.duration.append(-1)
        agents.input.append(0)
        agents.output.append(0)
        agents.cost.append(nan)
        agents.unpriced.append(0)
        agents.tools.append(0)
        agents.last.append(0)
        return number

    def _result(self, event: dict[str, Any], owner: int) -> None:
        if owner not in self.running:
            return
        self.running.discard(owner)
        agents = self.agents
        took = count(event.get("dur_ms"))
        self.clock.reach(agents.start[owner] + took)
        ok = event.get("status") == "ok"
        agents.status[owner] = OK if ok else FAILED
        agents.duration[owner] = took
        agents.model[owner] = self.words.number(event.get("model")) or agents.model[owner]
        heapq.heappush(self.free, agents.lane[owner])
        phase = self.phases[agents.phase[owner]]
        self.finished += 1
        phase.finished += 1
        if not ok:
            self.failed += 1
            phase.failed += 1

    def _budget(self, event: dict[str, Any], owner: int) -> None:
        given, made = count(event.get("input_tokens")), count(event.get("output_tokens"))
        cost = event.get("cost_usd")
        self.tokens_in += given
        self.tokens_out += made
        phase = self._phase_now()
        if owner != NOBODY:
            agents = self.agents
            phase = self.phases[agents.phase[owner]]
            agents.input[owner] = min(agents.input[owner] + given, MOST_INT)
            agents.output[owner] = min(agents.output[owner] + made, MOST_INT)
        phase.tokens += given + made
        if (type(cost) is float or type(cost) is int) and isfinite(cost):
            self.cost = plus(self.cost, cost)
            phase.cost = plus(phase.cost, cost)
            if owner != NOBODY:
                agents.cost[owner] = plus(agents.cost[owner], cost)
        else:
            self.unpriced += 1
            phase.unpriced += 1
            if owner != NOBODY:
                agents.unpriced[owner] += 1
        if event.get("budget_limit") is not None:
            self.budget_limit = count(event["budget_limit"])

    def _checkpoint(self, event: dict[str, Any], owner: int) -> None:
        phase = self._phase_now()
        key = event.get("key")
        phase.items.append(-1 - len(self.checkpoint_keys))
        phase.checkpoints += 1
        self.checkpoint_keys.append(key if isinstance(key, str) else "?")
        self.checkpoint_event.append(len(self.kind) - 1)
        self.checkpoint_phase.append(phase.number)

    # Phases

    def _phase_now(self) -> Phase:
        """The open phase; before the first one that of everything before it."""
        if self.phase is None:
            self.phase = self._phase_named(BEFORE)
        return self.phase

    def _phase_named(self, name: str) -> Phase:
        """The phase of a name: opened for the n-th time in this segment, it is the n-th of that name in the run."""
        turn = self.times[name] = self.times.get(name, 0) + 1
        phase = self.named.get((name, turn)) or self._new_phase(name, turn)
        phase.status = "running"
        phase.ended = None
        if phase.started is None:
            phase.started = self.clock.now
        return phase

    def _new_phase(self, name: str, turn: int) -> Phase:
        phase = self.named[name, turn] = Phase(len(self.phases), name)
        self.phases.append(phase)
        return phase

    def _phase_started(self, event: dict[str, Any], owner: int) -> None:
        if self.phase is not None and self.phase.name == BEFORE:
            self._close(self.phase, "success")
        name = event.get("phase")
        self.phase = self._phase_named(name if isinstance(name, str) else "?")

    def _phase_ended(self, event: dict[str, Any], owner: int) -> None:
        self.clock.reach_in_segment(count(event.get("dur_ms")))
        if self.phase is not None:
            status = event.get("status")
            self._close(self.phase, status if isinstance(status, str) else "success")

    def _close(self, phase: Phase, status: str) -> None:
        phase.status = status
        phase.ended = self.clock.now

    # The run

    def _run_started(self, event: dict[str, Any], owner: int) -> None:
        if not self.segments:
            self.begin_segment()
        self.segments[-1]["started"] = event.get("ts")
        if self.begun:
            return
        self.begun = {key: event.get(key) for key in ("workflow", "run_id", "code_version", "args_json")}
        started = event.get("ts")
        self.started_ts = started if isinstance(started, str) else None
        phases = event.get("phases")
        declared: dict[str, int] = {}
        for name in phases if isinstance(phases, list) else ():
            if isinstance(name, str):
                turn = declared[name] = declared.get(name, 0) + 1
                self._new_phase(name, turn)

    def _run_ended(self, event: dict[str, Any], owner: int) -> None:
        self.clock.reach_in_segment(count(event.get("dur_ms")))
        status, reason, ended = event.get("status"), event.get("reason"), event.get("ts")
        self.status = status if isinstance(status, str) else "failed"
        self.reason = reason if isinstance(reason, str) else None
        self.ended_ts = ended if isinstance(ended, str) else None
        if self.phase is not None and self.phase.name == BEFORE:
            self._close(self.phase, self.status)

    def _overflow(self, event: dict[str, Any], owner: int) -> None:
        why = str(event.get("reason"))
        lost = event.get("dropped", event.get("bytes"))
        self.overflow[why] = self.overflow.get(why, 0) + count(lost)


FOLDS = {
    "agent.result": State._result,
    "budget": State._budget,
    "checkpoint": State._checkpoint,
    "phase.started": State._phase_started,
    "phase.ended": State._phase_ended,
    "run.started": State._run_started,
    "run.ended": State._run_ended,
    "journal.overflow": State._overflow,
}


def count(value: Any) -> int:
    """A number of a journal as a count: anything else than one is 0."""
    if type(value) is int:
        return value if 0 <= value < MOST_INT else 0
    return int(value) if type(value) is float and 0 <= value < MOST_INT else 0


def plus(known: float, cost: float) -> float:
    """The sum of costs, where NaN is nothing known yet."""
    return cost if known != known else known + cost
