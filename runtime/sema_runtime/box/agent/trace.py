"""Records of runs, in the family of the workflow journal: one event a line, JSON, its name first.

Every event has `event`, `seq` (from 0, in the file), `ts` (UTC, to the second), `run` (of the agent; that of an agent
inside another is `1.2`) and `at_ms` (since its run began). docs/reference/box.md lists them. Values are as they crossed
(codec.py), so that a recording can be replayed exactly; a file is for its owner alone.
"""

from __future__ import annotations

import json
import os
import threading
import time
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any

from sema_runtime.box.codec import TooLarge
from sema_runtime.box.host_values import HostEncoder
from sema_runtime.support.private_files import owned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sema_runtime.box.agent.definition import ProgramAgent
    from sema_runtime.box.agent.history import ProgramRun
    from sema_runtime.box.outcome import Outcome
    from sema_runtime.box.toolbox import Grant
    from sema_runtime.llm.budgets.usage import Tally
    from sema_runtime.llm.messages import Reply

VERSION = 1


class Trace:
    """The events of one or several runs: kept in `events`, and appended to a file if there is one. told: is called with
    each. Raises OSError for a path that can't be written."""

    def __init__(
        self, path: str | os.PathLike[str] | None = None, told: Callable[[dict[str, Any]], None] | None = None
    ) -> None:
        self.told = told
        self.events: list[dict[str, Any]] = []
        self.file: IO[str] | None = None
        if path is not None:
            self.file = open(path, "w", encoding="utf-8", opener=owned)  # noqa: SIM115 - closed by close()
        self.runs = 0
        self.lock = threading.Lock()

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None

    def run(self, agent: str) -> RunTrace:
        with self.lock:
            self.runs += 1
            return RunTrace(self, str(self.runs), agent)

    def write(self, event: str, fields: dict[str, Any]) -> None:
        with self.lock:
            stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            line = {"event": event, "seq": len(self.events), "ts": stamp, **fields}
            self.events.append(line)
            if self.file is not None:
                self.file.write(json.dumps(line, ensure_ascii=True) + "\n")
                self.file.flush()
        if self.told is not None:
            self.told(line)


class RunTrace:
    """The events of one run. trace: None where nothing is recorded."""

    def __init__(self, trace: Trace | None, name: str, agent: str) -> None:
        self.trace = trace
        self.name = name
        self.agent = agent
        self.turn = 0
        self.inner_runs = 0
        self.started = time.monotonic()

    def inner(self, agent: str) -> RunTrace:
        """The record of a run inside this one."""
        if self.trace is None:
            return self
        self.inner_runs += 1
        return RunTrace(self.trace, f"{self.name}.{self.inner_runs}", agent)

    def write(self, event: str, **fields: Any) -> None:
        if self.trace is not None:
            at = round((time.monotonic() - self.started) * 1000, 3)
            kept = {name: value for name, value in fields.items() if value is not None and value != [] and value != {}}
            self.trace.write(event, {"run": self.name, "at_ms": at, **kept})

    def begun(self, agent: ProgramAgent, question: str, system: str, grants: Mapping[str, Grant]) -> None:
        if self.trace is not None:
            self.write(
                "run.started",
                version=VERSION,
                agent=agent.name,
                model=agent.model,
                question=question,
                system=system,
                protocol=agent.protocol,
                turns=agent.max_turns,
                tools={name: grant.signature for name, grant in grants.items()},
                data=sorted(agent.data),
            )

    def answered(self, reply: Reply, seconds: float) -> None:
        self.turn += 1
        self.write(
            "model.answered",
            turn=self.turn,
            model=reply.model,
            provider=reply.provider,
            text=reply.content,
            calls=[{"id": call.id, "name": call.name, "args": call.arguments} for call in reply.tool_calls],
            stop_reason=reply.stop_reason,
            input_tokens=reply.usage.prompt,
            output_tokens=reply.usage.completion,
            dur_ms=round(seconds * 1000, 3),
        )

    def program(self, source: str) -> None:
        self.write("program.started", turn=self.turn, program=source)

    def called(self, call: dict[str, Any]) -> None:
        if self.trace is not None:
            shown = {**call, "args": encoded(call["args"]), "result": encoded(call["result"])}
            self.write("tool.called", turn=self.turn, **shown)

    def came(self, program: str, outcome: Outcome) -> None:
        self.write(
            "program.ended",
            turn=self.turn,
            status=outcome.status,
            text=outcome.text,
            value=outcome.encoded,
            reason=outcome.reason,
            message=outcome.message,
            line=outcome.line,
            column=outcome.column,
            prints=outcome.prints,
            defined=outcome.defined,
            dur_ms=outcome.duration_ms,
        )

    def ended(self, run: ProgramRun, seconds: float) -> None:
        self._ended(run.status, run.reason, run.message, run.usage, seconds, text=run.text, value=run.encoded)

    def failed(self, problem: Exception, usage: Tally, seconds: float) -> None:
        """The run was ended by an error outside of it, such as of the provider."""
        self._ended("error", "raised", f"{type(problem).__name__}: {problem}"[:500], usage, seconds)

    def _ended(
        self, status: str, reason: str | None, message: str | None, usage: Tally, seconds: float, **more: Any
    ) -> None:
        self.write(
            "run.ended",
            status=status,
            reason=reason,
            message=message,
            answers=self.turn,
            model=usage.model,
            calls=usage.calls,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost_usd=usage.cost_usd,
            dur_ms=round(seconds * 1000, 3),
            **more,
        )


NO_TRACE = RunTrace(None, "", "")


def encoded(value: Any) -> Any:
    """A value as it crosses into the box; a text in the place of one that is too large to."""
    try:
        return HostEncoder().encode(value)
    except TooLarge as problem:
        return {"x": problem.message}
