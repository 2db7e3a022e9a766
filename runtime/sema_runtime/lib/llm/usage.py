"""Usage and cost of calls, prices of models, and the record of the last call."""

from __future__ import annotations

from math import inf
from typing import Any

from sema_runtime.catalogue import builtin
from sema_runtime.lib.llm.scopes import number_of
from sema_runtime.values.atoms import keyword, symbol
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sema_runtime.llm.calls import Attempt


def _usage_map(usage: Any) -> dict[Any, Any]:
    return {
        keyword("prompt-tokens"): usage.prompt,
        keyword("completion-tokens"): usage.completion,
        keyword("total-tokens"): usage.total,
        keyword("cache-read-tokens"): usage.cache_read,
        keyword("cache-creation-tokens"): usage.cache_creation,
    }


@builtin("llm/last-usage", type="-> map keyword (int|float|str)|nil fresh")
def llm_last_usage() -> Map | None:
    """Tokens, model and, where the price is known, :cost-usd of the last call, as a map, or nil.

    (llm/define-provider :echo {:complete (fn (req) {:content "hi" :usage {:prompt-tokens 3 :completion-tokens 1}})})
    (llm/complete "hello")
    (:total-tokens (llm/last-usage)) => 4
    """
    from sema_runtime.llm.budgets import usage

    last = usage.last()
    if last is None:
        return None
    fields = _usage_map(last.usage)
    fields[keyword("model")] = last.model
    if last.cost_usd is not None:
        fields[keyword("cost-usd")] = last.cost_usd
    return Map(fields)


@builtin("llm/session-usage", type="-> map keyword (int|float) fresh")
def llm_session_usage() -> Map:
    """Tokens and :cost-usd of all calls so far, as a map. Calls without a known price add nothing to :cost-usd.

    (llm/define-provider :echo {:complete (fn (req) {:content "hi" :usage {:prompt-tokens 3 :completion-tokens 1}})})
    (llm/complete "hello")
    (:completion-tokens (llm/session-usage)) => 1
    """
    from sema_runtime.llm.budgets import usage

    fields = _usage_map(usage.session.usage)
    fields[keyword("cost-usd")] = usage.session.cost_usd
    return Map(fields)


@builtin("llm/reset-usage", type="-> nil")
def llm_reset_usage() -> None:
    """Resets the counts of usage to zero.

    (llm/reset-usage)
    (:total-tokens (llm/session-usage)) => 0
    """
    from sema_runtime.llm.budgets import usage

    usage.reset()


@builtin("llm/set-pricing", type="str, int|float, int|float -> nil")
def llm_set_pricing(pattern: Any, input_price: Any, output_price: Any) -> None:
    """Sets the price of every model whose name contains pattern, in USD per million input and output tokens.

    (llm/set-pricing "echo" 1000 2000)
    (define reply {:content "hi" :usage {:prompt-tokens 1 :completion-tokens 1}})
    (llm/define-provider :echo {:complete (fn (req) reply) :default-model "echo-1"})
    (llm/complete "hello")
    (:cost-usd (llm/last-usage)) => 0.003
    """
    from sema_runtime.llm.budgets import pricing

    if not isinstance(pattern, str):
        type_error("string", pattern)
    prices = pricing.Price(number_of(input_price), number_of(output_price))
    for price in prices:
        if not 0 <= price < inf:
            raise SemaError(f"llm/set-pricing: expected USD per million tokens, 0 or more, got {price:g}")
    pricing.set_price(pattern, prices)


@builtin("llm/pricing-status", type="-> map keyword (symbol|str) fresh")
def llm_pricing_status() -> Map:
    """The source of the prices and their age, as {:source :updated-at}.

    (keys (llm/pricing-status)) => (:source :updated-at)
    """
    from sema_runtime.llm.budgets import pricing

    return Map({keyword("source"): symbol("embedded"), keyword("updated-at"): pricing.updated_at()})


@builtin(
    "llm/last-call", type="-> map keyword (keyword|str|int|float|bool|list (map keyword (keyword|str|int)))|nil fresh"
)
def llm_last_call() -> Map | None:
    """How the last call to a model went: {:operation :provider :model :ms :cached :replayed :attempts}, or nil; with
    :cost-usd where it is known, :error where it failed. :attempts has {:provider :model :ms :error :wait-ms} for each
    request that was sent, those repeated or passed on to another provider included.

    (llm/define-provider :down {:complete (fn (req) (error "no")) :default-model "a"})
    (llm/define-provider :up {:complete (fn (req) "here") :default-model "b"})
    (llm/with-fallback [:down :up] (fn () (llm/complete "hi")))
    (map :provider (:attempts (llm/last-call))) => (:down :up)
    (:error (first (:attempts (llm/last-call)))) => "API error: 0 - no"
    """
    from sema_runtime.llm import observers

    call = observers.last()
    if call is None:
        return None
    fields = {
        keyword("operation"): keyword(call.operation),
        keyword("provider"): keyword(call.provider),
        keyword("model"): call.model,
        keyword("ms"): (call.ended - call.started) // 1_000_000,
        keyword("cached"): call.cached,
        keyword("replayed"): call.replayed,
        keyword("attempts"): List([_attempt_map(attempt) for attempt in call.attempts]),
    }
    if call.cost_usd is not None:
        fields[keyword("cost-usd")] = call.cost_usd
    if call.error is not None:
        fields[keyword("error")] = _words(call.error)
    return Map(fields)


def _attempt_map(attempt: Attempt) -> Map:
    fields = {
        keyword("provider"): keyword(attempt.provider),
        keyword("model"): attempt.model,
        keyword("ms"): (attempt.ended - attempt.started) // 1_000_000,
    }
    if attempt.error is not None:
        fields[keyword("error")] = _words(attempt.error)
    if attempt.wait_ms:
        fields[keyword("wait-ms")] = round(attempt.wait_ms)
    return Map(fields)


def _words(error: BaseException) -> str:
    from sema_runtime.conditions.describe import condition_of

    return condition_of(error).message if isinstance(error, Exception) else "cancelled"
