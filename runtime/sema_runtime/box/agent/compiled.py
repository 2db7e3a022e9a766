"""Programs that an agent has found, kept in a file: they answer the same question again, without a model.

The file is a program of Sema. Its first line is a comment with what the program needs, as JSON: the signatures of its
tools, the shapes of its inputs, the kind of its answer. All of it is checked before each run, and the answer after it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sema_runtime.box.agent.definition import ProgramAgent
from sema_runtime.box.agent.history import ProgramRun, ProgramTurn
from sema_runtime.box.agent.protocol import BAD_RETURN
from sema_runtime.box.agent.recording import Differs, Recording, Replies
from sema_runtime.box.agent.run import Asking, run
from sema_runtime.box.agent.shapes import Schema, misfits, shape
from sema_runtime.box.agent.trace import Trace
from sema_runtime.box.codec import for_python
from sema_runtime.box.host_values import HostEncoder
from sema_runtime.box.outcome import Outcome
from sema_runtime.box.pool import Pool
from sema_runtime.box.signatures import words
from sema_runtime.box.toolbox import Grant
from sema_runtime.support.replacing import Replacement
from sema_runtime.values.errors import SemaError

VERSION = 1
MARK = ";; sema-program "
NAMED_TOOL = re.compile(r"\btool/([^\s()\[\]{}\"';]+)")
NAMED_DATA = re.compile(r"\bdata/([^\s()\[\]{}\"';]+)")


@dataclass(frozen=True, slots=True)
class Compiled:
    """question: to which it is the answer. tools: signatures by name. data: shapes by name. returns: shape of the
    answer."""

    source: str
    question: str
    agent: str
    tools: dict[str, str]
    data: dict[str, Schema]
    returns: Schema

    def text(self) -> str:
        """The file."""
        needs = {
            "version": VERSION,
            "question": self.question,
            "agent": self.agent,
            "tools": self.tools,
            "data": self.data,
            "returns": self.returns,
        }
        inputs = "".join(f";; data/{name}: {words(schema)}\n" for name, schema in self.data.items())
        tools = "".join(f";; {signature}\n" for signature in self.tools.values())
        return f"{MARK}{json.dumps(needs)}\n;; answer: {words(self.returns)}\n{inputs}{tools}\n{self.source}\n"

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Compiled:
        """Raises SemaError for a file that agent/compile didn't make, OSError."""
        with open(path, encoding="utf-8") as file:
            first, _, source = file.read().partition("\n")
        problem = SemaError(f"{os.fspath(path)}: not a program of agent/compile", "compile the agent anew")
        if not first.startswith(MARK):
            raise problem
        try:
            needs = json.loads(first[len(MARK) :])
            version = needs["version"]
            made = cls(source, needs["question"], needs["agent"], needs["tools"], needs["data"], needs["returns"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise problem from None
        if version != VERSION:
            raise SemaError(f"{os.fspath(path)}: made by version {version}, this is {VERSION}", "compile it anew")
        if not all(isinstance(part, dict) for part in (made.tools, made.data, made.returns)):
            raise problem
        return made

    def problems(self, grants: Mapping[str, Grant], data: Mapping[str, Any]) -> list[str]:
        """What keeps it from being run with these tools and inputs."""
        found = []
        for name, signature in self.tools.items():
            if name not in grants:
                found.append(f"there is no tool/{name}")
            elif grants[name].signature != signature:
                found.append(f"tool/{name} has changed: {grants[name].signature}, it was {signature}")
        for name, schema in self.data.items():
            if name not in data:
                found.append(f"there is no data/{name}")
            else:
                found += misfits(plain(data[name]), schema, f"data/{name}")
        return found

    def run(self, agent: ProgramAgent, pool: Pool, data: Mapping[str, Any] | None = None) -> Outcome:
        """What the program answers with the agent's tools, and its data or other data. Raises SemaError, before it
        runs, where a tool or an input isn't as the program needs it."""
        inputs = {**agent.data, **(data or {})}
        wrong = self.problems(agent.grants, inputs)
        if wrong:
            raise SemaError(f"the program can't be run: {'; '.join(wrong)}", "compile the agent anew")
        outcome = pool.run(self.source, inputs, agent.grants, agent.limits)
        wrong = misfits(outcome.value, self.returns, "answer") if outcome.ok else []
        if not wrong:
            return outcome
        return replace(outcome, status="error", reason=BAD_RETURN, message="; ".join(wrong), value=None, text=None)


def compile_agent(
    agent: ProgramAgent, question: str, path: str | os.PathLike[str], pool: Pool
) -> tuple[ProgramRun, Compiled]:
    """Runs an agent once and keeps the program that answers. Raises SemaError where it has no answer, or where its
    programs, run once more as one with the same results of tools, answer otherwise."""
    if agent.agents:
        raise SemaError(f"agent/compile: {agent.name} asks other agents, which a program without a model can't")
    trace = Trace()
    done = run(agent, question, Asking(pool, trace))
    if not done.ok:
        raise SemaError(f"agent/compile: no answer: {done.message or done.text or 'fail'} ({done.reason or 'fail'})")
    recording = Recording(trace.events[0], trace.events)
    source = shortest(agent, done, recording, pool)
    inputs = {name: shape(plain(agent.data[name])) for name in mentioned(NAMED_DATA, source) if name in agent.data}
    tools = {name: agent.grants[name].signature for name in mentioned(NAMED_TOOL, source) if name in agent.grants}
    kind = shape(done.value).get("type")
    made = Compiled(source, question, agent.name, tools, inputs, {"type": kind} if kind not in (None, "null") else {})
    with Replacement(os.fspath(path)) as file:
        file.write(made.text().encode())
    return done, made


def mentioned(pattern: re.Pattern[str], source: str) -> list[str]:
    return sorted(set(pattern.findall(source)))


def shortest(agent: ProgramAgent, done: ProgramRun, recording: Recording, pool: Pool) -> str:
    """The programs that the answer needs, as one: those that only looked at something are left out."""
    turns = [turn for turn in done.turns if turn.program and turn.outcome is not None and turn.outcome.ok]

    def answers(kept: list[ProgramTurn]) -> bool:
        return bool(again(agent, joined(kept), recording, pool) == done.encoded)

    if not answers(turns):
        raise SemaError("agent/compile: its programs answer otherwise when they are run as one", "ask once more")
    for turn in turns[:-1]:
        calls = turn.outcome.tool_calls if turn.outcome is not None else []
        if all(call.get("effect") == "read" for call in calls):  # other tools may have effects: those calls stay
            rest = [one for one in turns if one is not turn]
            turns = rest if answers(rest) else turns
    return joined(turns)


def joined(turns: list[ProgramTurn]) -> str:
    return "\n\n".join(turn.program or "" for turn in turns)


def again(agent: ProgramAgent, source: str, recording: Recording, pool: Pool) -> Any:
    """The encoded answer of a program with the recorded results of tools; None where it has none."""
    replies = Replies(recording)
    grants = {name: replies.grant(name, grant, None) for name, grant in agent.grants.items()}
    try:
        outcome = pool.run(source, agent.data, grants, agent.limits)
    except Differs:
        return None
    return outcome.encoded if outcome.ok else None


def plain(value: Any) -> Any:
    """Data as Python has it: lists, dicts with texts for keywords."""
    return for_python(HostEncoder().encode(value))
