"""Providers and errors as OpenTelemetry's conventions for generative AI, and the reference, name them."""

from __future__ import annotations

from sema_runtime.llm.budgets.budget import BudgetError
from sema_runtime.llm.errors import ProviderError
from sema_runtime.values.errors import SemaError

PROVIDERS = {"gemini": "gcp.gemini", "mistral": "mistral_ai", "vertex": "gcp.vertex_ai"}

# By how the messages of llm/errors.py begin.
ERRORS = {
    "Rate limited": "rate_limited",
    "API error": "api_error",
    "HTTP error": "network_error",
    "Parse error": "parse_error",
    "Config error": "config_error",
}


def provider_name(name: str) -> str:
    """A registered provider's `gen_ai.provider.name`; names that the conventions don't know stay as they are."""
    return PROVIDERS.get(name, name)


def error_type(error: BaseException) -> str:
    """What kind of failure ended a call to a model: one of a few words, to count failures by."""
    from sema_runtime.llm.sema_provider import is_cancelled

    if is_cancelled(error) or not isinstance(error, Exception):
        return "cancelled"
    if isinstance(error, BudgetError):
        return "budget_error"
    message = str(error)
    if isinstance(error, ProviderError):
        if error.status >= 500:
            return "server_error"
        return next((name for start, name in ERRORS.items() if message.startswith(start)), "provider_error")
    return "provider_error"


def error_message(error: BaseException) -> str:
    """The text of an error, as `:message` has it, without keys."""
    from sema_runtime.llm.sema_provider import error_text, is_cancelled

    if is_cancelled(error):
        return "cancelled"
    if not isinstance(error, Exception):
        return "interrupted"
    from sema_runtime.support.redaction import hidden

    return hidden(error.message if isinstance(error, SemaError) else error_text(error))
