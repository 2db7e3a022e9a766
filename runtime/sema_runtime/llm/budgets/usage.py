"""Token counts and cost: of the last call (each task sees its own) and of the whole session."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from sema_runtime.llm.budgets import budget, pricing
from sema_runtime.llm.calls import Call
from sema_runtime.llm.messages import Reply, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sema_runtime.llm.budgets.reservations import Reservation


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


@dataclass(slots=True)
class Tally:
    """Sums over the calls of one piece of work and the tasks it starts. An answer of the cache, which used nothing and
    has no price, does not count. cost_usd: None before the first priced call. model: of the last call."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    model: str = ""
    calls: int = 0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def add(self, used: Usage, model: str, cost_usd: float | None) -> None:
        if not (used.prompt or used.completion) and cost_usd is None:
            return
        self.input_tokens += used.prompt
        self.output_tokens += used.completion
        if cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + cost_usd
        self.model = model or self.model
        self.calls += 1


_last: ContextVar[Counted | None] = ContextVar("last_usage", default=None)
tally: ContextVar[Tally | None] = ContextVar("usage_tally", default=None)  # counts the calls made here
session = Session()


def last() -> Counted | None:
    return _last.get()


def reset() -> None:
    session.reset()
    _last.set(None)


def measure(call: Call, reply: Reply) -> None:
    """Records a reply, its usage and its cost. If the reply names no model or provider, the call's stay."""
    call.reply = reply
    spent(call, reply.usage, reply.model, reply.provider)


def spent(call: Call, used: Usage, model: str, provider: str) -> None:
    """Records what a call used, and its cost."""
    call.model = model or call.model
    call.provider = provider or call.provider
    call.usage = used
    call.cost_usd = pricing.cost(call.model, call.provider, used.prompt, used.completion)


def count(call: Call) -> None:
    """Adds a measured call to the sums."""
    used = call.usage or Usage()
    _last.set(Counted(used, call.model, call.cost_usd))
    counting = tally.get()
    if counting is not None:
        counting.add(used, call.model, call.cost_usd)
    total = session.usage
    with budget.lock:
        total.prompt += used.prompt
        total.completion += used.completion
        total.cache_read += used.cache_read
        total.cache_creation += used.cache_creation
        session.cost_usd += call.cost_usd or 0.0


def charge(call: Call, check: bool = True) -> None:
    """Charges a measured call to the budget; without reported usage, the guessed one. Raises LlmError when the budget
    is now overspent, unless check is False."""
    used, cost = call.usage or Usage(), call.cost_usd
    if call.guessed_usage is not None:
        used = call.guessed_usage
        cost = pricing.cost(call.model, call.provider, used.prompt, used.completion)
    reservation, call.reservation = call.reservation, None
    budget.charge(used.total, cost, call.model, reservation, check)


def charge_in_full(call: Call, reservation: Reservation) -> None:
    """Charges all that was reserved for a measured call that broke off: the server may bill it. An ordinary frame,
    which reserves nothing, is charged the known usage."""
    frame = budget.current()
    if not frame.reserve:
        with budget.lock:
            frame.charge((call.usage or Usage()).total, call.cost_usd)
    reservation.charge_in_full()


def track(call: Call) -> None:
    """Counts and charges a measured call. Raises LlmError when the budget is now overspent."""
    count(call)
    charge(call)
