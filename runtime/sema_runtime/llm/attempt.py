"""One request to one provider, as the call that makes it and the budgets around it see it."""

from __future__ import annotations

from time import time_ns
from typing import Any

from sema_runtime.llm.budgets import reservations as reserve
from sema_runtime.llm.budgets import usage
from sema_runtime.llm.calls import Call
from sema_runtime.llm.errors import ProviderError
from sema_runtime.llm.messages import Reply, Usage
from sema_runtime.llm.providers import Provider

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sema_runtime.llm.budgets.estimate import Need


class Trial:
    """`with Trial(call, provider, model) as trial:` around the request: notes it in the call's attempts and holds back
    what it may cost. `trial.won(reply)` keeps the hold until the reply is charged. Raises LlmError when the budget has
    no room for it. `opened` is the same for coroutines."""

    __slots__ = ("_attempt", "_hold", "_need", "_reader", "_token", "_wire", "call")

    def __init__(self, call: Call, provider: Provider, model: str) -> None:
        self._prepare(call, provider, model)
        self._begin(provider, model, reserve.take(self._need) if self._need is not None else None)

    @classmethod
    async def opened(cls, call: Call, provider: Provider, model: str) -> Trial:
        made = cls.__new__(cls)
        made._prepare(call, provider, model)
        made._begin(provider, model, await reserve.take_async(made._need) if made._need is not None else None)
        return made

    def _prepare(self, call: Call, provider: Provider, model: str) -> None:
        self.call = call
        self._wire = provider.wire
        self._need: Need | None = None
        self._reader: Any = None
        self._token: Any = None
        if reserve.needed():
            from sema_runtime.llm.budgets import estimate

            self._need = estimate.of_request(provider, call.asked, model)

    def _begin(self, provider: Provider, model: str, hold: reserve.Hold | None) -> None:
        self._hold = hold
        if hold is not None and (provider.wire == "sema" or self.call.streaming):  # which runs code of the program
            self._token = reserve.act_on_behalf_of(hold)
        self._attempt = self.call.begin_attempt(provider.name, model)

    def __enter__(self) -> Trial:
        return self

    def won(self, reply: Reply) -> Reply:
        """The reply, for which the hold is kept until `usage.charge`."""
        call, need, hold = self.call, self._need, self._hold
        call.hold, self._hold = hold, None
        told = self._wire == "sema" or reply.usage.total > 0
        if need is not None or not told:
            from sema_runtime.llm.budgets import estimate

            if not told:
                call.unsaid = estimate.likely_usage(call.asked, reply)
            if need is not None and hold is not None:
                estimate.learn(need, reply.usage)
                hold.least(need, estimate.billed(need, reply.usage, self._wire))
        return reply

    def reading(self, reader: Any) -> None:
        """Tells what reads the stream: its so_far() says what a stream that breaks has brought."""
        self._reader = reader

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._attempt.ended = time_ns()
        if self._token is not None:
            reserve.stop_acting(self._token)
        if error is None:
            return
        self._attempt.error = error
        if self._reader is not None:
            text, said = self._reader.so_far()
            self._charge_broken(text, said, reserve.is_free(error) and not self._reader.began)
        elif isinstance(error, ProviderError) and error.used is not None:
            self._charge_failed(error.used, error.maybe_billed)
        elif self._hold is not None:
            self._hold.failed(error)

    def _charge_broken(self, text: str, said: Usage, free: bool) -> None:
        """Counts what a stream used until it broke: what the server said, estimates where it hasn't. A reserving budget
        is charged with all that was held: servers may go on for a while, and bill that."""
        from sema_runtime.llm.budgets import estimate

        call, attempt = self.call, self._attempt
        used = said
        if text or said.total or not free:
            prompt = said.prompt or estimate.likely_prompt(call.asked)
            completion = max(said.completion, estimate.text_tokens(text))
            used = Usage(prompt, completion, said.cache_read, said.cache_creation)
        call.estimated = True
        usage.spent(call, used, attempt.model, attempt.provider)
        usage.count(call)
        self._settle(bool(used.total))

    def _charge_failed(self, used: Usage, maybe_more: bool) -> None:
        """Counts what the server said about a request that it hasn't answered."""
        call, attempt = self.call, self._attempt
        usage.spent(call, used, attempt.model, attempt.provider)
        usage.count(call)
        self._settle(maybe_more and not (used.prompt and used.completion))

    def _settle(self, all_of_it: bool) -> None:
        """Charges the call's usage to the budget, and where it was held, all that was held, if that may be billed."""
        call, hold = self.call, self._hold
        if hold is None:
            usage.charge(call, check=False)
            return
        assert self._need is not None
        hold.least(self._need, call.usage or Usage())
        if all_of_it:
            usage.forfeit(call, hold)
        else:
            call.hold = hold
            usage.charge(call, check=False)
