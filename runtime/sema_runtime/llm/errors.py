"""What can go wrong on the way to a provider, in the words users see.

ProviderError (an LlmError)
    HTTP error: …                       the network; retried
    API error: STATUS - MESSAGE         the server said no; retried from 500 upwards
    Rate limited: retry after 5000ms    429; retried
    Parse error: …                      a reply we can't read
    Config error: …                     a request that can't be made
"""

from __future__ import annotations

from sema_runtime.values.errors import LlmError

RATE_LIMIT_MS = 5000


class ProviderError(LlmError):
    """status: of the HTTP reply, 0 without one. retryable: whether the same request may succeed later.
    wait_ms: how long to wait before that, when the server said so."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        retryable: bool = False,
        wait_ms: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.status = status
        self.retryable = retryable
        self.wait_ms = wait_ms


def network_error(reason: str, hint: str | None = None) -> ProviderError:
    return ProviderError(f"HTTP error: {reason}", retryable=True, hint=hint)


def api_error(status: int, message: str, hint: str | None = None) -> ProviderError:
    return ProviderError(f"API error: {status} - {message}", status=status, retryable=status >= 500, hint=hint)


def rate_limited(wait_ms: int | None = None) -> ProviderError:
    """429. The text always says 5000 ms; wait_ms, from a retry-after header, is what is really waited."""
    return ProviderError(
        f"Rate limited: retry after {RATE_LIMIT_MS}ms",
        status=429,
        retryable=True,
        wait_ms=RATE_LIMIT_MS if wait_ms is None else wait_ms,
    )


def parse_error(reason: str) -> ProviderError:
    return ProviderError(f"Parse error: {reason}")


def config_error(reason: str, hint: str | None = None) -> ProviderError:
    return ProviderError(f"Config error: {reason}", hint=hint)
