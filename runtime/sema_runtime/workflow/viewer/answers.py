"""What the page asks about one run, as values for JSON. Numbers of agents, checkpoints and events are those of
`State`; unknown costs and times are null."""

from __future__ import annotations

from math import isnan
from time import time

from sema_runtime.workflow.viewer.journal import LINE_SHOWN
from sema_runtime.workflow.viewer.state import BEFORE, DAMAGED, NOBODY, RUNNING, STATUS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.workflow.viewer.journal import Journal
    from sema_runtime.workflow.viewer.state import Phase, State

    Row = dict[str, Any]

PHASES = 2000  # phases of a summary
PAGE = 500  # rows or events of one answer
FOUND = 20_000  # events that a search goes on to find
EVENTS_OF_AGENT = 400  # events of an agent in its details
NAMED = 500  # bars of a timeline that come with the ids of their agents
FILES = ("metadata.json", "result.json", "args.json")  # of a run, beside its journal
TITLE = 160  # characters of an event's line in the list


def summary(journal: Journal, unread: int) -> Row:
    """The head of the page: status, totals, phases."""
    state = journal.state
    phases = [phase_row(phase, state) for phase in state.phases[:PHASES]]
    status, reason = state.status, state.reason
    if unread and (last := journal.last_event()).get("event") == "run.ended":
        status, reason = str(last.get("status")), last.get("reason")
    if status != "running" and not unread:
        for row in phases:
            if row["status"] == "pending":
                row["status"] = "skipped"
    return {
        "cursor": journal.cursor,
        "generation": journal.generation,
        "unread": unread,
        "size": journal.size() if unread else None,
        "status": status,
        "reason": reason,
        "workflow": state.begun.get("workflow"),
        "run_id": state.begun.get("run_id"),
        "code_version": state.begun.get("code_version"),
        "args_json": state.begun.get("args_json"),
        "started_ts": state.started_ts,
        "ended_ts": state.ended_ts,
        "elapsed_ms": state.clock.now,
        "written": written_at(journal),
        "now": time(),
        "events": len(state.kind),
        "agents": len(state.agents),
        "finished": state.finished,
        "failed": state.failed,
        "running": len(state.running),
        "parallel": state.most_parallel,
        "checkpoints": len(state.checkpoint_keys),
        "input_tokens": state.tokens_in,
        "output_tokens": state.tokens_out,
        "cost_usd": known(state.cost),
        "unpriced": state.unpriced,
        "token_limit": state.budget_limit,
        "damaged": state.damaged,
        "overflow": state.overflow,
        "policy": state.policy,
        "segments": [{"first": one["first"], "at": one["at"], "started": one["started"]} for one in state.segments],
        "files": [name for name in FILES if (journal.folder / name).is_file()],
        "phases": phases,
        "phases_left_out": max(0, len(state.phases) - PHASES),
        "kinds": sorted(name for name in state.kinds.texts if name != DAMAGED or state.damaged),
    }


def phase_row(phase: Phase, state: State) -> Row:
    running = phase.agents - phase.finished
    return {
        "number": phase.number,
        "name": phase.name,
        "status": phase.status,
        "started": phase.started,
        "ended": phase.ended,
        "agents": phase.agents,
        "finished": phase.finished,
        "failed": phase.failed,
        "running": running if phase.status == "running" else 0,
        "checkpoints": phase.checkpoints,
        "rows": len(phase.items),
        "tokens": phase.tokens,
        "cost_usd": known(phase.cost),
        "unpriced": phase.unpriced,
    }


def written_at(journal: Journal) -> float | None:
    """When the journal was last written to, in seconds since 1970."""
    from sema_runtime.workflow.viewer.journal import segment_name

    try:
        return (journal.folder / segment_name(max(journal.segment, 0))).stat().st_mtime
    except OSError:
        return None


def known(number: float) -> float | None:
    return None if isnan(number) else number


# The tree


def rows(journal: Journal, phase: int, first: int, many: int, wanted: Filter) -> Row:
    """Rows of a phase: {total, first, rows}. Agents and checkpoints in the order they began."""
    state = journal.state
    if not 0 <= phase < len(state.phases):
        return {"total": 0, "first": first, "rows": [], "cursor": journal.cursor}
    items = wanted.items(state, phase)
    chosen = items[first : first + min(many, PAGE)]
    return {
        "total": len(items),
        "first": first,
        "rows": [agent_row(state, item) if item >= 0 else checkpoint_row(state, -1 - item) for item in chosen],
        "cursor": journal.cursor,
    }


def counts(journal: Journal, wanted: Filter) -> Row:
    """How many rows of each phase a filter leaves: {phases: [n ...], total}."""
    state = journal.state
    found = [len(wanted.items(state, phase.number)) for phase in state.phases[:PHASES]]
    return {"phases": found, "total": sum(found), "cursor": journal.cursor}


