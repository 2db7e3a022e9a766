"""What an agent's programs may call: its tools, other agents, the ticking off of its plan; watched while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import replace
from typing import Any

from sema_runtime import telemetry
from sema_runtime.box.agent.definition import ProgramAgent
from sema_runtime.box.toolbox import Grant, Invalid
from sema_runtime.llm import policy_guard, spans
from sema_runtime.llm.agents import Agent, ends_run, preview
from sema_runtime.llm.jsonable import compact, to_sema
from sema_runtime.llm.messages import ToolCall
from sema_runtime.llm.tools.tool import Tool
from sema_runtime.values.errors import SemaError
from sema_runtime.values.maps import Map

MOST_DEPTH = 3
depth: ContextVar[int] = ContextVar("agent_depth", default=0)
Called = Callable[[dict[str, Any]], None]  # gets what is known of a call that has ended


@contextmanager
def deeper(name: str) -> Iterator[None]:
    """One run inside another. Raises SemaError where agents ask agents too deeply."""
    level = depth.get()
    if level > MOST_DEPTH:
        raise SemaError(f"agent {name}: agents ask agents more than {MOST_DEPTH} deep (max_depth_exceeded)")
    token = depth.set(level + 1)
    try:
        yield
    finally:
        depth.reset(token)


def grants_of(agent: ProgramAgent, ask: Callable[[Agent, str], Any], done: list[str]) -> dict[str, Grant]:
    """All that the agent's programs may call. ask: runs another agent. done: gets the steps of the plan."""
    found = dict(agent.grants)
    for other in agent.agents:
        found[other.name] = asking(other, ask)
    if agent.plan:
        found["step-done"] = ticking(agent.plan, done)
    return found


def asking(other: Agent, ask: Callable[[Agent, str], Any]) -> Grant:
    def call(arguments: dict[str, Any]) -> Any:
        question = only(other.name, arguments, "question")
        return ask(other, question)

    first = other.system.strip().partition("\n")[0]
    made = Grant(other.name, call, f"tool/{other.name}(question string) -> any", f"asks another agent: {first}")
    made.untimed = True
    return made


class Tick(Grant):
    """The tool that ticks off a step. It touches nothing, so no policy is asked."""


def ticking(plan: tuple[str, ...], done: list[str]) -> Grant:
    def call(arguments: dict[str, Any]) -> str:
        step = only("step-done", arguments, "step")
        if step not in plan:
            raise Invalid(f"there is no step {step!r}; the steps are {', '.join(map(repr, plan))}")
        if step not in done:
            done.append(step)
        return progress(plan, done)

    return Tick("step-done", call, "tool/step-done(step string) -> string", "ticks off a step of the plan")


def only(tool: str, arguments: dict[str, Any], name: str) -> str:
    if list(arguments) != [name] or type(arguments[name]) is not str:
        raise Invalid(f'give one text: (tool/{tool} {{:{name} "..."}})')
    return str(arguments[name])


def progress(plan: tuple[str, ...], done: list[str]) -> str:
    return "Plan: " + "; ".join(f"[{'x' if step in done else ' '}] {step}" for step in plan)


def asked_with(other: Agent, parent: ProgramAgent) -> Agent:
    """Another agent as its parent asks it: with the parent's model unless it has its own."""
    return other if other.model else replace(other, model=parent.model)


def told(error: Exception) -> str:
    """An error of a tool as the program gets it."""
    return error.message if isinstance(error, SemaError) else f"{type(error).__name__}: {error}"[:500]


class Watched:
    """Grants of one run: each call is checked by the policy in force, timed, traced and reported.

    ended_by: an error that ends the whole run, such as a spent budget; no tool is called after it.
    """

    def __init__(self, grants: dict[str, Grant], called: Called, on_tool_call: Callable[[Any], Any] | None) -> None:
        self.called = called
        self.on_tool_call = on_tool_call
        self.ended_by: Exception | None = None
        self.grants = {name: self.watched(grant) for name, grant in grants.items()}

    def watched(self, grant: Grant) -> Grant:
        made = copy(grant)
        made.call = lambda arguments: self.call(grant, arguments)
        return made

    def call(self, grant: Grant, arguments: dict[str, Any]) -> Any:
        if self.ended_by is not None:
            raise self.ended_by
        request = ToolCall("", grant.name, arguments)
        self.tell({"event": "start", "tool": grant.name, "args": arguments})
        started = time.monotonic()
        result: Any = None
        error: Exception | None = None
        try:
            with spans.tool_call(request, grant.description) as span:
                result = self.allowed(grant, request)
                if telemetry.tracer() is not None:
                    span.returned(compact(to_sema(result)))
            return result
        except Exception as problem:
            error = problem
            if ends_run(problem):
                self.ended_by = problem
            raise
        finally:
            self.report(grant.name, arguments, result, error, round((time.monotonic() - started) * 1000, 3))

    def allowed(self, grant: Grant, request: ToolCall) -> Any:
        """The result of a call that no policy forbids. Raises PolicyDenied."""
        guard = policy_guard.current.get()
        if guard is not None and not isinstance(grant, Tick):
            tool = grant.tool or Tool(grant.name, grant.description, Map(), grant.call)
            refused = guard.tool_calls([request], {grant.name: tool})
            if refused:
                raise refused[id(request)]
        return grant.call(request.arguments)

    def report(self, name: str, arguments: Any, result: Any, error: Exception | None, spent: float) -> None:
        text = None if error is None else told(error)
        kind = "validation-error" if isinstance(error, Invalid) else None
        self.called({"tool": name, "args": arguments, "result": result, "error": text, "kind": kind, "dur_ms": spent})
        if self.on_tool_call is None:
            return
        shown = f"Error: {text}" if text is not None else preview(compact(to_sema(result)))
        end = {"event": "end", "tool": name, "args": arguments, "result": shown, "error": text is not None}
        self.tell({**end, "duration-ms": int(spent)})

    def tell(self, event: dict[str, Any]) -> None:
        """Calls on_tool_call; its errors don't end the run."""
        if self.on_tool_call is None:
            return
        try:
            self.on_tool_call(to_sema(event))
        except Exception as problem:
            if ends_run(problem):
                raise
