"""What holds for the calls made inside a function: budgets, provider chains, rate limits; usage. (Caches and cassettes:
recordings.py.)

Every `llm/with-…` returns its function's value, restores what held before, and reaches tasks started inside.
"""

from __future__ import annotations

from typing import Any

from sema_runtime.catalogue import builtin
from sema_runtime.lib.scoped import within
from sema_runtime.values.atoms import keyword, symbol
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        type_error("number", value)
    return float(value)


# Budgets


@builtin("llm/with-budget")
def llm_with_budget(options: Any, thunk: Any) -> Any:
    """Calls thunk; calls to models inside it may spend {:max-cost-usd :max-tokens} in total. The call that exceeds a
    limit raises. With :on-stream :pre-gate no stream is opened once the limit is reached. With :reserve #t what a call
    may cost at most is set aside before it is sent: the limit is never passed, and no reply is paid for and lost.

    (llm/define-provider :echo {:complete (fn (req) {:content "hi" :usage {:prompt-tokens 3 :completion-tokens 2}})})
    (llm/with-budget {:max-tokens 100} (fn () (llm/complete "a"))) => "hi"
    (llm/with-budget {:max-tokens 4} (fn () (llm/complete "a"))) ! LLM error: token budget exceeded: used 5 of 4 tokens
    (define small {:max-tokens 10})
    (llm/with-budget {:max-tokens 200 :reserve #t} (fn () (llm/complete "a" small))) => "hi"
    """
    from sema_runtime.llm import budget
    from sema_runtime.llm import options as opt

    given = opt.options_map(options)
    cost, tokens = opt.number(given, "max-cost-usd"), opt.integer(given, "max-tokens")
    if cost is None and tokens is None:
        raise SemaError("llm/with-budget: requires at least :max-cost-usd or :max-tokens")
    pre_gate = opt.name_or_text(given, "on-stream") == "pre-gate"
    frame = budget.inner(cost, tokens, pre_gate, opt.truthy(given, "reserve", False))
    return within(budget.scope, frame, thunk)


@builtin("llm/set-budget", returns="nil")
def llm_set_budget(usd: Any) -> None:
    """Limits what calls may cost from now on, in USD.

    (llm/set-budget 0.5)
    (:limit (llm/budget-remaining)) => 0.5
    """
    from sema_runtime.llm import budget

    budget.set_limit(_number(usd))


@builtin("llm/clear-budget", returns="nil")
def llm_clear_budget() -> None:
    """Removes the limit of llm/set-budget.

    (llm/set-budget 0.5)
    (llm/clear-budget)
    (llm/budget-remaining) => nil
    """
    from sema_runtime.llm import budget

    budget.clear()


@builtin("llm/budget-remaining", returns="map|nil")
def llm_budget_remaining() -> Map | None:
    """What is left: {:limit :spent :remaining} in USD, {:token-limit :tokens-spent :tokens-remaining}, both or nil.
    In a :reserve budget also :reserved and :tokens-reserved, what is set aside for calls under way.

    (llm/with-budget {:max-tokens 100} (fn () (:tokens-remaining (llm/budget-remaining)))) => 100
    (llm/budget-remaining) => nil
    """
    from sema_runtime.llm import budget

    frame = budget.current()
    made: dict[Any, Any] = {}
    if frame.max_cost_usd is not None:
        made[keyword("limit")] = frame.max_cost_usd
        made[keyword("spent")] = frame.spent_usd
        made[keyword("remaining")] = frame.max_cost_usd - frame.spent_usd
    if frame.max_tokens is not None:
        made[keyword("token-limit")] = frame.max_tokens
        made[keyword("tokens-spent")] = frame.spent_tokens
        made[keyword("tokens-remaining")] = max(0, frame.max_tokens - frame.spent_tokens)
    if frame.reserve and frame.max_cost_usd is not None:
        made[keyword("reserved")] = frame.held_units / budget.UNITS
    if frame.reserve and frame.max_tokens is not None:
        made[keyword("tokens-reserved")] = frame.held_tokens
    return Map(made) if made else None


# Usage and prices


def _usage_map(usage: Any) -> dict[Any, Any]:
    return {
        keyword("prompt-tokens"): usage.prompt,
        keyword("completion-tokens"): usage.completion,
        keyword("total-tokens"): usage.total,
        keyword("cache-read-tokens"): usage.cache_read,
        keyword("cache-creation-tokens"): usage.cache_creation,
    }


