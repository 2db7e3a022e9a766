"""What surrounds a request for embeddings or a ranking: the call's record, the budget's reservation, hints in
errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import time_ns

from sema_runtime.llm.budgets import estimate, reservations, usage
from sema_runtime.llm.calls import Call
from sema_runtime.llm.embedders import PRESETS, Embedder, Ranker
from sema_runtime.llm.error_hints import explain
from sema_runtime.llm.errors import ProviderError
from sema_runtime.llm.messages import Usage
from sema_runtime.llm.providers import Provider

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@dataclass(slots=True)
class ReportedUsage:
    """The usage that the providers reported for a call. is_complete: whether that covers all that may be billed."""

    usage: Usage = field(default_factory=Usage)
    is_complete: bool = True

    def add(self, used: Usage) -> None:
        self.usage.prompt += used.prompt
        self.is_complete = self.is_complete and used.prompt > 0

    def failed(self, error: BaseException) -> None:
        """Adds what is known of a request that was given up or failed."""
        used = error.used if isinstance(error, ProviderError) else None
        if used is not None and used.prompt:
            self.add(used)
        elif not reservations.is_free(error):
            self.is_complete = False


class EndpointAttempt:
    """`with EndpointAttempt(call, endpoint, model, texts, reported):` around the requests of one call.

    Reserves what the texts may cost while a reserving budget is in force (a token is at least one byte of text); raises
    LlmError when there is no room. reported: grows with each answer, and is charged if the call fails after all.
    """

    __slots__ = ("_endpoint", "_model", "_need", "_record", "_reported", "_token", "call")

    def __init__(
        self, call: Call, endpoint: Embedder | Ranker, model: str, texts: list[str], reported: ReportedUsage
    ) -> None:
        self.call = call
        self._endpoint = endpoint
        self._model = model
        self._reported = reported
        self._token: Any = None
        self._need: estimate.Need | None = None
        if reservations.is_required():
            tokens = sum(estimate.text_bytes(text) + estimate.PER_MESSAGE for text in texts)
            self._need = estimate.of_texts(endpoint.provider, model, tokens)
            call.reservation = reservations.reserve(self._need)
        if call.reservation is not None and endpoint.function is not None:
            self._token = reservations.begin_nested(call.reservation)
        self._record = call.begin_attempt(endpoint.provider, model)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._record.ended = time_ns()
        if self._token is not None:
            reservations.end_nested(self._token)
        need, reservation = self._need, self.call.reservation
        if need is not None and reservation is not None:
            charge_need = error is None and not self._reported.is_complete and self._endpoint.function is None
            reservation.set_minimum(need, Usage(need.prompt_tokens) if charge_need else self._reported.usage)
        if error is None:
            return
        self._record.error = error
        if isinstance(error, ProviderError):
            self._explain(error)
        self._settle(error)

    def _explain(self, error: ProviderError) -> None:
        endpoint = self._endpoint
        preset = PRESETS.get(endpoint.provider)
        if error.status in (401, 403) and preset is not None:
            error.hint = f"provider '{endpoint.provider}' refused the key: check {preset.variable}"
        provider = Provider(endpoint.provider, "embeddings", endpoint.base_url, self._model, endpoint.api_key)
        explain(error, provider, self._model)

    def _settle(self, error: BaseException) -> None:
        """Counts and charges what was answered before the call failed; the whole reservation if more may be billed."""
        call, reservation, used = self.call, self.call.reservation, self._reported.usage
        if used.prompt:
            usage.spent(call, used, self._model, self._endpoint.provider)
            usage.count(call)
        if reservation is not None and not (reservations.is_free(error) and self._reported.is_complete):
            usage.charge_in_full(call, reservation)
        elif used.prompt:
            usage.charge(call, check=False)
        elif reservation is not None:
            reservation.release()
        call.reservation = None
