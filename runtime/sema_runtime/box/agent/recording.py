"""Recorded runs, read back: replayed without a model, compared, and shown in a timeline."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from sema_runtime.box.agent.definition import ProgramAgent
from sema_runtime.box.agent.history import ProgramRun
from sema_runtime.box.agent.run import Asking, run
from sema_runtime.box.agent.trace import VERSION, Trace, encoded
from sema_runtime.box.codec import decoded
from sema_runtime.box.pool import Pool
from sema_runtime.box.toolbox import Grant, Invalid
from sema_runtime.llm.messages import Reply, Request, ToolCall, Usage
from sema_runtime.values.errors import SemaError

Event = dict[str, Any]


class Differs(SemaError):
    """A replay asks for something that its recording doesn't have."""


@dataclass(frozen=True, slots=True)
class Recording:
    """The events of one run, those of agents inside it not included."""

    started: Event
    events: list[Event]

    def of(self, name: str) -> list[Event]:
        return [event for event in self.events if event["event"] == name]

    @property
    def question(self) -> str:
        return str(self.started["question"])

    @property
    def ended(self) -> Event | None:
        """The end of the run; None where the process ended first."""
        return next(iter(self.of("run.ended")), None)

    def programs(self) -> list[tuple[str, Event]]:
        """Each program, and what came of it."""
        sources = {event["turn"]: event["program"] for event in self.of("program.started")}
        return [(sources[event["turn"]], event) for event in self.of("program.ended")]


def read(path: str | os.PathLike[str]) -> list[Event]:
    """The events of a file. An incomplete last line is left out. Raises SemaError for what is no trace, OSError."""
    events = []
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            event = json.loads(line)
            known = event["event"], event["run"], event["seq"]
        except (ValueError, KeyError, TypeError, RecursionError):
            if number == len(lines):  # the process ended while it wrote
                break
            raise SemaError(f"{os.fspath(path)}:{number}: not an event of an agent's trace") from None
        events.append({**event, "event": known[0], "run": str(known[1])})
    if not events:
        raise SemaError(f"{os.fspath(path)}: no events; a trace is made with :trace, or trace= in Python")
    return events


def recordings(events: Iterable[Event]) -> list[Recording]:
    """The runs of a trace, in order. Raises SemaError for a trace of another version."""
    by_run: dict[str, list[Event]] = {}
    for event in events:
        by_run.setdefault(event["run"], []).append(event)
    found = []
    for name, own in by_run.items():
        if own[0]["event"] != "run.started" or own[0].get("version") != VERSION:
            raise SemaError(f"run {name} of the trace has no beginning of version {VERSION}")
        found.append(Recording(own[0], own))
    return found


def replayed(agent: ProgramAgent, recording: Recording, pool: Pool, trace: Trace | None = None) -> ProgramRun:
    """The run once more: programs run again, the model's answers and the results of tools are the recorded ones.

    The agent may have other instructions, limits or data than then. Raises Differs where a program calls a tool as the
    recording doesn't have it, or needs more answers than there are.
    """
    answers = deque(recording.of("model.answered"))
    replies = Replies(recording)

    def ask(_: Request) -> Reply:
        if replies.differs is not None:
            raise replies.differs
        if not answers:
            raise Differs("replay: the recording has no further answer of the model", "record the run anew")
        event = answers.popleft()
        calls = [ToolCall(call["id"], call["name"], call["args"]) for call in event.get("calls", ())]
        counts = Usage(event.get("input_tokens", 0), event.get("output_tokens", 0))
        return Reply(event.get("text", ""), event.get("model", ""), counts, calls, event.get("stop_reason"))

    names = dict.fromkeys([*agent.grants, *(other.name for other in agent.agents)])
    signatures = recording.started.get("tools", {})
    grants = {name: replies.grant(name, agent.grants.get(name), signatures.get(name)) for name in names}
    again = replace(agent, grants=grants, agents=(), budget=None)
    outcome = run(again, recording.question, Asking(pool, trace, ask=ask))
    if replies.differs is not None:
        raise replies.differs
    return outcome


