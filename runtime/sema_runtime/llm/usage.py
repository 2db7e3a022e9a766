"""Token counts and cost: of the last call (each task sees its own) and of the whole session."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from sema_runtime.llm import budget, pricing
from sema_runtime.llm.calls import Call
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


def measure(call: Call, reply: Reply) -> None:
    """Notes a reply, what it used and what that costs. An empty model or provider of the reply is the call's."""
    call.reply = reply
    spent(call, reply.usage, reply.model, reply.provider)


def spent(call: Call, used: Usage, model: str, provider: str) -> None:
    """Notes what a call used, and what that costs."""
    call.model = model or call.model
    call.provider = provider or call.provider
    call.usage = used
    call.cost_usd = pricing.cost(call.model, call.provider, used.prompt, used.completion)


def count(call: Call) -> None:
    """Adds a measured call to the sums."""
    used = call.usage or Usage()
    _last.set(Counted(used, call.model, call.cost_usd))
    total = session.usage
    total.prompt += used.prompt
    total.completion += used.completion
    total.cache_read += used.cache_read
    total.cache_creation += used.cache_creation
    session.cost_usd += call.cost_usd or 0.0


def charge(call: Call, check: bool = True) -> None:
    """Charges a measured call to the budget. Raises LlmError when that is now overspent, unless check is False."""
    used = call.usage or Usage()
    hold, call.hold = call.hold, None
    budget.charge(used.total, call.cost_usd, call.model, hold, check)


def track(call: Call) -> None:
    """Counts and charges a measured call. Raises LlmError when the budget is now overspent."""
    count(call)
    charge(call)
