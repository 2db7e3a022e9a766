"""What surrounds a request for embeddings or a ranking: the call's record, the budget's hold, advice in errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import time_ns

from sema_runtime.llm.budgets import estimate, usage
from sema_runtime.llm.budgets import reservations as reserve
from sema_runtime.llm.calls import Call
from sema_runtime.llm.embeddings.providers import PRESETS, Embedder, Ranker
from sema_runtime.llm.error_hints import explain
from sema_runtime.llm.errors import ProviderError
from sema_runtime.llm.messages import Usage
from sema_runtime.llm.providers import Provider

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@dataclass(slots=True)
class Told:
    """What the providers said that a call used. wholly: whether they did so for all that may be billed."""

    usage: Usage = field(default_factory=Usage)
    wholly: bool = True

    def add(self, used: Usage) -> None:
        self.usage.prompt += used.prompt
        self.wholly = self.wholly and used.prompt > 0

    def failed(self, error: BaseException) -> None:
        """Of a request that was given up, or wasn't answered."""
        used = error.used if isinstance(error, ProviderError) else None
        if used is not None and used.prompt:
            self.add(used)
        elif not reserve.is_free(error):
            self.wholly = False


class EndpointTrial:
    """`with EndpointTrial(call, endpoint, model, texts, used):` around the requests of one call.

    Holds back what the texts may cost while a reserving budget is in force (a token is at least one byte of text);
    raises LlmError when there is no room. told: grows with each answer, and is charged when the call fails after all.
    """

    __slots__ = ("_attempt", "_endpoint", "_model", "_need", "_token", "_told", "call")

    def __init__(self, call: Call, endpoint: Embedder | Ranker, model: str, texts: list[str], told: Told) -> None:
        self.call = call
        self._endpoint = endpoint
        self._model = model
        self._told = told
        self._token: Any = None
        self._need: estimate.Need | None = None
        if reserve.needed():
            tokens = sum(estimate.text_bytes(text) + estimate.PER_MESSAGE for text in texts)
            self._need = estimate.of_texts(endpoint.provider, model, tokens)
            call.hold = reserve.take(self._need)
        if call.hold is not None and endpoint.function is not None:
            self._token = reserve.act_on_behalf_of(call.hold)
        self._attempt = call.begin_attempt(endpoint.provider, model)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._attempt.ended = time_ns()
        if self._token is not None:
            reserve.stop_acting(self._token)
        if self._need is not None and self.call.hold is not None:
            told = self._told.usage
            all_of_it = not self._told.wholly and self._endpoint.function is None
            self.call.hold.least(self._need, Usage(self._need.prompt_tokens) if all_of_it and error is None else told)
        if error is None:
            return
        self._attempt.error = error
        if isinstance(error, ProviderError):
            self._explain(error)
        self._settle(error)

    def _explain(self, error: ProviderError) -> None:
        one = self._endpoint
        preset = PRESETS.get(one.provider)
        if error.status in (401, 403) and preset is not None:
            error.hint = f"provider '{one.provider}' refused the key: check {preset.variable}"
        explain(error, Provider(one.provider, "embeddings", one.base_url, self._model, one.api_key), self._model)

    def _settle(self, error: BaseException) -> None:
        """Counts and charges what was answered before the call failed; all that was held, if more may be billed."""
        call, hold, used = self.call, self.call.hold, self._told.usage
        if used.prompt:
            usage.spent(call, used, self._model, self._endpoint.provider)
            usage.count(call)
        if hold is not None and not (reserve.is_free(error) and self._told.wholly):
            usage.forfeit(call, hold)
        elif used.prompt:
            usage.charge(call, check=False)
        elif hold is not None:
            hold.release()
        call.hold = None