class Filter:
    """Which rows of the tree are wanted. status: one of STATUS, or "" for all. text: part of an id, name or model."""

    def __init__(self, status: str = "", text: str = "") -> None:
        self.status = STATUS.index(status) if status in STATUS else -1
        self.text = text.strip().lower()

    def items(self, state: State, phase: int) -> Any:
        """The items of a phase that pass."""
        items = state.phases[phase].items
        if self.status < 0 and not self.text:
            return items
        return [item for item in items if self._passes(state, item)]

    def _passes(self, state: State, item: int) -> bool:
        if item < 0:
            return self.status < 0 and self.text in state.checkpoint_keys[-1 - item].lower()
        agents = state.agents
        if self.status >= 0 and agents.status[item] != self.status:
            return False
        text = self.text
        return not text or text in agents.ids[item].lower() or text in state.words.texts[agents.model[item]].lower()


def agent_row(state: State, agent: int) -> Row:
    agents = state.agents
    duration = agents.duration[agent]
    return {
        "agent": agent,
        "id": agents.ids[agent],
        "name": state.words.texts[agents.name[agent]],
        "model": state.words.texts[agents.model[agent]] or None,
        "phase": agents.phase[agent],
        "segment": agents.segment[agent],
        "status": STATUS[agents.status[agent]],
        "start": agents.start[agent],
        "duration": None if duration < 0 else duration,
        "input_tokens": agents.input[agent],
        "output_tokens": agents.output[agent],
        "cost_usd": known(agents.cost[agent]),
        "unpriced": agents.unpriced[agent],
        "tools": agents.tools[agent],
    }


def checkpoint_row(state: State, checkpoint: int) -> Row:
    return {
        "checkpoint": checkpoint,
        "key": state.checkpoint_keys[checkpoint],
        "phase": state.checkpoint_phase[checkpoint],
        "event": state.checkpoint_event[checkpoint],
    }


def place(journal: Journal, agent: int) -> Row | None:
    """Where an agent stands: {phase, row}."""
    state = journal.state
    if not 0 <= agent < len(state.agents):
        return None
    phase = state.agents.phase[agent]
    return {"phase": phase, "row": state.phases[phase].items.index(agent)}


# Details


def agent_details(journal: Journal, agent: int) -> Row | None:
    """An agent with its texts: {…row, prompt, output, calls, events, left_out}; None for one that isn't there.
    calls: {event, name, args, done} in order, done when its result was noted (`agent.tool_result`)."""
    state = journal.state
    if not 0 <= agent < len(state.agents):
        return None
    numbers, left_out = events_of_agent(state, agent)
    row = agent_row(state, agent)
    row |= {"prompt": None, "output": None, "calls": [], "events": numbers, "left_out": left_out}
    row["phase_name"] = state.phases[row["phase"]].name
    for number, event in journal.events(numbers):
        kind = event.get("event")
        if kind == "agent.started":
            row["prompt"] = event.get("prompt")
        elif kind == "agent.result":
            row["output"] = event.get("output")
        elif kind == "agent.tool_call":
            call = {"event": number, "name": event.get("tool_name"), "args": event.get("args_json"), "done": False}
            row["calls"].append(call)
        elif kind == "agent.tool_result":
            for call in row["calls"]:
                if call["name"] == event.get("tool_name") and not call["done"]:
                    call["done"] = True
                    break
    return row


def events_of_agent(state: State, agent: int) -> tuple[list[int], int]:
    """The events of an agent: the first and the latest, in order, and how many were left out between them."""
    numbers = []
    at = state.agents.last[agent]
    while at >= 0:
        numbers.append(at)
        at = state.previous[at]
    numbers.reverse()
    left_out = max(0, len(numbers) - EVENTS_OF_AGENT)
    if left_out:
        half = EVENTS_OF_AGENT // 2
        numbers = numbers[:half] + numbers[-half:]
    return numbers, left_out


def checkpoint_details(journal: Journal, checkpoint: int) -> Row | None:
    """A checkpoint with its value: {…row, value, value_digest, content_key, ts}."""
    state = journal.state
    if not 0 <= checkpoint < len(state.checkpoint_keys):
        return None
    row = checkpoint_row(state, checkpoint)
    event = journal.event(row["event"])
    row["phase_name"] = state.phases[row["phase"]].name
    return row | {key: event.get(key) for key in ("value", "value_digest", "content_key", "ts")}


# Events


def events(journal: Journal, first: int, many: int, kind: str, text: str) -> Row:
    """A page of the journal: {total, first, events}; total counts what the filter leaves. A negative first counts
    from the end. With a text only the first FOUND events that hold it are found: then `more` is true."""
    state = journal.state
    more = False
    if not kind and not text:
        chosen: Any = range(len(state.kind))
    else:
        chosen, more = matching(journal, kind, text)
    total = len(chosen)
    if first < 0:
        first = max(0, total + first)
    page = chosen[first : first + min(many, PAGE)]
    made = [event_row(state, number, journal.line(number)) for number in page]
    return {"total": total, "first": first, "events": made, "more": more, "cursor": journal.cursor}


