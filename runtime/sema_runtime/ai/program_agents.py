"""Agents that write programs: the model answers with a program, which runs in the box with the tools and the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sema_runtime.ai.options import CallOptions, sema_options
from sema_runtime.ai.values import messages_of
from sema_runtime.box import Limits, Outcome, Pool, Session
from sema_runtime.box.agent.prompt import system_text
from sema_runtime.box.agent.protocol import NoProgram, correction, feedback, program_in, turn_line
from sema_runtime.box.toolbox import grants

MOST_BAD_ANSWERS = 3  # in a row, without a program


@dataclass(frozen=True, slots=True)
class ProgramTurn:
    """One answer of the model. program: None where it had none."""

    answer: str
    program: str | None
    outcome: Outcome | None


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """What came of a question. status: "return", "fail", or "error" with a reason (max_turns_exceeded, no_code_found).

    value: what the program returned, for Python; after an error the last value that a program had. messages: the
    conversation, as plain data.
    """

    status: str
    value: Any
    reason: str | None
    message: str | None
    turns: list[ProgramTurn]
    messages: list[dict[str, str]]

    @property
    def ok(self) -> bool:
        return self.status == "return"


@dataclass(frozen=True, kw_only=True)
class BaseProgramAgent:
    """tools: Python functions with annotations, or tools. data: inputs that programs read as `data/NAME`. system: what
    the agent is for. turns: how many programs it may write; with 1 the value of the program is the answer. limits: of
    each program. pool: to share processes with others; else each run has its own."""

    tools: Any = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    system: str = ""
    model: str = ""
    turns: int = 5
    limits: Limits = field(default_factory=Limits)
    pool: Pool | None = None

    def prompt(self) -> str:
        """The system text that the model gets, without a call."""
        return system_text(self.system, grants(self.tools).values(), self.data, self.turns)

    def _run(self, question: str) -> ProgramRun:
        if self.pool is not None:
            return self._conversation(question, self.pool)
        with Pool(self.limits, spare=0) as pool:
            return self._conversation(question, pool)

    def _conversation(self, question: str, pool: Pool) -> ProgramRun:
        from sema_runtime.lib.llm.llm import llm_chat

        messages = [
            {"role": "system", "content": self.prompt()},
            {"role": "user", "content": f"{question}\n\n{turn_line(self.turns)}" if self.turns > 1 else question},
        ]
        options: Any = {"model": self.model} if self.model else {}
        done: list[ProgramTurn] = []
        bad = 0
        with Session(pool, self.data, self.tools, self.limits) as session:
            for left in range(self.turns - 1, -1, -1):
                answer = str(llm_chat(messages_of(messages), sema_options(options, CallOptions, "run")))
                messages.append({"role": "assistant", "content": answer})
                try:
                    program = program_in(answer)
                except NoProgram as problem:
                    done.append(ProgramTurn(answer, None, None))
                    bad += 1
                    if not left or bad == MOST_BAD_ANSWERS:
                        return self._ended("error", done, messages, problem.reason, str(problem))
                    messages.append({"role": "user", "content": correction(problem, left)})
                    continue
                bad = 0
                outcome = session.run(program)
                done.append(ProgramTurn(answer, program, outcome))
                if outcome.status in ("return", "fail") or (self.turns == 1 and outcome.ok):
                    return self._ended("fail" if outcome.status == "fail" else "return", done, messages)
                if left:
                    messages.append({"role": "user", "content": feedback(outcome, left)})
        last = done[-1].outcome
        if last is not None and last.status == "error":
            return self._ended("error", done, messages, last.reason, last.message)
        return self._ended("error", done, messages, "max_turns_exceeded", f"no answer after {self.turns} programs")

    def _ended(
        self,
        status: str,
        done: list[ProgramTurn],
        messages: list[dict[str, str]],
        reason: str | None = None,
        message: str | None = None,
    ) -> ProgramRun:
        values = [turn.outcome.value for turn in done if turn.outcome is not None and turn.outcome.status != "error"]
        return ProgramRun(status, values[-1] if values else None, reason, message, done, messages)
