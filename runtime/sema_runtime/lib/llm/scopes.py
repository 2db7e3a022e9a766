"""Settings for the calls made inside a function: budgets, provider chains, rate limits. recordings.py has caches and
cassettes.

Every `llm/with-…` returns its function's value, restores the earlier settings, and applies to tasks started inside.
"""

from __future__ import annotations

from typing import Any

from sema_runtime.catalogue import builtin
from sema_runtime.support.scoped import within
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map


def number_of(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        type_error("number", value)
    return float(value)


# Budgets


@builtin("llm/with-budget", type="dict|nil, now (-> a) -> a")
def llm_with_budget(options: Any, thunk: Any) -> Any:
    """Calls thunk and returns its value; calls to models inside it may spend {:max-cost-usd :max-tokens} in total. The
    call that exceeds a limit raises an error. With :on-stream :pre-gate no stream is opened once the limit is reached.
    With :reserve #t the highest possible cost of a call is reserved before it is sent: the limit is never exceeded, and
    no paid reply is lost.

    (llm/define-provider :echo {:complete (fn (req) {:content "hi" :usage {:prompt-tokens 3 :completion-tokens 2}})})
    (llm/with-budget {:max-tokens 100} (fn () (llm/complete "a"))) => "hi"
    (llm/with-budget {:max-tokens 4} (fn () (llm/complete "a"))) ! LLM error: token budget exceeded: used 5 of 4 tokens
    (define small {:max-tokens 10})
    (llm/with-budget {:max-tokens 200 :reserve #t} (fn () (llm/complete "a" small))) => "hi"
    """
    from sema_runtime.llm.budgets import budget
    from sema_runtime.support import options as opt

    settings = opt.options_map(options)
    cost, tokens = opt.number(settings, "max-cost-usd"), opt.integer(settings, "max-tokens")
    if cost is None and tokens is None:
        raise SemaError("llm/with-budget: requires at least :max-cost-usd or :max-tokens")
    pre_gate = settings.lookup(keyword("on-stream")) is keyword("pre-gate")
    frame = budget.inner(cost, tokens, pre_gate, opt.truthy(settings, "reserve", False))
    return within(budget.scope, frame, thunk)


@builtin("llm/set-budget", type="int|float -> nil")
def llm_set_budget(usd: Any) -> None:
    """Limits the cost of calls from now on, in USD.

    (llm/set-budget 0.5)
    (:limit (llm/budget-remaining)) => 0.5
    """
    from sema_runtime.llm.budgets import budget

    limit = number_of(usd)
    if limit != limit:
        raise SemaError("llm/set-budget: expected a number of USD, got NaN")
    budget.set_limit(limit)


@builtin("llm/clear-budget", type="-> nil")
def llm_clear_budget() -> None:
    """Removes the limit of llm/set-budget.

    (llm/set-budget 0.5)
    (llm/clear-budget)
    (llm/budget-remaining) => nil
    """
    from sema_runtime.llm.budgets import budget

    budget.clear()


@builtin("llm/budget-remaining", type="-> map keyword (int|float)|nil fresh")
def llm_budget_remaining() -> Map | None:
    """The rest of the budget as a map: {:limit :spent :remaining} in USD and {:token-limit :tokens-spent
    :tokens-remaining}, where there is such a limit; nil without one. A :reserve budget adds :reserved and
    :tokens-reserved for calls in progress.

    (llm/with-budget {:max-tokens 100} (fn () (:tokens-remaining (llm/budget-remaining)))) => 100
    (llm/budget-remaining) => nil
    """
    from sema_runtime.llm.budgets import budget

    frame = budget.current()
    remaining: dict[Any, Any] = {}
    if frame.max_cost_usd is not None:
        remaining[keyword("limit")] = frame.max_cost_usd
        remaining[keyword("spent")] = frame.spent_usd
        remaining[keyword("remaining")] = frame.max_cost_usd - frame.spent_usd
    if frame.max_tokens is not None:
        remaining[keyword("token-limit")] = frame.max_tokens
        remaining[keyword("tokens-spent")] = frame.spent_tokens
        remaining[keyword("tokens-remaining")] = max(0, frame.max_tokens - frame.spent_tokens)
    if frame.reserve and frame.max_cost_usd is not None:
        remaining[keyword("reserved")] = frame.reserved_units / budget.UNITS
    if frame.reserve and frame.max_tokens is not None:
        remaining[keyword("tokens-reserved")] = frame.reserved_tokens
    return Map(remaining) if remaining else None


# Chains of providers, limits of rate


@builtin("llm/with-fallback", type="seq (keyword|str|seq|dict), now (-> a) -> a")
def llm_with_fallback(providers: Any, thunk: Any) -> Any:
    """Calls thunk and returns its value; each call to a model inside it tries the providers in order until one answers.

    Entries: :name, [:name "model"] or {:provider :name :model "model"}.

    (llm/define-provider :down {:complete (fn (req) (error "down")) :default-model "a"})
    (llm/define-provider :up {:complete (fn (req) "here") :default-model "b"})
    (llm/with-fallback [:down :up] (fn () (llm/complete "hi"))) => "here"
    """
    from sema_runtime.llm import fallback

    if not isinstance(providers, tuple | List | list):
        type_error("list or vector", providers)
    return within(fallback.chain, tuple(map(fallback.entry_of, providers)), thunk)


@builtin("llm/with-rate-limit", type="int|float, now (-> a) -> a")
def llm_with_rate_limit(per_second: Any, thunk: Any) -> Any:
    """Calls thunk and returns its value; at most per-second calls to models start in a second, evenly spaced.

    (llm/define-provider :echo {:complete (fn (req) "hi") :default-model "echo"})
    (llm/with-rate-limit 100 (fn () (llm/complete "a") (llm/complete "b"))) => "hi"
    """
    from sema_runtime.llm import fallback

    rate = number_of(per_second)
    if not rate > 0:
        raise SemaError("llm/with-rate-limit: expected a positive number of calls per second")
    return within(fallback.rate, fallback.RateLimit(1 / rate), thunk)
