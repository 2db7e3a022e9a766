"""What the page asks about one run, as values for JSON. Numbers of agents, checkpoints and events are those of
`State`; unknown costs and times are null."""

from __future__ import annotations

import json
from bisect import bisect_left
from functools import reduce
from time import time

from sema_runtime.workflow.journal import origin, outcomes
from sema_runtime.workflow.journal.parser import fields_of
from sema_runtime.workflow.journal.segments import about
from sema_runtime.workflow.journal.writer import segment_name
from sema_runtime.workflow.read.columns import FAILED, NOBODY, OTHER, RUNNING, Usage
from sema_runtime.workflow.read.reducer import CHECKPOINT
from sema_runtime.workflow.read.totals import Inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.workflow.read.reducer import RunState
    from sema_runtime.workflow.viewer.journal import Branch, Journal

    Row = dict[str, Any]

NOTHING_INSIDE = Inside(0, Usage())
STATUS = ("running", "ok", "failed", "interrupted", "failed")  # of an agent; what the format doesn't have is a failure
LINE_SHOWN = 1 << 20  # bytes of one event that are sent to the page
PHASES = 2000  # phases of a summary
PAGE = 500  # rows or events of one answer
FOUND = 20_000  # events that a search goes on to find
EVENTS_OF_AGENT = 400  # events of an agent in its details
NAMED = 500  # bars of a timeline that come with the ids of their agents
FILES = ("metadata.json", "result.json", "args.json")  # of a run, beside its journal
NESTED = 20  # runs inside of a run that its head names
TITLE = 160  # characters of an event's line in the list


def summary(journal: Journal, unread: int, within: Inside = NOTHING_INSIDE) -> Row:
    """The head of the page: status, totals, phases. within: what the runs inside used; it counts for this one."""
    state = journal.state
    branches = journal.tree.follow()
    used = [branch.usage for branch in branches[:PHASES]]
    phases = [phase_row(*both) for both in zip(branches, used, strict=False)]
    status, reason = state.status, state.reason or None
    if unread and (last := journal.last_event()).get("event") == "run.ended":
        status, reason = str(last.get("status")), last.get("reason")
    status = outcomes.outcome(journal.folder, status)
    if status != "running" and not unread:
        for row in phases:
            if row["status"] == "pending":
                row["status"] = "skipped"
    begun, counts = state.begun, state.counts()
    comes_from, inside = origin.of(journal.folder), journal.inside()
    own = state.usage if len(branches) > PHASES else reduce(Usage.join, used, Usage())
    return {
        "cursor": journal.cursor,
        "generation": journal.generation,
        "unread": unread,
        "size": journal.size() if unread else None,
        "status": status,
        "reason": reason,
        **{name: begun.get(name) or None for name in ("workflow", "run_id", "code_version", "args_json")},
        "started_ts": begun.get("ts") or None,
        "ended_ts": state.ended or None,
        "elapsed_ms": state.clock.now,
        "written": written_at(journal),
        "now": time(),
        "events": len(state.kind),
        "agents": len(state.agents),
        "finished": state.finished,
        "failed": state.failed,
        "running": state.running,
        "parallel": state.most_parallel,
        "checkpoints": len(state.checkpoint_event),
        **used_row(own, within),
        "token_limit": state.token_limit,
        "damaged": state.damaged,
        "overflow": state.overflow,
        "policy": {name: many for name, many in counts.items() if name.startswith(("policy.", "approval."))},
        "segments": state.segments,
        "fork_of": comes_from and comes_from.run_id,
        "fork_at": comes_from and comes_from.at,
        "nested": [[nested_run.run_id, nested_run.workflow] for nested_run in inside[:NESTED]],
        "nested_left_out": max(0, len(inside) - NESTED),
        "files": [name for name in FILES if (journal.path / name).is_file()],
        "phases": phases,
        "phases_left_out": max(0, len(branches) - PHASES),
        "kinds": sorted(counts),
    }


def used_row(own: Usage, within: Inside) -> Row:
    """What a run used, with the runs inside of it, and the share of each."""
    usage, inside = Usage().join(own).join(within.usage), within.usage
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": usage.cost_usd,
        "unpriced": usage.unpriced,
        "own": {"tokens": own.tokens, "cost_usd": own.cost_usd},
        "inside": {
            "runs": within.runs,
            "tokens": inside.tokens,
            "cost_usd": inside.cost_usd,
            "unpriced": inside.unpriced,
        },
    }


def phase_row(branch: Branch, usage: Usage) -> Row:
    status = branch.status
    agents, checkpoints = (sum(getattr(part, name) for part in branch.parts) for name in ("agents", "checkpoints"))
    return {
        "number": branch.number,
        "name": branch.name,
        "status": status,
        "started": branch.began,
        "ended": branch.closed,
        "agents": agents,
        "finished": sum(part.finished for part in branch.parts),
        "failed": sum(part.failed for part in branch.parts),
        "running": branch.agents_running() if status == "running" else 0,
        "checkpoints": checkpoints,
        "rows": agents + checkpoints,
        "tokens": usage.tokens,
        "cost_usd": usage.cost_usd,
        "unpriced": usage.unpriced,
    }


