"""The kinds of failure that end a call to a model, as traces and metrics count them."""

from __future__ import annotations

from sema_runtime.llm.budgets.budget import BudgetError
from sema_runtime.llm.errors import ProviderError
from sema_runtime.telemetry.names import CANCELLED, is_cancellation

# By how the messages of llm/errors.py begin.
KINDS = {
    "Rate limited": "rate_limited",
    "API error": "api_error",
    "HTTP error": "network_error",
    "Parse error": "parse_error",
    "Config error": "config_error",
}


def error_type(error: BaseException) -> str:
    """Returns the `error.type` of the error that ended a call: one of a few words."""
    if is_cancellation(error):
        return CANCELLED
    if isinstance(error, BudgetError):
        return "budget_error"
    if isinstance(error, ProviderError):
        if error.status >= 500:
            return "server_error"
        message = str(error)
        return next((kind for start, kind in KINDS.items() if message.startswith(start)), "provider_error")
    return "provider_error"
