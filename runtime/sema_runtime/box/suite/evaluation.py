"""Runs the tasks with a model, or with a scripted one that knows the answers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sema_runtime.box.agent.definition import FENCED, ProgramAgent, Spending
from sema_runtime.box.agent.run import Ask, Asking, run
from sema_runtime.box.agent.trace import Trace
from sema_runtime.box.limits import Limits
from sema_runtime.box.pool import Pool
from sema_runtime.box.suite.catalogue import solutions
from sema_runtime.box.suite.data import Shop
from sema_runtime.box.suite.measures import Attempt, attempt
from sema_runtime.box.suite.tasks import Task
from sema_runtime.box.toolbox import grants
from sema_runtime.llm.messages import Reply, Request, ToolCall

SYSTEM = "You answer questions about a shop: its products, orders, employees, expenses and documents."


@dataclass(frozen=True, slots=True)
class Setting:
    """model: "" for the provider's default. max_tokens: of one run. scripted: no model is called."""

    model: str = ""
    protocol: str = FENCED
    max_tokens: int | None = None
    scripted: bool = False
    with_plans: bool = True


def agent_of(task: Task, shop: Shop, setting: Setting) -> ProgramAgent:
    return ProgramAgent(
        name=f"task-{task.number}",
        system=SYSTEM,
        model=setting.model,
        grants=grants(shop.tools()),
        data=shop.inputs(),
        max_turns=task.turns,
        plan=task.plan if setting.with_plans else (),
        protocol=setting.protocol,
        limits=Limits(wall_ms=20_000),
        budget=None if setting.max_tokens is None else Spending(max_tokens=setting.max_tokens),
    )


def evaluated(
    tasks: Sequence[Task], shop: Shop, setting: Setting, pool: Pool, runs: int, trace: Trace | None = None
) -> Iterator[Attempt]:
    """Each task, so many times. Raises LlmError of calls."""
    for task in tasks:
        for _ in range(runs):
            started = time.monotonic()
            ask = scripted(task, setting) if setting.scripted else None
            done = run(agent_of(task, shop, setting), task.question, Asking(pool, trace, ask=ask))
            passed = done.ok and task.check(done.value, task.answer(shop))
            yield attempt(task.number, passed, done, time.monotonic() - started)


def scripted(task: Task, setting: Setting) -> Ask:
    """A model that answers with the programs of the task's solution, one after the other."""
    programs = iter(solutions()[task.number])

    def ask(_: Request) -> Reply:
        program = next(programs, '(fail "the script has no further program")')
        if setting.protocol == FENCED:
            return Reply(f"```sema\n{program}\n```", "scripted")
        return Reply("", "scripted", tool_calls=[ToolCall("c1", "run_program", {"program": program})])

    return ask
