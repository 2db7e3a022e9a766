"""Spending limits. A frame holds for the dynamic extent of `llm/with-budget`, tasks included; `llm/set-budget` sets the
one that holds elsewhere. Charges go to the innermost frame and to every reserving frame around it.

An ordinary frame is checked after each call (spec §9), so it can be overspent by the calls under way. A reserving frame
sets aside what a call may cost at most before it is sent (reserve.py), and is never overspent.
"""

from __future__ import annotations

import os
from contextvars import ContextVar
from dataclasses import dataclass
from math import ceil, floor, inf
from threading import RLock

from sema_runtime.support.money import dollars
from sema_runtime.support.visible import tell
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import LlmError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.llm.budgets.reservations import Hold
    from sema_runtime.workflow.journal.spend_log import SpendLog

ADVICE = "raise the limit, or ask for less: fewer rounds (:max-turns), a smaller :max-tokens, a cheaper model"
UNITS = 10**12  # of a dollar: reserving frames count in integers, so that no sum is rounded past its limit


class BudgetError(LlmError):
    """A limit is passed, or a call that could pass it wasn't sent. Caught maps have `:reason :budget`, :limit, :spent
    (both in `:unit`, :usd or :tokens). frame: the one with that limit."""

    def __init__(self, message: str, frame: Frame, unit: str, hint: str = ADVICE) -> None:
        usd = unit == "usd"
        limit, spent = (frame.max_cost_usd, frame.spent_usd) if usd else (frame.max_tokens, frame.spent_tokens)
        super().__init__(message, hint, reason=keyword("budget"), unit=keyword(unit), limit=limit, spent=spent)
        self.frame: Frame | None = frame

    def __reduce__(self) -> tuple[Any, ...]:
        restore, (kind, args, state) = super().__reduce__()
        return restore, (kind, args, {**state, "frame": None})


@dataclass(slots=True, eq=False)
class Frame:
    """Limits (None: not limited) and what was spent under them. pre_gate: refuse to open a stream once spent.
    reserve: hold back what calls may cost. outer: the reserving frames around this one. held: by calls under way. log:
    where holds and charges are written down, of a budget that outlives the process."""

    max_cost_usd: float | None = None
    max_tokens: int | None = None
    pre_gate: bool = False
    reserve: bool = False
    outer: tuple[Frame, ...] = ()
    spent_usd: float = 0.0
    spent_tokens: int = 0
    spent_units: int = 0
    held_units: int = 0
    held_tokens: int = 0
    queue: Any = None  # reserve.Queue, of an outermost reserving frame
    log: SpendLog | None = None

    def charged(self) -> tuple[Frame, ...]:
        """Every frame that a call made here is charged to."""
        return (self, *self.outer)

    def around(self) -> tuple[Frame, ...]:
        """The reserving frames that a call made here is held in, the innermost first."""
        return self.charged() if self.reserve else self.outer

    def limit_units(self) -> int | None:
        limit = self.max_cost_usd
        return None if limit is None or limit == inf else floor(limit * UNITS)

    def charge(self, tokens: int, cost_usd: float | None, hold: Hold | None = None) -> None:
        """hold: of the call, if it was held here."""
        if self.log is not None:
            self.log.spent(hold, tokens, units(cost_usd or 0.0))
        self.spent_tokens += tokens
        if cost_usd:
            self.spent_units += units(cost_usd)
            self.spent_usd = self.spent_units / UNITS if self.reserve else self.spent_usd + cost_usd


def units(usd: float) -> int:
    """Rounded up, but for the noise of binary fractions."""
    return ceil(usd * UNITS - 0.001)


lock = RLock()  # around every change of a frame: programs in Python may use one from several threads
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: globals().update(lock=RLock()))  # a thread that isn't there may have it
scope: ContextVar[Frame | None] = ContextVar("budget", default=None)
_base = Frame()
_warned = False


def current() -> Frame:
    """The frame that is charged here."""
    return scope.get() or _base


def inner(max_cost_usd: float | None, max_tokens: int | None, pre_gate: bool, reserve: bool) -> Frame:
    """A fresh frame for a scope inside the present one. Tokens below 0 count as 0."""
    outer = scope.get()
    around = () if outer is None else outer.around()
    return Frame(max_cost_usd, None if max_tokens is None else max(0, max_tokens), pre_gate, reserve, around)


def set_limit(usd: float) -> None:
    """A limit from now on: counting starts at 0. What runs in a reserving budget can't lift that one: it gets an
    ordinary budget beside it, for the rest of the task."""
    frame = current()
    if frame.reserve:
        scope.set(inner(usd, None, frame.pre_gate, False))
        return
    frame.max_cost_usd = usd
    frame.spent_usd = 0.0
    frame.spent_units = 0


def clear() -> None:
    frame = current()
    if not frame.reserve:
        frame.max_cost_usd = None
        frame.max_tokens = None


def charge(tokens: int, cost_usd: float | None, model: str, hold: Hold | None = None, check: bool = True) -> None:
    """Charges one call and settles what was held for it. Raises LlmError when an ordinary frame's limit is exceeded
    (tokens are checked first), unless check is False: an error is on its way already."""
    frame = current()
    with lock:
        for one in frame.charged():
            if hold is not None and one.reserve:
                if hold.live:  # else it was charged when the stream was abandoned
                    one.charge(*hold.at_least(tokens, cost_usd), hold)
            else:
                one.charge(tokens, cost_usd)
                if cost_usd is None and tokens and one.max_cost_usd is not None:
                    warn_unpriced(model)
        if hold is not None:
            hold.release()
    if check and not frame.reserve:
        _check(frame)


def _check(frame: Frame) -> None:
    limit, spent = frame.max_tokens, frame.spent_tokens
    if limit is not None and spent > limit:
        raise BudgetError(f"token budget exceeded: used {spent} of {limit} tokens", frame, "tokens")
    usd, spent_usd = frame.max_cost_usd, frame.spent_usd
    if usd is not None and spent_usd > usd:
        raise BudgetError(f"budget exceeded: spent {_amount(spent_usd)} of {_amount(usd)} limit", frame, "usd")


def check_stream() -> None:
    """Raises LlmError when a pre-gated budget is used up, before a stream is opened; the cost is checked first."""
    frame = current()
    if not frame.pre_gate:
        return
    blocked = "— streaming call blocked at open"
    usd, spent_usd = frame.max_cost_usd, frame.spent_usd
    if usd is not None and spent_usd >= usd:
        said = f"budget exceeded: {_amount(spent_usd)} of {_amount(usd)} limit already spent {blocked}"
        raise BudgetError(said, frame, "usd")
    limit, spent = frame.max_tokens, frame.spent_tokens
    if limit is not None and spent >= limit:
        said = f"token budget exceeded: {spent} of {limit} tokens already used {blocked}"
        raise BudgetError(said, frame, "tokens")


def _amount(usd: float) -> str:
    """As the reference has it, but with more decimals where four would show nothing."""
    return dollars(usd, 1) if usd >= 0 else f"${usd:.4f}"


def warn_unpriced(model: str) -> None:
    """Says, once in a process, that a limit in USD doesn't hold for a model."""
    global _warned
    if not _warned:
        _warned = True
        tell(
            f"warning: no price known for model '{model}'; the cost limit is not enforced for it"
            " (set one with llm/set-pricing, or limit :max-tokens)",
        )
