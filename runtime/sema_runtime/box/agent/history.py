"""The messages of a run, their short form once there are many, and what came of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from sema_runtime.box.agent.prompt import cut
from sema_runtime.box.outcome import Outcome
from sema_runtime.llm.budgets.usage import Tally
from sema_runtime.llm.messages import Message

KEPT = 3  # exchanges that stay whole
MOST_LINE = 160  # characters of an earlier program, and of what came of it
DEFINED = re.compile(r"^\((?:define|defn|def|defmacro|defun)\s+\(?([^\s()\[\]]+)", re.M)


@dataclass(frozen=True, slots=True)
class ProgramTurn:
    """One answer of the model. program: None where it had none."""

    answer: str
    program: str | None
    outcome: Outcome | None


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """What came of a question. status: "return", "fail", or "error" with a reason: max_turns_exceeded, no_code_found,
    multiple_code_blocks, truncated, return_validation_failed, budget_exceeded, or that of the last program.

    value: what the program returned, for Python; after an error the last value that a program had. encoded: the same
    as it crossed. text: the same as Sema prints it. sent: the conversation. usage: of the model's calls, those of other
    agents not included.
    """

    status: str
    value: Any
    reason: str | None
    message: str | None
    turns: list[ProgramTurn]
    sent: list[Message]
    usage: Tally
    text: str | None = None
    encoded: Any = None

    @property
    def ok(self) -> bool:
        return self.status == "return"

    @property
    def messages(self) -> list[dict[str, str]]:
        """The conversation as plain data."""
        return [{"role": message.role, "content": message.content} for message in self.sent]


@dataclass(slots=True)
class History:
    """head: system text, earlier conversation and question. exchanges: the messages of each turn."""

    head: list[Message]
    whole_turns: int | None
    exchanges: list[list[Message]] = field(default_factory=list)
    turns: list[ProgramTurn] = field(default_factory=list)

    def add(self, turn: ProgramTurn, exchange: list[Message]) -> None:
        self.turns.append(turn)
        self.exchanges.append(exchange)

    def messages(self) -> list[Message]:
        """All of them."""
        return [*self.head, *(message for exchange in self.exchanges for message in exchange)]

    def to_send(self) -> list[Message]:
        """Those of the next request. Definitions live in the box, so the early exchanges can be shortened."""
        if self.whole_turns is None or len(self.exchanges) <= self.whole_turns:
            return self.messages()
        kept = min(KEPT, self.whole_turns)
        question = self.head[-1]
        short = Message("user", f"{question.content}\n\n{summary(self.turns[:-kept])}", question.images)
        return [*self.head[:-1], short, *(message for exchange in self.exchanges[-kept:] for message in exchange)]


def summary(turns: list[ProgramTurn]) -> str:
    """Earlier turns, a line each, and the names that they defined."""
    names: dict[str, None] = {}
    lines = [f"Your first {len(turns)} answers, in short:"]
    for number, turn in enumerate(turns, 1):
        lines.append(f"{number}. {short_line(turn)}")
        if turn.program is not None and turn.outcome is not None and turn.outcome.ok:
            names.update(dict.fromkeys(DEFINED.findall(turn.program)))
    if names:
        lines.append(f"They defined: {', '.join(names)}.")
    return "\n".join(lines)


def short_line(turn: ProgramTurn) -> str:
    if turn.program is None or turn.outcome is None:
        return "no program"
    outcome = turn.outcome
    if outcome.status == "error":
        came = f"failed: {outcome.message} ({outcome.reason})"
    else:
        came = "\n".join(outcome.prints) or outcome.text or "nil"
    return f"{cut(turn.program, MOST_LINE)} => {cut(came, MOST_LINE)}"
