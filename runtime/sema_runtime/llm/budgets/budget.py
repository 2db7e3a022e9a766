"""Spending limits. A frame is in force for the dynamic extent of `llm/with-budget`, tasks included; `llm/set-budget`
sets the one in force elsewhere. Charges go to the innermost frame and to every reserving frame around it.

An ordinary frame is checked after each call (spec §9), so calls under way can overspend it. A reserving frame sets
aside the most a call may cost before the call is sent (reservations.py), and is never overspent.
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
    from typing import Any, Protocol

    class Reservation(Protocol):
        """What a call may use at most, set aside in reserving frames (reservations.py)."""

        active: bool

        def with_minimum(self, tokens: int, cost_usd: float | None) -> tuple[int, float | None]: ...
        def release(self) -> None: ...

    class SpendLog(Protocol):
        """Where a budget that outlives the process records reservations (by `hold`), charges and releases. `hold`
        raises OSError; then the call must not be sent."""

        folder: str

        def hold(self, key: object, tokens: int, units: int) -> None: ...
        def spent(self, key: Any, tokens: int, units: int) -> None: ...
        def free(self, key: object) -> None: ...


HINT = "raise the limit, or ask for less: fewer rounds (:max-turns), a smaller :max-tokens, a cheaper model"
UNITS = 10**12  # in a dollar: reserving frames count in integers, so that rounding never passes a limit


class BudgetError(LlmError):
    """A limit was passed, or a call that could pass it was not sent. Caught maps have `:reason :budget`, :limit, :spent
    (both in `:unit`, :usd or :tokens). frame: the frame with that limit."""

    def __init__(self, message: str, frame: Frame, unit: str, hint: str = HINT) -> None:
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
    reserve: set aside what calls may cost. outer: the reserving frames around this one. reserved_units,
    reserved_tokens: what calls under way hold. queue: a ReservationQueue, of an outermost reserving frame. log: of a
    budget that outlives the process."""

    max_cost_usd: float | None = None
    max_tokens: int | None = None
    pre_gate: bool = False
    reserve: bool = False
    outer: tuple[Frame, ...] = ()
    spent_usd: float = 0.0
    spent_tokens: int = 0
    spent_units: int = 0
    reserved_units: int = 0
    reserved_tokens: int = 0
    queue: Any = None
    log: SpendLog | None = None

    def charged(self) -> tuple[Frame, ...]:
        """Returns every frame that a call made here is charged to."""
        return (self, *self.outer)

    def around(self) -> tuple[Frame, ...]:
        """Returns the reserving frames around a call made here, the innermost first."""
        return self.charged() if self.reserve else self.outer

    def limit_units(self) -> int | None:
        limit = self.max_cost_usd
        return None if limit is None or limit == inf else floor(limit * UNITS)

    def charge(self, tokens: int, cost_usd: float | None, reservation: Reservation | None = None) -> None:
        """Charges this frame. reservation: of the call, if it has one here."""
        if self.log is not None:
            self.log.spent(reservation, tokens, units(cost_usd or 0.0))
        self.spent_tokens += tokens
        if cost_usd:
            self.spent_units += units(cost_usd)
            self.spent_usd = self.spent_units / UNITS if self.reserve else self.spent_usd + cost_usd


def units(usd: float) -> int:
    """Returns an amount in UNITS, rounded up except for the noise of binary fractions."""
    return ceil(usd * UNITS - 0.001)


lock = RLock()  # around every change of a frame: Python programs may use a frame in several threads
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: globals().update(lock=RLock()))  # a thread of the parent may hold it
scope: ContextVar[Frame | None] = ContextVar("budget", default=None)
_base = Frame()
_warned = False


def current() -> Frame:
    """Returns the frame that is charged here."""
    return scope.get() or _base


def inner(max_cost_usd: float | None, max_tokens: int | None, pre_gate: bool, reserve: bool) -> Frame:
    """Returns a new frame for a scope inside the current one. Tokens below 0 count as 0."""
    outer = scope.get()
    around = () if outer is None else outer.around()
    return Frame(max_cost_usd, None if max_tokens is None else max(0, max_tokens), pre_gate, reserve, around)


def set_limit(usd: float) -> None:
    """Sets a limit from now on; counting starts at 0. Code in a reserving budget can't lift that budget: it gets an
    ordinary one inside it, for the rest of the task."""
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


def charge(
    tokens: int, cost_usd: float | None, model: str, reservation: Reservation | None = None, check: bool = True
) -> None:
    """Charges one call and settles its reservation. Raises LlmError when an ordinary frame's limit is exceeded (tokens
    are checked first), unless check is False: an error is being raised already."""
    frame = current()
    with lock:
        for charged in frame.charged():
            if reservation is not None and charged.reserve:
                if reservation.active:  # else it was charged when the stream was abandoned
                    charged.charge(*reservation.with_minimum(tokens, cost_usd), reservation)
            else:
                charged.charge(tokens, cost_usd)
                if cost_usd is None and tokens and charged.max_cost_usd is not None:
                    warn_unpriced(model)
        if reservation is not None:
            reservation.release()
    if check and not frame.reserve:
        check_limits(frame)


def check_limits(frame: Frame) -> None:
    """Raises BudgetError where a frame's limit is passed."""
    limit, spent = frame.max_tokens, frame.spent_tokens
    if limit is not None and spent > limit:
        raise BudgetError(f"token budget exceeded: used {spent} of {limit} tokens", frame, "tokens")
    usd, spent_usd = frame.max_cost_usd, frame.spent_usd
    if usd is not None and spent_usd > usd:
        raise BudgetError(f"budget exceeded: spent {_amount(spent_usd)} of {_amount(usd)} limit", frame, "usd")


def check_stream() -> None:
    """Raises LlmError when a pre-gated budget is spent, before a stream is opened; the cost is checked first."""
    frame = current()
    if not frame.pre_gate:
        return
    blocked = "— streaming call blocked at open"
    usd, spent_usd = frame.max_cost_usd, frame.spent_usd
    if usd is not None and spent_usd >= usd:
        message = f"budget exceeded: {_amount(spent_usd)} of {_amount(usd)} limit already spent {blocked}"
        raise BudgetError(message, frame, "usd")
    limit, spent = frame.max_tokens, frame.spent_tokens
    if limit is not None and spent >= limit:
        message = f"token budget exceeded: {spent} of {limit} tokens already used {blocked}"
        raise BudgetError(message, frame, "tokens")


def _amount(usd: float) -> str:
    """Returns an amount as the reference shows it, with more decimals where four would show nothing."""
    return dollars(usd, 1) if usd >= 0 else f"${usd:.4f}"


def warn_unpriced(model: str) -> None:
    """Warns, once in a process, that a limit in USD can't be enforced for a model."""
    global _warned
    if not _warned:
        _warned = True
        tell(
            f"warning: no price known for model '{model}'; the cost limit is not enforced for it"
            " (set one with llm/set-pricing, or limit :max-tokens)",
        )