@builtin("llm/last-usage", returns="map|nil")
def llm_last_usage() -> Map | None:
    """Tokens, model and (where the price is known) :cost-usd of the last call, or nil.

    (llm/define-provider :echo {:complete (fn (req) {:content "hi" :usage {:prompt-tokens 3 :completion-tokens 1}})})
    (llm/complete "hello")
    (:total-tokens (llm/last-usage)) => 4
    """
    from sema_runtime.llm import usage

    last = usage.last()
    if last is None:
        return None
    made = _usage_map(last.usage)
    made[keyword("model")] = last.model
    if last.cost_usd is not None:
        made[keyword("cost-usd")] = last.cost_usd
    return Map(made)


@builtin("llm/session-usage", returns="map")
def llm_session_usage() -> Map:
    """Tokens and :cost-usd of all calls so far; calls without a known price count nothing in :cost-usd.

    (llm/define-provider :echo {:complete (fn (req) {:content "hi" :usage {:prompt-tokens 3 :completion-tokens 1}})})
    (llm/complete "hello")
    (:completion-tokens (llm/session-usage)) => 1
    """
    from sema_runtime.llm import usage

    made = _usage_map(usage.session.usage)
    made[keyword("cost-usd")] = usage.session.cost_usd
    return Map(made)


@builtin("llm/reset-usage", returns="nil")
def llm_reset_usage() -> None:
    """Starts counting from zero.

    (llm/reset-usage)
    (:total-tokens (llm/session-usage)) => 0
    """
    from sema_runtime.llm import usage

    usage.reset()


@builtin("llm/set-pricing", returns="nil")
def llm_set_pricing(pattern: Any, input_price: Any, output_price: Any) -> None:
    """Prices every model whose name contains pattern, in USD per million input and output tokens.

    (llm/set-pricing "echo" 1000 2000)
    (define reply {:content "hi" :usage {:prompt-tokens 1 :completion-tokens 1}})
    (llm/define-provider :echo {:complete (fn (req) reply) :default-model "echo-1"})
    (llm/complete "hello")
    (:cost-usd (llm/last-usage)) => 0.003
    """
    from sema_runtime.llm import pricing

    if not isinstance(pattern, str):
        type_error("string", pattern)
    pricing.set_price(pattern, pricing.Price(_number(input_price), _number(output_price)))


@builtin("llm/pricing-status", returns="map")
def llm_pricing_status() -> Map:
    """Where prices come from and how old they are: {:source :updated-at}.

    (keys (llm/pricing-status)) => (:source :updated-at)
    """
    from sema_runtime.llm import pricing

    return Map({keyword("source"): symbol("embedded"), keyword("updated-at"): pricing.UPDATED_AT})


# Providers in turn, calls at a distance


@builtin("llm/with-fallback")
def llm_with_fallback(providers: Any, thunk: Any) -> Any:
    """Calls thunk; each call to a model inside tries the providers in order until one answers.

    Entries: :name, [:name "model"] or {:provider :name :model "model"}.

    (llm/define-provider :down {:complete (fn (req) (error "down")) :default-model "a"})
    (llm/define-provider :up {:complete (fn (req) "here") :default-model "b"})
    (llm/with-fallback [:down :up] (fn () (llm/complete "hi"))) => "here"
    """
    from sema_runtime.llm import fallback

    if not isinstance(providers, tuple | List | list):
        type_error("list or vector", providers)
    return within(fallback.chain, tuple(map(fallback.entry_of, providers)), thunk)


@builtin("llm/with-rate-limit")
def llm_with_rate_limit(per_second: Any, thunk: Any) -> Any:
    """Calls thunk; at most per_second calls to models start in a second, evenly spaced.

    (llm/define-provider :echo {:complete (fn (req) "hi") :default-model "echo"})
    (llm/with-rate-limit 100 (fn () (llm/complete "a") (llm/complete "b"))) => "hi"
    """
    from sema_runtime.llm import fallback

    rate = _number(per_second)
    if not rate > 0:
        raise SemaError("llm/with-rate-limit: expected a positive number of calls per second")
    return within(fallback.rate, fallback.RateLimit(1 / rate), thunk)