class Replies:
    """The recorded results of tools: each given once, to a call with the same arguments."""

    def __init__(self, recording: Recording) -> None:
        self.recorded: dict[str, deque[Event]] = {}
        self.differs: Differs | None = None
        for event in recording.of("tool.called"):
            self.recorded.setdefault(key(event["tool"], event.get("args")), deque()).append(event)

    def grant(self, name: str, known: Grant | None, signature: str | None) -> Grant:
        """The tool of that name, with recorded results. known: the tool itself, where the agent has it."""
        made = copy(known) if known is not None else Grant(name, dict, signature or f"tool/{name}(...)", "")
        made.call = lambda arguments: self.reply(name, arguments)
        return made

    def reply(self, name: str, arguments: dict[str, Any]) -> Any:
        events = self.recorded.get(key(name, encoded(arguments)))
        if not events:
            self.differs = Differs(
                f"replay: the recording has no call of tool/{name} with {json.dumps(arguments, default=str)[:200]}",
                "a changed program or other data lead to other calls: record the run anew",
            )
            raise self.differs
        event = events.popleft()
        if event.get("error") is not None:
            raise Invalid(event["error"]) if event.get("kind") else SemaError(event["error"])
        return decoded(event.get("result"))


def key(name: str, arguments: Any) -> str:
    """The same for the same call, whatever the order of its arguments."""
    if isinstance(arguments, dict) and isinstance(arguments.get("m"), list):
        parts = [json.dumps(part, sort_keys=True) for part in arguments["m"]]
        arguments = sorted(zip(parts[::2], parts[1::2], strict=True))
    return json.dumps([name, arguments], sort_keys=True)


def differences(first: Recording, second: Recording) -> list[str]:
    """What two runs did otherwise, a line each; none for equal runs."""
    found = []
    if first.question != second.question:
        found.append(f"question: {first.question!r} / {second.question!r}")
    if first.started.get("system") != second.started.get("system"):
        found.append("the system texts differ")
    before, after = first.programs(), second.programs()
    for number, ((source, event), (other, came)) in enumerate(zip(before, after, strict=False), 1):
        if source != other:
            found.append(f"program {number}: another source")
        for field in ("status", "text", "reason", "prints"):
            if event.get(field) != came.get(field):
                found.append(f"program {number}: {field} {shown(event.get(field))} / {shown(came.get(field))}")
    if len(before) != len(after):
        found.append(f"programs: {len(before)} / {len(after)}")
    one, two = first.ended or {}, second.ended or {}
    for field in ("status", "reason", "text"):
        if one.get(field) != two.get(field):
            found.append(f"end: {field} {shown(one.get(field))} / {shown(two.get(field))}")
    return found


def shown(value: Any) -> str:
    text = "-" if value is None else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 80 else f"{text[:80]}..."


def chrome(events: list[Event]) -> dict[str, Any]:
    """The trace as a Chrome trace (chrome://tracing, Perfetto): answers, programs and calls of tools as bars."""
    names = {"model.answered": "model", "program.ended": "program", "tool.called": "tool", "run.ended": "run"}
    bars = []
    rows: dict[str, int] = {}
    for event in events:
        kind = names.get(event["event"])
        if kind is None:
            continue
        spent = float(event.get("dur_ms", 0.0))
        label = event.get("tool") or (f"{kind} {event['turn']}" if "turn" in event else f"{kind} {event['run']}")
        bars.append(
            {
                "name": label,
                "cat": kind,
                "ph": "X",
                "ts": max(0.0, event["at_ms"] - spent) * 1000,
                "dur": spent * 1000,
                "pid": 1,
                "tid": rows.setdefault(event["run"], len(rows) + 1),
                "args": {name: event[name] for name in ("status", "text", "error", "model") if name in event},
            }
        )
    return {"traceEvents": bars, "displayTimeUnit": "ms"}
