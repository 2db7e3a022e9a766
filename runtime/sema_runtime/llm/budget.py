"""Spending limits. A frame holds for the dynamic extent of `llm/with-budget`, tasks included; `llm/set-budget` sets the
one that holds elsewhere. Charges go to the innermost frame and to every reserving frame around it.

An ordinary frame is checked after each call (spec §9), so it can be overspent by the calls under way. A reserving frame
sets aside what a call may cost at most before it is sent (reserve.py), and is never overspent.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from math import ceil, floor

from sema_runtime.values.errors import LlmError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.llm.reserve import Hold

ADVICE = "raise the limit, or ask for less: fewer rounds (:max-turns), a smaller :max-tokens, a cheaper model"
UNITS = 10**12  # of a dollar: reserving frames count in integers, so that no sum is rounded past its limit


@dataclass(slots=True, eq=False)
class Frame:
    """Limits (None: not limited) and what was spent under them. pre_gate: refuse to open a stream once spent.
    reserve: hold back what calls may cost. outer: the reserving frames around this one. held: by calls under way."""

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

    def charged(self) -> tuple[Frame, ...]:
        """Every frame that a call made here is charged to."""
        return (self, *self.outer)

    def around(self) -> tuple[Frame, ...]:
        """The reserving frames that a call made here is held in, the innermost first."""
        return self.charged() if self.reserve else self.outer

    def limit_units(self) -> int | None:
        return None if self.max_cost_usd is None else floor(self.max_cost_usd * UNITS)

    def charge(self, tokens: int, cost_usd: float | None) -> None:
        self.spent_tokens += tokens
        if cost_usd:
            self.spent_units += units(cost_usd)
            self.spent_usd = self.spent_units / UNITS if self.reserve else self.spent_usd + cost_usd


def units(usd: float) -> int:
    """Rounded up, but for the noise of binary fractions."""
    return ceil(usd * UNITS - 0.001)


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
    """A limit from now on: counting starts at 0."""
    frame = current()
    frame.max_cost_usd = usd
    frame.spent_usd = 0.0
    frame.spent_units = 0


def clear() -> None:
    frame = current()
    frame.max_cost_usd = None
    frame.max_tokens = None


def charge(tokens: int, cost_usd: float | None, model: str, hold: Hold | None = None, check: bool = True) -> None:
    """Charges one call and settles what was held for it. Raises LlmError when an ordinary frame's limit is exceeded
    (tokens are checked first), unless check is False: an error is on its way already."""
    frame = current()
    for one in frame.charged():
        one.charge(tokens, cost_usd)
        if cost_usd is None and tokens and one.max_cost_usd is not None:
            _warn_unpriced(model)
    if hold is not None:
        hold.release()
    if check and not frame.reserve:
        _refuse(frame, operator.gt, "")


def check_stream() -> None:
    """Raises LlmError when a pre-gated budget is used up, before a stream is opened."""
    frame = current()
    if frame.pre_gate:
        _refuse(frame, operator.ge, " — streaming call blocked at open")


def _refuse(frame: Frame, over: Callable[[float, float], bool], suffix: str) -> None:
    if frame.max_tokens is not None and over(frame.spent_tokens, frame.max_tokens):
        raise LlmError(
            f"token budget exceeded: used {frame.spent_tokens} of {frame.max_tokens} tokens{suffix}", hint=ADVICE
        )
    if frame.max_cost_usd is not None and over(frame.spent_usd, frame.max_cost_usd):
        raise LlmError(
            f"budget exceeded: spent ${frame.spent_usd:.4f} of ${frame.max_cost_usd:.4f} limit{suffix}", hint=ADVICE
        )


def _warn_unpriced(model: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        print(
            f"warning: no price known for model '{model}'; the cost limit is not enforced for it"
            " (set one with llm/set-pricing, or limit :max-tokens)",
            file=sys.stderr,
        )
