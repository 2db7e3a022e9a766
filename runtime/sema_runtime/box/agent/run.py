"""A run of an agent that writes programs: asks the model, runs its programs in a session of the box, tells it what came
of them, until one returns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from sema_runtime.box.agent.definition import PROGRAM_TOOL, TOOL, ProgramAgent
from sema_runtime.box.agent.granted import Watched, asked_with, deeper, grants_of, progress
from sema_runtime.box.agent.history import History, ProgramRun, ProgramTurn
from sema_runtime.box.agent.prompt import system_text
from sema_runtime.box.agent.protocol import (
    BAD_RETURN,
    NoProgram,
    correction,
    exchange,
    feedback,
    program_of,
    turn_line,
)
from sema_runtime.box.agent.spending import OwnBudget
from sema_runtime.box.agent.trace import NO_TRACE, RunTrace, Trace
from sema_runtime.box.beside_tasks import run_beside
from sema_runtime.box.outcome import Outcome
from sema_runtime.box.pool import Pool, Session
from sema_runtime.llm import fallback, observers, spans
from sema_runtime.llm.agents import Agent, ToolLoop
from sema_runtime.llm.budgets import budget
from sema_runtime.llm.budgets.usage import Tally
from sema_runtime.llm.messages import Message, Reply, Request, ToolCall
from sema_runtime.values.errors import SemaError

Ask = Callable[[Request], Reply]


@dataclass(frozen=True, slots=True)
class Asking:
    """How a run is made: pool: where programs run. trace: where it is recorded. request: with the settings of each call
    (tags, ids, effort), without messages. history: an earlier conversation. ask: instead of the model."""

    pool: Pool
    trace: Trace | None = None
    request: Request = field(default_factory=lambda: Request([]))
    history: Sequence[Message] = ()
    on_text: Callable[[str], Any] | None = None
    on_tool_call: Callable[[Any], Any] | None = None
    ask: Ask | None = None

    def with_request(
        self, request: Request, on_text: Callable[[str], Any] | None, on_tool_call: Callable[[Any], Any] | None
    ) -> Asking:
        """The same with the settings of a request, whose last message is the question, and callbacks."""
        history = request.messages[:-1]
        return replace(self, request=replace(request, system=None), history=history, on_text=on_text,
                       on_tool_call=on_tool_call)  # fmt: skip


_trace: ContextVar[RunTrace] = ContextVar("agent_trace", default=NO_TRACE)


def run(agent: ProgramAgent, question: str, how: Asking) -> ProgramRun:
    """Runs an agent on a question. Raises LlmError of calls, and PolicyDenied."""
    with deeper(agent.name), ExitStack() as stack:
        around = _trace.get()
        trace = how.trace.run(agent.name) if how.trace is not None else around.inner(agent.name)
        stack.enter_context(setting(_trace, trace))
        if agent.fallback:
            stack.enter_context(setting(fallback.chain, agent.fallback))
        own = OwnBudget(agent.budget) if agent.budget is not None else None
        if own is not None:
            stack.enter_context(setting(budget.scope, own.frame))
        return Dialogue(agent, question, how, trace, own).run()


def previewed(agent: ProgramAgent) -> str:
    """The system text of an agent, without a call."""
    return system_text(agent, grants_of(agent, lambda other, question: None, []).values())


@contextmanager
def setting(variable: ContextVar[Any], value: Any) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


class Unsuccessful(Exception):
    """A program failed, which its span shows."""


class Dialogue:
    """One run."""

    def __init__(
        self, agent: ProgramAgent, question: str, how: Asking, trace: RunTrace, own_budget: OwnBudget | None
    ) -> None:
        self.agent = agent
        self.how = how
        self.trace = trace
        self.own_budget = own_budget
        self.done: list[str] = []
        self.usage = Tally()
        self.left = agent.max_turns
        self.retries = agent.retries
        grants = grants_of(agent, self.ask_other, self.done)
        self.watched = Watched(grants, self.called, how.on_tool_call)
        self.system = system_text(agent, grants.values())
        asked = f"{question}\n\n{turn_line(self.left)}{self.budget_line()}" if self.left > 1 else question
        head = [Message("system", self.system), *how.history, Message("user", asked)]
        self.history = History(head, agent.whole_turns)
        self.question = question

    def run(self) -> ProgramRun:
        started = time.monotonic()
        self.trace.begun(self.agent, self.question, self.system, self.watched.grants)
        request = replace(self.how.request, messages=[Message("user", self.question)])
        try:
            with (
                spans.agent_run(request, self.agent.name) as span,
                Session(self.how.pool, self.agent.data, self.watched.grants, self.agent.limits) as session,
            ):
                ended = self.ended_by_budget(session)
                span.returned(ended.text or ended.message or "")
        except Exception as problem:
            self.trace.failed(problem, self.usage, time.monotonic() - started)
            raise
        self.trace.ended(ended, time.monotonic() - started)
        return ended

    def ended_by_budget(self, session: Session) -> ProgramRun:
        """The run, which also ends where its own budget is spent; a budget around it raises."""
        try:
            return self.loop(session)
        except budget.BudgetError as problem:
            if self.own_budget is None or problem.frame is not self.own_budget.frame:
                raise
            self.own_budget.pass_on()
            return self.ended("error", "budget_exceeded", problem.message)

    def loop(self, session: Session) -> ProgramRun:
        while True:
            reply = self.answered()
            try:
                program = program_of(reply, self.agent.protocol)
            except NoProgram as problem:
                told = correction(problem, self.left)
                self.history.add(ProgramTurn(reply.content, None, None), exchange(reply, told))
                if not self.retries:
                    return self.ended("error", problem.reason, str(problem))
                self.retries -= 1
                continue
            self.left -= 1
            outcome = self.outcome_of(session, program)
            self.history.add(ProgramTurn(reply.content, program, outcome), exchange(reply, self.told(outcome)))
            if outcome.status in ("return", "fail") or (self.agent.max_turns == 1 and outcome.ok):
                return self.ended("fail" if outcome.status == "fail" else "return")
            if not self.left:
                if outcome.status == "error":
                    return self.ended("error", outcome.reason, outcome.message)
                text = f"no answer after {self.agent.max_turns} programs"
                return self.ended("error", "max_turns_exceeded", text)

    def told(self, outcome: Outcome) -> str:
        """What the model is told of a program."""
        if outcome.status in ("return", "fail") or not self.left:
            return outcome.text or outcome.message or "nil"
        plan = f"\n{progress(self.agent.plan, self.done)}" if self.agent.plan else ""
        return feedback(outcome, self.left) + self.budget_line() + plan

    def budget_line(self) -> str:
        return "" if self.own_budget is None else self.own_budget.line()

    def answered(self) -> Reply:
        """The model's next answer."""
        from sema_runtime.llm import complete as layers

        request = replace(self.how.request, messages=self.history.to_send(), model=self.agent.model)
        if self.agent.protocol == TOOL:
            request.tools = [PROGRAM_TOOL]
        started = time.monotonic()
        before = observers.last()
        try:
            if self.how.ask is not None:
                reply = self.how.ask(request)
            elif self.how.on_text is None:
                reply = layers.complete(request)
            else:
                reply = layers.stream(request, self.how.on_text)
        finally:
            call = observers.last()
            if call is not None and call is not before and call.usage is not None:
                self.usage.add(call.usage, call.model, call.cost_usd)
        self.trace.answered(reply, time.monotonic() - started)
        if self.own_budget is not None:
            self.own_budget.pass_on()
        return reply

    def outcome_of(self, session: Session, program: str) -> Outcome:
        """What came of a program. Raises what a tool raised that ends the run."""
        self.trace.program(program)
        call = ToolCall("", PROGRAM_TOOL.name, {"program": program})
        outcome = None
        with suppress(Unsuccessful), spans.tool_call(call, PROGRAM_TOOL.description) as span:
            outcome = self.checked(run_beside(session, program))
            if outcome.status == "error":
                raise Unsuccessful(outcome.message or "")
            span.returned(outcome.text or "nil")
        assert outcome is not None
        self.trace.came(program, outcome)
        if self.watched.ended_by is not None:
            raise self.watched.ended_by
        if self.own_budget is not None:
            self.own_budget.pass_on()
        return outcome

    def checked(self, outcome: Outcome) -> Outcome:
        """The outcome, which is an error where what is returned hasn't the form that the agent asks for."""
        is_answer = outcome.status == "return" or (self.agent.max_turns == 1 and outcome.ok)
        if self.agent.returns is None or not is_answer:
            return outcome
        from sema_runtime.llm.tools.schema import problems

        wrong = problems({"answer": self.agent.returns}, {"answer": outcome.value})
        if not wrong:
            return outcome
        text = f"the answer hasn't the form that is asked for: {'; '.join(wrong)}"
        return replace(outcome, status="error", reason=BAD_RETURN, message=text, value=None, text=None, encoded=None)

    def called(self, call: dict[str, Any]) -> None:
        self.trace.called(call)

    def ask_other(self, other: Agent, question: str) -> Any:
        """What another agent answers. Raises SemaError where it has no answer."""
        chosen = asked_with(other, self.agent)
        if not isinstance(chosen, ProgramAgent):
            request = replace(self.how.request, messages=[Message("user", question)], model=chosen.model)
            request.system = chosen.system or None
            tools = {tool.name: tool for tool in chosen.tools}
            return ToolLoop(request, tools, chosen.max_turns, parallel=chosen.parallel, agent_name=chosen.name).run()
        inner = run(chosen, question, Asking(self.how.pool, request=self.how.request))
        if inner.ok:
            return inner.value
        raise SemaError(f"agent {chosen.name}: {inner.message or inner.text or 'no answer'} ({inner.reason or 'fail'})")

    def ended(self, status: str, reason: str | None = None, message: str | None = None) -> ProgramRun:
        turns = self.history.turns
        last = next((t.outcome for t in reversed(turns) if t.outcome is not None and t.outcome.status != "error"), None)
        return ProgramRun(
            status,
            last.value if last is not None else None,
            reason,
            message,
            turns,
            self.history.messages(),
            self.usage,
            last.text if last is not None else None,
            last.encoded if last is not None else None,
        )
