"""What an agent that writes programs is: its instructions, its tools and inputs, and how far it may go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sema_runtime.box.limits import Limits
from sema_runtime.box.toolbox import Grant
from sema_runtime.llm.agents import Agent
from sema_runtime.llm.fallback import Entry
from sema_runtime.llm.messages import ToolSchema
from sema_runtime.values.errors import SemaError

TURNS = 5
RETRIES = 2
WHOLE_TURNS = 8
FENCED, TOOL = "fenced", "tool"
PROTOCOLS = (FENCED, TOOL)
PROGRAM_TOOL = ToolSchema(
    "run_program",
    "Runs one program in the box. You get what it prints, or its value.",
    {
        "type": "object",
        "properties": {"program": {"type": "string", "description": "The whole program, in Sema."}},
        "required": ["program"],
        "additionalProperties": False,
    },
)


@dataclass(slots=True, frozen=True)
class Spending:
    """A budget of one run. reserve: nothing is sent that could pass it (llm/budgets/budget.py)."""

    max_cost_usd: float | None = None
    max_tokens: int | None = None
    reserve: bool = False


@dataclass(slots=True, frozen=True, eq=False, kw_only=True)
class ProgramAgent(Agent):
    """An agent whose answers are programs for the box.

    max_turns: how many programs it may write; with 1 the value of the program is the answer. grants: its tools, by
    name. agents: others, which it asks as tools of their names. data: inputs `data/NAME`. limits: of each program.
    protocol: "fenced" for a block of code in the answer, "tool" for one native tool that takes a program. retries:
    answers without a program that are corrected and cost no turn, in all. plan: steps that it is shown and ticks off.
    returns: a spec as in schemas of `llm/extract`, which the answer must have. whole_turns: the exchanges before the
    last ones are shortened once there are more than that; None: never. budget: of each run. fallback: providers that
    are asked in turn.
    """

    max_turns: int = TURNS
    grants: Mapping[str, Grant] = field(default_factory=dict)
    agents: tuple[Agent, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    protocol: str = FENCED
    retries: int = RETRIES
    plan: tuple[str, ...] = ()
    returns: Any = None
    whole_turns: int | None = WHOLE_TURNS
    budget: Spending | None = None
    fallback: tuple[Entry, ...] = ()

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise SemaError(f"agent {self.name}: unknown protocol {self.protocol!r}", "it is 'fenced' or 'tool'")
        for what, number, least in (("turns", self.max_turns, 1), ("retries", self.retries, 0)):
            if type(number) is not int or number < least:
                raise SemaError(f"agent {self.name}: {what} must be an integer of at least {least}, got {number!r}")
        if self.whole_turns is not None and (type(self.whole_turns) is not int or self.whole_turns < 1):
            raise SemaError(f"agent {self.name}: whole turns must be a positive integer, got {self.whole_turns!r}")
        names = [agent.name for agent in self.agents]
        for name in names:
            if not name or name in self.grants or names.count(name) > 1:
                raise SemaError(f"agent {self.name}: an agent that it asks needs a name of its own, got {name!r}")