def matching(journal: Journal, kind: str, text: str) -> tuple[list[int], bool]:
    """Numbers of the events of a kind (or of a family: `agent`) whose line holds a text; whether there may be more."""
    state = journal.state
    wanted = {number for number, name in enumerate(state.kinds.texts) if name == kind or name.startswith(f"{kind}.")}
    numbers = [n for n, one in enumerate(state.kind) if one in wanted] if kind else range(len(state.kind))
    if not text:
        return list(numbers), False
    needle = text.lower().encode(errors="replace")
    found: list[int] = []
    for number, line in journal.lines(numbers):
        if needle in line.lower():
            found.append(number)
            if len(found) >= FOUND:
                return found, True
    return found, False


def event_row(state: State, number: int, line: bytes) -> Row:
    """An event of the list: {number, segment, seq, ts, event, title, agent?, phase?, checkpoint?}."""
    from sema_runtime.workflow.viewer.journal import parsed

    event = parsed(line) or {}
    name = state.kinds.texts[state.kind[number]]
    row: Row = {
        "number": number,
        "segment": state.segment_of(number),
        "seq": event.get("seq"),
        "ts": event.get("ts"),
        "event": name,
        "title": title(name, event) if event else line[:TITLE].decode(errors="replace"),
    }
    if state.owner[number] != NOBODY:
        row["agent"] = state.owner[number]
        row["live"] = state.agents.status[state.owner[number]] == RUNNING
    if name == "checkpoint":
        from bisect import bisect_left

        row["checkpoint"] = bisect_left(state.checkpoint_event, number)
    return row


def title(name: str, event: Row) -> str:
    """What an event is about, in a line."""
    fields = {
        "run.started": ("workflow",),
        "run.ended": ("status", "reason"),
        "phase.started": ("phase",),
        "phase.ended": ("phase", "status"),
        "agent.started": ("agent_id",),
        "agent.result": ("agent_id", "status"),
        "agent.tool_call": ("agent_id", "tool_name"),
        "agent.tool_result": ("agent_id", "tool_name"),
        "checkpoint": ("key", "value"),
        "budget": ("agent_id", "input_tokens", "output_tokens"),
        "journal.overflow": ("reason",),
    }.get(name)
    if fields is None:
        fields = tuple(key for key in event if key not in ("event", "seq", "ts"))
    parts = [str(event[key]) for key in fields if event.get(key) is not None]
    return " · ".join(parts)[:TITLE]


def raw_event(journal: Journal, number: int) -> Row | None:
    """One line of the journal as text: {number, raw, cut}."""
    if not 0 <= number < len(journal.state.kind):
        return None
    line = journal.line(number)
    row = event_row(journal.state, number, line)
    return row | {"raw": line[:LINE_SHOWN].decode(errors="replace"), "cut": len(line) > LINE_SHOWN}


# The timeline


def timeline(journal: Journal, begin: float, end: float, width: int) -> Row:
    """Bars of the agents between two times, and how many ran at once, for a picture `width` dots wide:
    {begin, end, span, lanes, bars: [[agent, lane, start, end, status, id?] …], load: [n …], phases}. What would be
    narrower than a dot is joined with its neighbour: then agent is the first of them."""
    state = journal.state
    agents = state.agents
    span = max(state.clock.now, 1.0)
    if not end > begin:
        begin, end = 0.0, span
    dot = (end - begin) / width
    change = [0] * (width + 2)
    last: dict[int, Any] = {}
    bars: list[Any] = []
    now = state.clock.now
    for number, start in enumerate(agents.start):
        took = agents.duration[number]
        stop = now if took < 0 else start + took
        if stop < begin or start > end:
            continue
        left = max(0, int((start - begin) / dot))
        change[left] += 1
        change[max(left + 1, min(width + 1, int((stop - begin) / dot)))] -= 1
        lane, status = agents.lane[number], agents.status[number]
        before = last.get(lane)
        if before is not None and stop - start < dot and before[3] >= start - dot and before[3] - before[2] < 4 * dot:
            before[3] = max(before[3], stop)
            before[4] = max(before[4], status)
            continue
        last[lane] = bar = [number, lane, start, stop, status]
        bars.append(bar)
    if len(bars) <= NAMED:
        for bar in bars:
            bar.append(agents.ids[bar[0]])
    load, running = [], 0
    for step in change[: width + 1]:
        running += step
        load.append(running)
    phases = [
        [p.number, p.name, p.started, p.ended]
        for p in state.phases[:PHASES]
        if p.started is not None and p.name != BEFORE
    ]
    marks = [one["at"] for one in state.segments[1:]]
    lanes = max(agents.lane, default=-1) + 1
    return {
        "begin": begin, "end": end, "span": span, "lanes": lanes, "bars": bars, "load": load, "phases": phases,
        "resumed": marks, "cursor": journal.cursor,
    }  # fmt: skip
