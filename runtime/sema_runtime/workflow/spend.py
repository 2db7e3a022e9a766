"""What a run has spent and may spend."""

from __future__ import annotations

from sema_runtime.values.atoms import keyword
from sema_runtime.values.maps import Map
from sema_runtime.workflow import scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.llm.budget import Frame
    from sema_runtime.workflow.scope import Settings


LARGEST = 1 << 63  # a limit of more is none


class Spend:
    """max_tokens, max_usd: limits, None without. refusals: how many leaves would have started. frame: with :reserve #t,
    the budget that every call in the run is held against before it is sent. outer: of the run around this one, where
    the limits are those of the command line: they are for both together. (Those of a meta map are for its own run.)"""

    def __init__(self, meta: Any, settings: Settings) -> None:
        around = scope.active.get()
        given_for_all = settings.max_tokens is not None or settings.max_usd is not None
        self.outer: Spend | None = around.spend if around is not None and given_for_all else None
        given = _budget(meta)
        self.max_tokens = settings.max_tokens
        self.max_usd = settings.max_usd
        if self.max_tokens is None:
            tokens = _number(given, "tokens")
            self.max_tokens = None if tokens is None else int(tokens)
        if self.max_usd is None:
            usd = _number(given, "usd")
            self.max_usd = None if usd is None else float(usd)
        self.tokens = 0
        self.usd = 0.0
        self.passed = False  # a limit; it stays so, and no leaf starts any more
        self.refusals = 0  # leaves that gave nil for it
        self.frame: Frame | None = None
        limited = self.max_tokens is not None or self.max_usd is not None
        if limited and given is not None and given.lookup(keyword("reserve")) is True:
            from sema_runtime.llm import budget

            self.frame = budget.inner(self.max_usd, self.max_tokens, False, True)

    @property
    def over(self) -> bool:
        """Whether no leaf starts any more."""
        return self.passed or (self.outer is not None and self.outer.over)

    def charge(self, tokens: int, usd: float | None, model: str = "") -> None:
        """Adds what one leaf used. usd None: unknown, only the tokens count. model: that was asked."""
        if usd is None and tokens and model and self.max_usd is not None:
            from sema_runtime.llm import budget

            budget.warn_unpriced(model)
        if self.outer is not None:
            self.outer.charge(tokens, usd)
        self.tokens += tokens
        self.usd += usd or 0.0
        if (self.max_tokens is not None and self.tokens > self.max_tokens) or (
            self.max_usd is not None and self.usd > self.max_usd
        ):
            self.passed = True

    def refused(self, error: BaseException) -> bool:
        """Whether the error says that a call was not sent because of :reserve; from then on no leaf starts."""
        if self.frame is not None and getattr(error, "frame", None) is self.frame:
            self.passed = True
            return True
        return self.outer is not None and self.outer.refused(error)


def _budget(meta: Any) -> Map | None:
    found = meta.lookup(keyword("budget")) if isinstance(meta, Map) else None
    return found if isinstance(found, Map) else None


def _number(budget: Map | None, name: str) -> int | float | None:
    value = None if budget is None else budget.lookup(keyword(name))
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LARGEST:
        return None  # also for NaN
    return value