def written_at(journal: Journal) -> float | None:
    """When the journal was last written to, in seconds since 1970."""
    try:
        return (journal.path / segment_name(max(len(journal.segments) - 1, 0))).stat().st_mtime
    except OSError:
        return None


# The tree


def rows(journal: Journal, phase: int, first: int, many: int, wanted: Filter) -> Row:
    """Rows of a phase: {total, first, rows}. Agents and checkpoints in the order they began."""
    branches = journal.tree.follow()
    if not 0 <= phase < len(branches):
        return {"total": 0, "first": first, "rows": [], "cursor": journal.cursor}
    items = wanted.items(journal, branches[phase])
    chosen = items[first : first + min(many, PAGE)]
    return {
        "total": len(items),
        "first": first,
        "rows": [agent_row(journal, item) if item >= 0 else checkpoint_row(journal, -1 - item) for item in chosen],
        "cursor": journal.cursor,
    }


def counts(journal: Journal, wanted: Filter) -> Row:
    """How many rows of each phase a filter leaves: {phases: [n ...], total}."""
    numbers = [len(wanted.items(journal, branch)) for branch in journal.tree.follow()[:PHASES]]
    return {"phases": numbers, "total": sum(numbers), "cursor": journal.cursor}


class Filter:
    """Which rows of the tree are wanted. status: one of STATUS, or "" for all. text: part of an id, name or model."""

    def __init__(self, status: str = "", text: str = "") -> None:
        self.status = status if status in STATUS else ""
        self.text = text.strip().lower()

    def items(self, journal: Journal, branch: Branch) -> Any:
        """The items of a phase that pass."""
        branch.follow()
        if not self.status and not self.text:
            return branch.items
        return [item for item in branch.items if self._passes(journal.state, item)]

    def _passes(self, state: RunState, item: int) -> bool:
        texts, agents, text = state.words.texts, state.agents, self.text
        if item < 0:
            return not self.status and text in texts[state.checkpoint_key[-1 - item]].lower()
        if self.status and STATUS[agents.status[item]] != self.status:
            return False
        return not text or text in agents.ids[item].lower() or text in texts[agents.model[item]].lower()


def agent_row(journal: Journal, agent: int) -> Row:
    state = journal.state
    agents, texts = state.agents, state.words.texts
    status = agents.status[agent]
    return {
        "agent": agent,
        "id": agents.ids[agent],
        "name": texts[agents.name[agent]],
        "model": texts[agents.model[agent]] or None,
        "phase": journal.tree.of_agent(agent).number,
        "segment": state.phases[agents.phase[agent]].segment,
        "status": STATUS[status],
        "start": agents.start[agent],
        "duration": None if status == RUNNING else agents.duration[agent],
        "input_tokens": agents.input[agent],
        "output_tokens": agents.output[agent],
        "cost_usd": agents.cost_of(agent),
        "unpriced": agents.unpriced[agent],
        "tools": agents.tools[agent],
    }


def checkpoint_row(journal: Journal, checkpoint: int) -> Row:
    state = journal.state
    return {
        "checkpoint": checkpoint,
        "key": state.words.texts[state.checkpoint_key[checkpoint]],
        "phase": journal.tree.of_checkpoint(checkpoint).number,
        "event": state.checkpoint_event[checkpoint],
    }


def place(journal: Journal, agent: int) -> Row | None:
    """Where an agent stands: {phase, row}."""
    if not 0 <= agent < len(journal.state.agents):
        return None
    branch = journal.tree.of_agent(agent)
    branch.follow()
    return {"phase": branch.number, "row": branch.items.index(agent)}


# Details


def agent_details(journal: Journal, agent: int) -> Row | None:
    """An agent with its texts: {…row, prompt, output, calls, events, left_out}; None for one that isn't there.
    calls: {event, name, args, done} in order, done when its result was noted (`agent.tool_result`)."""
    if not 0 <= agent < len(journal.state.agents):
        return None
    numbers, left_out = events_of_agent(journal.state, agent)
    row = agent_row(journal, agent)
    row |= {"prompt": None, "output": None, "calls": [], "events": numbers, "left_out": left_out}
    row["phase_name"] = journal.tree.branches[row["phase"]].name
    for number in numbers:
        event = fields_of(journal.line(number)) or {}
        kind = event.get("event")
        if kind == "agent.started":
            row["prompt"] = event.get("prompt")
        elif kind == "agent.result":
            row["output"] = event.get("output")
        elif kind == "agent.tool_call":
            call = {"event": number, "name": event.get("tool_name"), "args": shown_arguments(event), "done": False}
            row["calls"].append(call)
        elif kind == "agent.tool_result":
            for call in row["calls"]:
                if call["name"] == event.get("tool_name") and not call["done"]:
                    call["done"] = True
                    break
    return row


def shown_arguments(event: Row) -> Any:
    """The arguments of a tool call; a program that an agent wrote as its text, with its lines."""
    arguments = event.get("args_json")
    if event.get("tool_name") != "run_program" or not isinstance(arguments, str):
        return arguments
    try:
        fields = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    program = fields.get("program") if isinstance(fields, dict) else None
    return program if isinstance(program, str) else arguments


