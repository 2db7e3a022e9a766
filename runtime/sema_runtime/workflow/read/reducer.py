"""A run folded from its journal, event by event: what there is and how far it is. The one place that knows what events
mean to those who read them: the typed objects (`reading`), the viewer, the commands.

Most lines come as records, which are the fields that `lines` has taken from them. A line that isn't of the form is
taken apart by itself, and becomes a record if it is an event that has one. What can be told from columns isn't counted.
"""

from __future__ import annotations

from array import array
from itertools import islice
from math import isfinite

from sema_runtime.workflow.journal.clock import Clock
from sema_runtime.workflow.journal.parser import BY_FORM, fields_of, is_text, is_word, taking
from sema_runtime.workflow.read.columns import (
    FAILED,
    INTERRUPTED,
    MOST_INT,
    NOBODY,
    OK,
    OTHER,
    RUNNING,
    Agents,
    Usage,
    Words,
    bytes_of,
    count,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Records = list[tuple[bytes, ...]]

DAMAGED, CALL, BUDGET, RESULT, STARTED, CHECKPOINT = range(6)
FIRST = (b"damaged", b"agent.tool_call", b"budget", b"agent.result", b"agent.started", b"checkpoint")
KNOWN = (*FIRST, *sorted(BY_FORM.difference(FIRST)))  # kinds that have their numbers from the beginning
BY_NAME = {name: number for number, name in enumerate(KNOWN)}
MOST_KINDS = 255  # a kind is a byte; what a hostile journal has beyond that counts as the last one
STATUSES = {b"ok": OK, b"failed": FAILED}
NOT_LOOKED_UP = -1
BEFORE = None  # the name of the phase of what comes before the first phase
RECORD = (
    "event", "is_result", "ts", "agent_id", "agent_name", "asked_model", "status", "dur_ms", "model", "next_seq",
    "is_alone", "input", "output", "cost", "limit", "key",
)  # fmt: skip
KIND, _, STAMP, WHO, NAME, ASKED, STATUS, TOOK, MODEL, NEXT, _, INPUT, OUTPUT, COST, LIMIT, KEY = range(len(RECORD))
records_of = taking(*RECORD)


class Phase:
    """One opening of a phase. ended_ms: since the start of the run (of its segment), None while it is open. name: None
    for what comes in a segment before its first phase. began, closed: on the run's clock."""

    __slots__ = (
        "began",
        "closed",
        "ended_ms",
        "first_agent",
        "first_checkpoint",
        "fold",
        "loose",
        "name",
        "number",
        "segment",
        "seq",
        "status",
        "ts",
    )

    def __init__(self, fold: Fold, name: str | None) -> None:
        self.fold = fold
        self.number = len(fold.phases)  # among all openings of the run
        self.name = name
        self.segment = len(fold.segments) - 1
        self.seq = 0
        self.ts = ""
        self.status = "running"
        self.ended_ms: int | None = None
        self.began = fold.clock.now
        self.closed: float | None = None
        self.first_agent, self.first_checkpoint = len(fold.agents), len(fold.checkpoint_event)
        self.loose: Usage | None = None  # what was used while it was open, by no agent that is known

    def rows(self) -> range:
        """Its agents: those that started while it was open."""
        phases = self.fold.phases
        last = self.number + 1 == len(phases)
        return range(self.first_agent, len(self.fold.agents) if last else phases[self.number + 1].first_agent)

    def checkpoint_rows(self) -> range:
        fold = self.fold
        last = self.number + 1 == len(fold.phases)
        end = len(fold.checkpoint_event) if last else fold.phases[self.number + 1].first_checkpoint
        return range(self.first_checkpoint, end)

    def items(self, agents: int = 0, checkpoints: int = 0) -> list[int]:
        """Its agents and checkpoints in the order of the journal, without the first ones: an agent's row, or -1 - a
        checkpoint's."""
        fold = self.fold
        rows, more = list(self.rows()[agents:]), self.checkpoint_rows()[checkpoints:]
        if not more:
            return rows
        placed = [(fold.agents.event[row], row) for row in rows]
        placed += [(fold.checkpoint_event[row], -1 - row) for row in more]
        return [item for _, item in sorted(placed)]

    @property
    def agents(self) -> int:
        return len(self.rows())

    @property
    def checkpoints(self) -> int:
        return len(self.checkpoint_rows())

    @property
    def failed(self) -> int:
        statuses, rows = self.fold.agents.statuses, self.rows()
        return statuses(FAILED, rows) + statuses(OTHER, rows)

    @property
    def finished(self) -> int:
        return self.failed + self.fold.agents.statuses(OK, self.rows())

    @property
    def usage(self) -> Usage:
        return self.fold.agents.usage(self.rows(), self.loose or Usage())


class Fold:
    """A run as far as its journal has been folded. Every event has a number, counted over all segments; a damaged line
    has one, too."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.earlier_ms = 0.0  # how long the segments before this one took
        self.kinds = Words(*KNOWN)
        self.kind = bytearray()  # of each event
        self.owner = array("i")  # the agent it belongs to, or NOBODY
        self.segments: list[dict[str, Any]] = []  # {first, at, started}: one for each file
        self.agents = Agents()
        self.words = Words(b"")
        self.phases: list[Phase] = []
        self.checkpoint_event = array("I")
        self.checkpoint_key = array("I")  # numbers of words
        self.checkpoint_phase = array("I")
        self.begun: dict[str, Any] = {}  # run.started of the first segment
        self.latest: dict[str, Any] = {}  # of the last one
        self.started = ""
        self.most_parallel = 0
        self.token_limit: int | None = None
        self.overflow: dict[str, int] = {}  # reason of journal.overflow: what was lost
        self.damaged = 0
        self._fresh_segment()

    def _fresh_segment(self) -> None:
        self.open: dict[bytes, int] = {}  # rows of the agents of this segment by id, but for those that are done
        self.done: dict[bytes, int] = {}  # those of the agents up to `known`: made when somebody asks for one
        self.known = len(self.agents)
        self.first_agent, self.first_phase = len(self.agents), len(self.phases)
        self.running = 0  # agents
        self.status, self.reason, self.ended = "running", "", ""  # of the segment
        self.duration_ms: int | None = None

    def begin_segment(self) -> None:
        """The events that follow are those of the next file: agents that run now were cut off."""
        agents, now = self.agents, self.clock.now
        for row in range(self.first_agent, len(agents)) if self.running else ():
            if agents.status[row] == RUNNING:
                agents.status[row] = INTERRUPTED
                agents.duration[row] = max(0.0, now - agents.start[row])
        if self.phases and self.phases[-1].status == "running":
            self._close(self.phases[-1], "interrupted")
        self.earlier_ms = self.elapsed_ms
        self.clock.begin_segment()
        self._fresh_segment()
        self.segments.append({"first": len(self.kind), "at": now, "started": None})

    # What the columns tell

    def segment_of(self, event: int) -> int:
        """The segment an event stands in."""
        at = len(self.segments) - 1
        while at > 0 and self.segments[at]["first"] > event:
            at -= 1
        return at

    def events_of(self, agent: int) -> list[int]:
        """The events of an agent, in order."""
        owner = self.owner
        found: list[int] = []
        at = self.agents.event[agent]
        last = self.segment_of(at) + 1
        end = self.segments[last]["first"] if last < len(self.segments) else len(owner)
        while True:
            try:
                at = owner.index(agent, at, end)
            except ValueError:
                return found
            found.append(at)
            at += 1

    def kind_name(self, event: int) -> str:
        return self.kinds.texts[self.kind[event]]

    def counts(self) -> dict[str, int]:
        """How many events there are of each kind, damaged lines among them."""
        return {name: many for number, name in enumerate(self.kinds.texts) if (many := self.kind.count(number))}

    @property
    def elapsed_ms(self) -> float:
        """How long the run was at work in all its segments; one without an end counts as far as its events tell."""
        part = self.clock.now - self.clock.base if self.duration_ms is None else self.duration_ms
        return self.earlier_ms + part

    @property
    def failed(self) -> int:
        rows = range(len(self.agents))
        return self.agents.statuses(FAILED, rows) + self.agents.statuses(OTHER, rows)

    @property
    def finished(self) -> int:
        return self.failed + self.agents.statuses(OK, range(len(self.agents)))

    @property
    def usage(self) -> Usage:
        found = self.agents.usage(range(len(self.agents)), Usage())
        for phase in self.phases:
            if phase.loose is not None:
                found.join(phase.loose)
        return found

    # Events as they come

    def take(self, piece: bytes, records: Records | None = None) -> None:
        """Folds whole lines. records: those of the piece, where somebody has them."""
        if is_text(piece):
            self._take(records or records_of(piece), piece)
        else:
            for line in piece.split(b"\n")[:-1]:
                self.take_line(line)

    def _take(self, records: Records, piece: bytes) -> None:
        """The loop in which the time goes."""
        agents, clock, words, statuses = self.agents, self.clock, self.words, STATUSES
        agents.make_room(len(records))
        kinds, ids, opened = self.kind, agents.ids, self.open
        kind_of, owner_of, add_kind, add_owner = BY_NAME.get, opened.get, kinds.append, self.owner.append
        start, status, duration, result, event = (
            agents.start, agents.status, agents.duration, agents.result, agents.event,
        )  # fmt: skip
        tools, name, model, phase_of = agents.tools, agents.name, agents.model, agents.phase
        read, written, cost, priced, unpriced = (
            agents.input, agents.output, agents.cost, agents.priced, agents.unpriced,
        )  # fmt: skip
        stamp, now, phase, running, most = clock.last, clock.now, NOT_LOOKED_UP, self.running, self.most_parallel
        lines: list[bytes] = []
        at = -1  # number of the line
        for record in records:
            (
                called, _, ts, who, its_name, asked, ended, took, by, is_both, _,
                its_input, its_output, its_cost, limit, key,
            ) = record  # fmt: skip
            at += 1
            kind = kind_of(called, DAMAGED)
            if ts != stamp and kind:
                if is_word(ts):
                    stamp = ts
                    clock.see(stamp)
                    now = clock.now
                else:
                    kind = DAMAGED
            row = owner_of(who, NOBODY)
            if row < 0 and who and kind != STARTED:
                row = self._done(who)
            if kind == CALL:
                if row >= 0:
                    tools[row] += 1
            elif kind == RESULT and ended:
                if row >= 0 and not status[row]:  # the first one counts
                    status[row] = statuses.get(ended, OTHER)
                    length = duration[row] = int(took)
                    result[row] = len(kinds)
                    if by:
                        model[row] = words[by]
                    running -= 1
                    if start[row] + length > now:
                        now = clock.now = start[row] + length
                if is_both:
                    add_kind(RESULT)
                    add_owner(row)
                    at += 1
                    kind = BUDGET
                    if row < 0 or priced[row] or unpriced[row] or limit:
                        self._budget(row, record)
                    else:  # the same, quicker
                        read[row], written[row] = int(its_input), int(its_output)
                        if its_cost:
                            cost[row], priced[row] = float(its_cost), 1
                        else:
                            unpriced[row] = 1
                        opened.pop(who, None)
            elif kind == STARTED and its_name:
                if phase < 0:
                    phase = self._phase_now()
                row = opened[who] = len(ids)
                ids.append(who)
                event[row] = len(kinds)
                name[row] = words[its_name]
                phase_of[row] = phase
                start[row] = now
                if asked:
                    model[row] = words[asked]
                running += 1
                if running > most:
                    most = running
            elif kind == BUDGET and its_input:
                self._budget(row, record)
            elif kind == CHECKPOINT and key:
                self._checkpoint(key)
            elif kind <= CHECKPOINT:  # not of the form
                lines = lines or piece.split(b"\n")
                self.running, self.most_parallel = running, most
                self.take_line(lines[at])
                if is_both:
                    at += 1
                    self.take_line(lines[at])
                stamp, now, phase, running, most = (
                    clock.last, clock.now, NOT_LOOKED_UP, self.running, self.most_parallel,
                )  # fmt: skip
                continue
            add_kind(kind)
            add_owner(row)
        self.running, self.most_parallel = running, most

    def _budget(self, row: int, record: tuple[bytes, ...]) -> None:
        """What an agent used, or nobody that is known."""
        if record[LIMIT]:
            self.token_limit = int(record[LIMIT])
        if row < 0:
            self._loose(record)
            return
        agents = self.agents
        agents.input[row] += int(record[INPUT])
        agents.output[row] += int(record[OUTPUT])
        if record[COST]:
            agents.cost[row] += float(record[COST])
            agents.priced[row] += 1
        else:
            agents.unpriced[row] += 1
        if agents.status[row]:
            self.open.pop(record[WHO], None)  # nothing more will come, and a small table is quick

    def take_line(self, line: bytes | None) -> None:
        """Folds one line, whatever it is; None for one that is too long. A line with nothing in it is no event."""
        if line is not None and not line.strip():
            return
        fields = None if line is None else fields_of(line)
        if fields is None:
            self.damaged += 1
            self._add(DAMAGED, NOBODY)
            return
        if stamp := bytes_of(fields.get("ts")):
            self.clock.see(stamp)
        name: str = fields["event"]
        record = self._record(name, fields)
        if record is not None:
            self._take([record], b"")
            return
        if name in FOLDS:
            FOLDS[name](self, fields)
        who = bytes_of(fields.get("agent_id"))
        row = self.open.get(who, NOBODY)
        self._add(self._kind(name), self._done(who) if who and row < 0 else row)

    def _done(self, who: bytes) -> int:
        """The row of an agent that had its result and its budget; NOBODY for one that isn't known."""
        ids = self.agents.ids
        for row in range(self.known, len(ids)):
            self.done[ids[row]] = row
        self.known = len(ids)
        return self.done.get(who, NOBODY)

    def _add(self, kind: int, row: int) -> None:
        self.kind.append(kind)
        self.owner.append(row)

    def _kind(self, name: str) -> int:
        kept = bytes_of(name)
        if kept in self.kinds or len(self.kinds) < MOST_KINDS:
            return self.kinds[kept] or MOST_KINDS - 1  # an event may call itself damaged
        return MOST_KINDS - 1

    def _record(self, name: str, fields: dict[str, Any]) -> tuple[bytes, ...] | None:
        """An event whose fields may be anything, as a record; None when there is none for it."""
        record = [b""] * len(RECORD)
        record[KIND], record[STAMP] = name.encode("utf-8", "surrogatepass"), self.clock.last
        record[WHO] = bytes_of(fields.get("agent_id"))
        if name == "agent.started" and record[WHO]:
            record[NAME] = bytes_of(fields.get("agent_name")) or record[WHO]
            record[ASKED] = bytes_of(fields.get("model"))
        elif name == "agent.result":
            record[STATUS] = bytes_of(fields.get("status")) or b"?"
            record[TOOK] = b"%d" % count(fields.get("dur_ms"))
            record[MODEL] = bytes_of(fields.get("model"))
        elif name == "budget":
            record[INPUT] = b"%d" % count(fields.get("input_tokens"))
            record[OUTPUT] = b"%d" % count(fields.get("output_tokens"))
            cost = fields.get("cost_usd")
            if (type(cost) is float or type(cost) is int) and -MOST_INT < cost < MOST_INT and isfinite(cost):
                record[COST] = repr(cost).encode()
            if fields.get("budget_limit") is not None:
                record[LIMIT] = b"%d" % count(fields["budget_limit"])
        elif name == "checkpoint":
            record[KEY] = bytes_of(fields.get("key")) or b"?"
        elif name != "agent.tool_call":
            return None
        return tuple(record)

    def _loose(self, record: tuple[bytes, ...]) -> None:
        """A budget of no agent that is known."""
        phase = self.phases[self._phase_now()]
        priced = bool(record[COST])
        cost = float(record[COST]) if priced else 0.0
        phase.loose = (phase.loose or Usage()).add(1, not priced, int(record[INPUT]), int(record[OUTPUT]), cost)

    def _checkpoint(self, key: bytes) -> None:
        phase = self._phase_now()
        self.checkpoint_key.append(self.words[key])
        self.checkpoint_event.append(len(self.kind))
        self.checkpoint_phase.append(phase)

    # Phases

    def _phase_now(self) -> int:
        """The open phase; before the first one of a segment that of everything before it."""
        if len(self.phases) == self.first_phase:
            self.phases.append(Phase(self, BEFORE))
        return len(self.phases) - 1

    def _close(self, phase: Phase, status: str) -> None:
        phase.status = status
        phase.closed = self.clock.now

    def _close_last(self, status: str, *, named: bool) -> None:
        """Closes the phase that is open, if no event has: what comes before the first phase, and at the end any."""
        phase = self.phases[-1] if len(self.phases) > self.first_phase else None
        if phase is not None and phase.closed is None and (named or phase.name is BEFORE):
            self._close(phase, status)

    def _phase_started(self, fields: dict[str, Any]) -> None:
        self._close_last("success", named=False)
        phase = Phase(self, text(fields, "phase") or "?")
        phase.seq, phase.ts = count(fields.get("seq")), text(fields, "ts")
        self.phases.append(phase)

    def _phase_ended(self, fields: dict[str, Any]) -> None:
        took = count(fields.get("dur_ms"))
        self.clock.reach_in_segment(took)
        name = text(fields, "phase") or "?"
        for phase in islice(reversed(self.phases), len(self.phases) - self.first_phase):
            if phase.name == name and phase.status == "running":
                self._close(phase, text(fields, "status") or "success")
                phase.ended_ms = took
                return

    # The run

    def _run_started(self, fields: dict[str, Any]) -> None:
        phases = fields.get("phases")
        names = "ts", "workflow", "run_id", "code_version", "args_json"
        found: dict[str, Any] = {name: text(fields, name) for name in names}
        found["phases"] = [name for name in phases if type(name) is str] if type(phases) is list else []
        self.segments[-1]["started"] = found["ts"] or None
        self.begun = self.begun or found
        self.latest = found
        self.started = self.started or found["ts"]

    def _run_ended(self, fields: dict[str, Any]) -> None:
        took = count(fields.get("dur_ms"))
        self.clock.reach_in_segment(took)
        self.status = text(fields, "status") or "failed"
        self.reason, self.ended, self.duration_ms = text(fields, "reason"), text(fields, "ts"), took
        self._close_last(self.status, named=True)

    def _overflow(self, fields: dict[str, Any]) -> None:
        why = str(fields.get("reason"))
        self.overflow[why] = self.overflow.get(why, 0) + count(fields.get("dropped", fields.get("bytes")))


FOLDS: dict[str, Callable[[Fold, dict[str, Any]], None]] = {
    "run.started": Fold._run_started,
    "run.ended": Fold._run_ended,
    "phase.started": Fold._phase_started,
    "phase.ended": Fold._phase_ended,
    "journal.overflow": Fold._overflow,
}


def text(fields: dict[str, Any], name: str) -> str:
    """A field as text; "" when it is absent or something else."""
    value = fields.get(name)
    return value if type(value) is str else ""
