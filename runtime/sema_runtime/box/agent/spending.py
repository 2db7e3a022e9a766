"""The budget of one run inside the budget of whoever asks."""

from __future__ import annotations

from sema_runtime.box.agent.definition import Spending
from sema_runtime.llm.budgets import budget


class OwnBudget:
    """A frame for one run. An ordinary frame hides the one around it (llm/budgets/budget.py), which would let an agent
    spend what its caller hasn't: so what the run spends is passed on to that one, too."""

    def __init__(self, limits: Spending) -> None:
        self.around = budget.current()
        self.frame = budget.inner(limits.max_cost_usd, limits.max_tokens, False, limits.reserve)
        self.passed_tokens = 0
        self.passed_usd = 0.0

    def pass_on(self) -> None:
        """Charges the frame around with what was spent since the last time. Raises BudgetError where that is too
        much."""
        if self.around in self.frame.charged():
            return
        with budget.lock:
            tokens, usd = self.frame.spent_tokens - self.passed_tokens, self.frame.spent_usd - self.passed_usd
            self.passed_tokens, self.passed_usd = self.frame.spent_tokens, self.frame.spent_usd
            self.around.charge(tokens, usd)
        budget.check_limits(self.around)

    def line(self) -> str:
        """What is left, as the model reads it."""
        parts = []
        frame = self.frame
        if frame.max_tokens is not None:
            parts.append(f"{max(0, frame.max_tokens - frame.spent_tokens):,} of {frame.max_tokens:,} tokens")
        if frame.max_cost_usd is not None:
            parts.append(f"${max(0.0, frame.max_cost_usd - frame.spent_usd):.4f} of ${frame.max_cost_usd:.4f}")
        return f"\nBudget left: {' and '.join(parts)}." if parts else ""