def events_of_agent(state: RunState, agent: int) -> tuple[list[int], int]:
    """The events of an agent: the first and the latest, in order, and how many were left out between them."""
    numbers = state.events_of(agent)
    left_out = max(0, len(numbers) - EVENTS_OF_AGENT)
    if left_out:
        half = EVENTS_OF_AGENT // 2
        numbers = numbers[:half] + numbers[-half:]
    return numbers, left_out


def checkpoint_details(journal: Journal, checkpoint: int) -> Row | None:
    """A checkpoint with its value: {…row, value, value_digest, content_key, ts}."""
    if not 0 <= checkpoint < len(journal.state.checkpoint_event):
        return None
    row = checkpoint_row(journal, checkpoint)
    event = fields_of(journal.line(row["event"])) or {}
    row["phase_name"] = journal.tree.branches[row["phase"]].name
    return row | {key: event.get(key) for key in ("value", "value_digest", "content_key", "ts")}


# Events


def events(journal: Journal, first: int, many: int, kind: str, text: str) -> Row:
    """A page of the journal: {total, first, events}; total counts what the filter leaves. A negative first counts
    from the end. With a text only the first FOUND events that hold it are found: then `more` is true."""
    chosen: Any = range(len(journal.state.kind))
    more = False
    if kind or text:
        chosen, more = matching(journal, kind, text)
    total = len(chosen)
    if first < 0:
        first = max(0, total + first)
    page = chosen[first : first + min(many, PAGE)]
    shown = [event_row(journal.state, number, journal.line(number)) for number in page]
    return {"total": total, "first": first, "events": shown, "more": more, "cursor": journal.cursor}


def matching(journal: Journal, kind: str, text: str) -> tuple[list[int], bool]:
    """Numbers of the events of a kind (or of a family: `agent`) whose line holds a text; whether there may be more."""
    state = journal.state
    names = state.kinds.texts
    wanted = {number for number, name in enumerate(names) if not kind or name == kind or name.startswith(f"{kind}.")}
    numbers = [number for number, kind_number in enumerate(state.kind) if kind_number in wanted]
    if not text:
        return numbers, False
    needle = text.lower().encode(errors="replace")
    matches: list[int] = []
    for number in numbers:
        if needle in journal.line(number)[:LINE_SHOWN].lower():
            matches.append(number)
            if len(matches) >= FOUND:
                return matches, True
    return matches, False


def event_row(state: RunState, number: int, line: bytes) -> Row:
    """An event of the list: {number, segment, seq, ts, event, title, agent?, phase?, checkpoint?}."""
    event = fields_of(line) or {}
    name = state.kind_name(number)
    row: Row = {
        "number": number,
        "segment": state.segment_of(number),
        "seq": event.get("seq"),
        "ts": event.get("ts"),
        "event": name,
        "title": about(event)[:TITLE] if event else line[:TITLE].decode(errors="replace"),
    }
    owner = state.owner[number]
    if owner != NOBODY:
        row["agent"] = owner
        row["live"] = state.agents.status[owner] == RUNNING
    if state.kind[number] == CHECKPOINT:
        row["checkpoint"] = bisect_left(state.checkpoint_event, number)
    return row


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
    agents, lanes = state.agents, journal.lanes.follow()
    now = state.clock.now
    span = max(now, 1.0)
    if not end > begin:
        begin, end = 0.0, span
    dot = (end - begin) / width
    change = [0] * (width + 2)
    last: dict[int, Any] = {}
    bars: list[Any] = []
    for number, lane in enumerate(lanes):
        start, status = agents.start[number], agents.status[number]
        stop = now if status == RUNNING else start + agents.duration[number]
        if stop < begin or start > end:
            continue
        left = max(0, int((start - begin) / dot))
        change[left] += 1
        change[max(left + 1, min(width + 1, int((stop - begin) / dot)))] -= 1
        before = last.get(lane)
        if before is not None and stop - start < dot and before[3] >= start - dot and before[3] - before[2] < 4 * dot:
            before[3] = max(before[3], stop)
            before[4] = max(before[4], FAILED if status == OTHER else status)
            continue
        last[lane] = bar = [number, lane, start, stop, FAILED if status == OTHER else status]
        bars.append(bar)
    if len(bars) <= NAMED:
        for bar in bars:
            bar.append(agents.ids[bar[0]])
    load, running = [], 0
    for step in change[: width + 1]:
        running += step
        load.append(running)
    branches = journal.tree.follow()[:PHASES]
    phases = [
        [branch.number, branch.name, branch.began, branch.closed] for branch in branches if branch.parts and branch.name
    ]
    marks = [segment["at"] for segment in state.segments[1:]]
    return {
        "begin": begin, "end": end, "span": span, "lanes": max(lanes, default=-1) + 1, "bars": bars, "load": load,
        "phases": phases, "resumed": marks, "cursor": journal.cursor,
    }  # fmt: skip
