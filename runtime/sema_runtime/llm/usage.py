"""Token counts and cost: of the last call (each task sees its own) and of the whole session."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from sema_runtime.llm import budget, pricing
from sema_runtime.llm.messages import Reply, Usage


@dataclass(slots=True)
class Counted:
    """One call's usage. cost_usd: None when the model's price is unknown."""

    usage: Usage
    model: str
    cost_usd: float | None


class Session:
    """Sums over all calls. cost_usd counts priced calls only."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.usage = Usage()
        self.cost_usd = 0.0


_last: ContextVar[Counted | None] = ContextVar("last_usage", default=None)
session = Session()


def last() -> Counted | None:
    return _last.get()


def reset() -> None:
    session.reset()
    _last.set(None)


def track(reply: Reply) -> None:
    """Counts a reply and charges the budget. Raises LlmError when that is now overspent."""
    used = reply.usage
    spent = pricing.cost(reply.model, reply.provider, used.prompt, used.completion)
    _last.set(Counted(used, reply.model, spent))
    total = session.usage
    total.prompt += used.prompt
    total.completion += used.completion
    total.cache_read += used.cache_read
    total.cache_creation += used.cache_creation
    session.cost_usd += spent or 0.0
    budget.charge(used.total, spent, reply.model)
