"""Names and texts as OpenTelemetry's conventions for generative AI have them."""

from __future__ import annotations

from sema_runtime.values.errors import SemaError

PROVIDERS = {"gemini": "gcp.gemini", "mistral": "mistral_ai", "vertex": "gcp.vertex_ai"}
CANCELLED = "cancelled"


def provider_name(name: str) -> str:
    """Returns a provider's `gen_ai.provider.name`; names that the conventions lack stay as they are."""
    return PROVIDERS.get(name, name)


def is_cancellation(error: BaseException) -> bool:
    """Whether the error ends a cancelled task or the program, rather than reporting a failure."""
    return getattr(error, "kind", "") == CANCELLED or not isinstance(error, Exception)


def error_message(error: BaseException) -> str:
    """Returns the text of an error as `:message` has it, without keys."""
    if getattr(error, "kind", "") == CANCELLED:
        return CANCELLED
    if not isinstance(error, Exception):
        return "interrupted"
    from sema_runtime.conditions.describe import describe
    from sema_runtime.support.redaction import hidden

    return hidden(error.message if isinstance(error, SemaError) else str(describe(error).message))
