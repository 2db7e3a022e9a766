"""Errors of requests to providers, in the words users see.

ProviderError (an LlmError)
    HTTP error: …                       the network; retried
    API error: STATUS - MESSAGE         the server refused; retried from 500 upwards
    Rate limited: retry after 5000ms    429; retried
    Parse error: …                      an unreadable reply
    Config error: …                     a request that can't be made
"""

from __future__ import annotations

from sema_runtime.values.errors import LlmError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sema_runtime.llm.messages import Usage

RATE_LIMIT_MS = 5000
LOST = frozenset((408, 502, 504, 520, 522, 524))  # from a proxy: the server behind it may still be working


class ProviderError(LlmError):
    """A call of a provider that failed.

    status: of the HTTP reply, 0 without one. retryable: whether the same request may succeed later. wait_ms: how
    long to wait before that, if the server said so. maybe_billed: the request was sent, and no usable answer came back.
    used: the usage that the server reported all the same.

    A caught error has :provider, :model, :status (of an HTTP reply) and :hint besides the keys of all conditions;
    `concerning` adds the provider."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        retryable: bool = False,
        wait_ms: int | None = None,
        hint: str | None = None,
        maybe_billed: bool = False,
    ) -> None:
        super().__init__(message, hint)
        self.status = status
        self.retryable = retryable
        self.wait_ms = wait_ms
        self.maybe_billed = maybe_billed
        self.used: Usage | None = None
        if status:
            self.fields["status"] = status

    @property
    def provider(self) -> str:
        """The provider that was asked, "" if none was."""
        named = self.fields.get("provider")
        return "" if named is None else str(named.name)

    @property
    def model(self) -> str:
        return str(self.fields.get("model", ""))

    @property
    def retry_after(self) -> float | None:
        """Seconds after which the request may be repeated; None if the provider did not say."""
        return None if self.wait_ms is None else self.wait_ms / 1000

    def concerning(self, provider: str, model: str, hint: str | None, message: str) -> None:
        """Sets provider, model, hint and message; the texts hold no secrets."""
        from sema_runtime.values.atoms import keyword

        self.message, self.args = message, (message,)
        self.hint = hint
        self.note = f"provider {provider}, model {model}" if model else f"provider {provider}"
        self.fields.update(provider=keyword(provider), model=model)
        if self.hint:
            self.fields["hint"] = self.hint


def network_error(reason: str, hint: str | None = None, maybe_billed: bool = False) -> ProviderError:
    return ProviderError(f"HTTP error: {reason}", retryable=True, hint=hint, maybe_billed=maybe_billed)


def api_error(status: int, message: str, hint: str | None = None) -> ProviderError:
    """Returns the error for a refusal, or for a reply of status 2xx that is no answer."""
    maybe_billed = 200 <= status < 300 or status in LOST
    text = f"API error: {status} - {message}"
    return ProviderError(text, status=status, retryable=status >= 500, hint=hint, maybe_billed=maybe_billed)


def rate_limited(wait_ms: int | None = None, provider_text: str = "") -> ProviderError:
    """Returns the error for status 429. Its text always says 5000 ms; wait_ms, from a retry-after header, is the real
    wait. provider_text: the provider's own words."""
    return ProviderError(
        f"Rate limited: retry after {RATE_LIMIT_MS}ms",
        status=429,
        retryable=True,
        wait_ms=RATE_LIMIT_MS if wait_ms is None else wait_ms,
        hint=f"the provider says: {provider_text}" if provider_text else None,
    )


def parse_error(reason: str, hint: str | None = None) -> ProviderError:
    return ProviderError(f"Parse error: {reason}", hint=hint, maybe_billed=True)


def config_error(reason: str, hint: str | None = None) -> ProviderError:
    return ProviderError(f"Config error: {reason}", hint=hint)


def is_cancelled(error: BaseException) -> bool:
    """Whether the error ends a cancelled task."""
    return getattr(error, "kind", "") == "cancelled"


def error_text(error: BaseException) -> str:
    """Returns the text of an error as users and models see it."""
    from sema_runtime.conditions.describe import describe

    return str(describe(error).message)
