"""Spending limits. A frame holds for the dynamic extent of `llm/with-budget`, tasks included; `llm/set-budget` sets the
one that holds elsewhere. Charges go to the innermost frame only."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from sema_runtime.values.errors import LlmError

ADVICE = "raise the limit, or ask for less: fewer rounds (:max-turns), a smaller :max-tokens, a cheaper model"


@dataclass(slots=True)
class Frame:
    """Limits (None: not limited) and what was spent under them. pre_gate: refuse to open a stream once spent."""

    max_cost_usd: float | None = None
    max_tokens: int | None = None
    pre_gate: bool = False
    spent_usd: float = 0.0
    spent_tokens: int = 0


scope: ContextVar[Frame | None] = ContextVar("budget", default=None)
_base = Frame()
_warned = False


def current() -> Frame:
    """The frame that is charged here."""
    return scope.get() or _base


def set_limit(usd: float) -> None:
    """A limit from now on: counting starts at 0."""
    frame = current()
    frame.max_cost_usd = usd
    frame.spent_usd = 0.0


def clear() -> None:
    frame = current()
    frame.max_cost_usd = None
    frame.max_tokens = None


def charge(tokens: int, cost_usd: float | None, model: str) -> None:
    """Charges one call. Raises LlmError when a limit is exceeded; tokens are checked first."""
    frame = current()
    frame.spent_tokens += tokens
    frame.spent_usd += cost_usd or 0.0
    if cost_usd is None and tokens and frame.max_cost_usd is not None:
        _warn_unpriced(model)
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
