"""One request to one provider, as its call records it and as budgets pay for it."""

from __future__ import annotations

from time import time_ns
from typing import Any

from sema_runtime.llm.budgets import reservations, usage
from sema_runtime.llm.budgets.reservations import Reservation
from sema_runtime.llm.calls import Call
from sema_runtime.llm.errors import ProviderError
from sema_runtime.llm.messages import Reply, Usage
from sema_runtime.llm.providers import Provider

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sema_runtime.llm.budgets.estimate import Need


class ChatAttempt:
    """`with ChatAttempt(call, provider, model) as attempt:` around the request: adds it to the call's attempts and
    reserves what it may cost. `attempt.succeeded(reply)` keeps the reservation until the reply is charged. Raises
    LlmError when the budget has no room for it. Coroutines use `await ChatAttempt.begin_async(...)`."""

    __slots__ = ("_need", "_reader", "_record", "_reservation", "_token", "_wire", "call")

    def __init__(self, call: Call, provider: Provider, model: str) -> None:
        self._prepare(call, provider, model)
        self._begin(provider, model, reservations.reserve(self._need) if self._need is not None else None)

    @classmethod
    async def begin_async(cls, call: Call, provider: Provider, model: str) -> ChatAttempt:
        attempt = cls.__new__(cls)
        attempt._prepare(call, provider, model)
        need = attempt._need
        attempt._begin(provider, model, await reservations.reserve_async(need) if need is not None else None)
        return attempt

    def _prepare(self, call: Call, provider: Provider, model: str) -> None:
        self.call = call
        self._wire = provider.wire
        self._need: Need | None = None
        self._reader: Any = None
        self._token: Any = None
        if reservations.is_required():
            from sema_runtime.llm.budgets import estimate

            self._need = estimate.of_request(provider, call.chat_request, model)

    def _begin(self, provider: Provider, model: str, reservation: Reservation | None) -> None:
        self._reservation = reservation
        if reservation is not None and (provider.wire == "sema" or self.call.streaming):  # both run the program's code
            self._token = reservations.begin_nested(reservation)
        self._record = self.call.begin_attempt(provider.name, model)

    def __enter__(self) -> ChatAttempt:
        return self

    def succeeded(self, reply: Reply) -> Reply:
        """Returns the reply; its reservation is kept until `usage.charge`."""
        call, need, reservation = self.call, self._need, self._reservation
        call.reservation, self._reservation = reservation, None
        is_reported = self._wire == "sema" or reply.usage.total > 0
        if need is not None or not is_reported:
            from sema_runtime.llm.budgets import estimate

            if not is_reported:
                call.guessed_usage = estimate.likely_usage(call.chat_request, reply)
            if need is not None and reservation is not None:
                estimate.learn(need, reply.usage)
                reservation.set_minimum(need, estimate.billed(need, reply.usage, self._wire))
        return reply

    def read_by(self, reader: Any) -> None:
        """Sets the reader of the stream: if the stream breaks, its so_far() says what has come."""
        self._reader = reader

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._record.ended = time_ns()
        if self._token is not None:
            reservations.end_nested(self._token)
        if error is None:
            return
        self._record.error = error
        if self._reader is not None:
            text, reported = self._reader.so_far()
            self._charge_broken(text, reported, reservations.is_free(error) and not self._reader.began)
        elif isinstance(error, ProviderError) and error.used is not None:
            self._charge_failed(error.used, error.maybe_billed)
        elif self._reservation is not None:
            self._reservation.failed(error)

    def _charge_broken(self, text: str, reported: Usage, free: bool) -> None:
        """Counts what a stream used until it broke: what the server reported, estimates for the rest. A reserving
        budget is charged in full: servers may continue for a while, and bill that."""
        from sema_runtime.llm.budgets import estimate

        call = self.call
        used = reported
        if text or reported.total or not free:
            prompt = reported.prompt or estimate.likely_prompt(call.chat_request)
            completion = max(reported.completion, estimate.text_tokens(text))
            used = Usage(prompt, completion, reported.cache_read, reported.cache_creation)
        call.estimated = True
        self._count(used)
        self._settle(in_full=bool(used.total))

    def _charge_failed(self, used: Usage, maybe_more: bool) -> None:
        """Counts the usage that the server reported for a request without answer."""
        self._count(used)
        self._settle(in_full=maybe_more and not (used.prompt and used.completion))

    def _count(self, used: Usage) -> None:
        usage.spent(self.call, used, self._record.model, self._record.provider)
        usage.count(self.call)

    def _settle(self, in_full: bool) -> None:
        """Charges the call's usage to the budget. in_full: all that was reserved may be billed."""
        call, reservation = self.call, self._reservation
        if reservation is None:
            usage.charge(call, check=False)
            return
        assert self._need is not None
        reservation.set_minimum(self._need, call.usage or Usage())
        if in_full:
            usage.charge_in_full(call, reservation)
        else:
            call.reservation = reservation
            usage.charge(call, check=False)
