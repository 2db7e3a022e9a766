"""What a run has spent and may spend."""

from __future__ import annotations

from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError
from sema_runtime.values.maps import MISSING, Map
from sema_runtime.workflow.journal.values import name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.llm.budgets.budget import Frame
    from sema_runtime.workflow.journal.spend_log import SpendLog
    from sema_runtime.workflow.run.scope import Settings


LARGEST = 1 << 63  # a limit of more is none
SCOPES = ("run", "process")


class Spend:
    """max_tokens, max_usd: limits, None without. refusals: how many steps were not started because of them. frame: with
    :reserve #t or :scope :run, the budget that every call of the run is checked against before it is sent. scoped: with
    :scope :run, which counts what earlier processes of the run have spent. outer: of the run around this one, where the
    limits are those of the command line, which both share. (Those of a meta map are for its own run.)"""

    def __init__(self, meta: Any, settings: Settings, outer: Spend | None) -> None:
        shared = settings.max_tokens is not None or settings.max_usd is not None
        self.outer = outer if shared else None
        budget_map = _budget(meta)
        self.max_tokens = settings.max_tokens
        self.max_usd = settings.max_usd
        if self.max_tokens is None:
            tokens = _number(budget_map, "tokens")
            self.max_tokens = None if tokens is None else int(tokens)
        if self.max_usd is None:
            usd = _number(budget_map, "usd")
            self.max_usd = None if usd is None else float(usd)
        self.tokens = 0
        self.usd = 0.0
        self.passed = False  # a limit: from then on no step starts
        self.refusals = 0
        self.frame: Frame | None = None
        self.log: SpendLog | None = None
        self.scope = MISSING if budget_map is None else budget_map.lookup(keyword("scope"), MISSING)
        self.scoped = name_of(self.scope) == "run"
        limited = self.max_tokens is not None or self.max_usd is not None
        if limited and budget_map is not None and (self.scoped or budget_map.lookup(keyword("reserve")) is True):
            from sema_runtime.llm.budgets import budget

            self.frame = budget.inner(self.max_usd, self.max_tokens, False, True)

    def begin(self, folder: str, segment: int, tokens: int, usd: float) -> None:
        """Counts what earlier processes of the run have spent, where the budget is one of the whole run. folder: of the
        run. segment: the number of its journal's file. tokens, usd: what they spent by the journal, all that is
        known of processes without such a budget. Raises SemaError for a :scope that doesn't exist, and when the spend
        log can't be read."""
        if self.scope is not MISSING and name_of(self.scope) not in SCOPES:
            from sema_runtime.values.printer import to_text

            raise SemaError(
                f":budget :scope must be :run or :process, got {to_text(self.scope)}",
                ":run counts what earlier processes of the run have spent, :process, the default, doesn't",
            )
        if not self.scoped or self.frame is None:
            return
        from sema_runtime.llm.budgets.budget import UNITS, units
        from sema_runtime.workflow.journal import spend_log

        try:
            earlier = spend_log.of(folder)
        except OSError as error:
            raise SemaError(
                f"what earlier processes of the run have spent can't be read: {error.filename}: {error.strerror}",
                "make the file readable: a budget of the whole run needs it",
            ) from None
        self.frame.spent_tokens = max(earlier.tokens, tokens)
        self.frame.spent_units = max(earlier.units, units(usd))
        self.frame.spent_usd = self.frame.spent_units / UNITS
        self.log = self.frame.log = spend_log.SpendLog(folder, segment)

    def end(self) -> None:
        """Ends the log of the budget, with the run."""
        if self.log is not None:
            self.log.close()

    @property
    def over(self) -> bool:
        """Whether a limit is passed, so that no step starts any more."""
        return self.passed or (self.outer is not None and self.outer.over)

    def charge(self, tokens: int, usd: float | None, model: str = "") -> None:
        """Adds what one step used. usd: None when it is unknown. model: the one that was asked."""
        if usd is None and tokens and model and self.max_usd is not None:
            from sema_runtime.llm.budgets import budget

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
        """Whether an error says that a call was not sent because of :reserve; from then on no step starts."""
        if self.frame is not None and getattr(error, "frame", None) is self.frame:
            self.passed = True
            return True
        return self.outer is not None and self.outer.refused(error)


def _budget(meta: Any) -> Map | None:
    budget = meta.lookup(keyword("budget")) if isinstance(meta, Map) else None
    return budget if isinstance(budget, Map) else None


def _number(budget: Map | None, name: str) -> int | float | None:
    value = None if budget is None else budget.lookup(keyword(name))
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LARGEST:
        return None  # also for NaN
    return value
