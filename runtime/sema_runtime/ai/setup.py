"""Providers, prices and usage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sema_runtime.ai.values import Usage, usage_of
from sema_runtime.values.atoms import keyword
from sema_runtime.values.maps import Map


def configure(
    name: str,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    default_model: str | None = None,
    complete: Callable[[dict[str, Any]], Any] | None = None,
) -> None:
    """Registers a provider and makes it the default. Without it, the keys in the environment decide.

    Any name with api_key and base_url is an OpenAI-compatible server. complete: a function, plain or async, that
    answers in place of a server, for tests: it gets the request as a dict {"model", "messages", ...} and returns a str
    or a dict {"content", "tool_calls", "usage": {"prompt_tokens", "completion_tokens"}}.
    """
    from sema_runtime.lib.llm.providers import llm_configure, llm_define_provider

    settings = {"api-key": api_key, "base-url": base_url, "default-model": default_model}
    options = Map({keyword(key): value for key, value in settings.items() if value is not None})
    if complete is None:
        llm_configure(keyword(name), options)
    else:
        llm_define_provider(keyword(name), options.assoc(keyword("complete"), _as_sema(complete)))


def _as_sema(function: Callable[[dict[str, Any]], Any]) -> Callable[[Any], Any]:
    """Returns a provider's function for Sema from one that takes and returns Python data."""
    from sema_runtime.llm.jsonable import to_json, to_sema
    from sema_runtime.llm.tools.tool import awaited

    def answer(request: Any) -> Any:
        plain_request = {name.replace("-", "_"): value for name, value in to_json(request).items()}
        reply = awaited(function(plain_request))
        return to_sema(_dashed(reply)) if isinstance(reply, Mapping) else reply

    return answer


def _dashed(reply: Mapping[str, Any]) -> dict[str, Any]:
    dashed = {name.replace("_", "-"): value for name, value in reply.items()}
    if isinstance(dashed.get("usage"), Mapping):
        dashed["usage"] = {name.replace("_", "-"): value for name, value in dashed["usage"].items()}
    return dashed


def configure_embeddings(
    name: str, *, api_key: str | None = None, base_url: str | None = None, default_model: str | None = None
) -> None:
    """Makes a provider the default of `embed`, and of `rerank` if it ranks."""
    from sema_runtime.lib.llm.providers import llm_configure_embeddings

    settings = {"api-key": api_key, "base-url": base_url, "default-model": default_model}
    options = {keyword(key): value for key, value in settings.items() if value is not None}
    llm_configure_embeddings(keyword(name), Map(options))


def set_default(name: str) -> None:
    """Makes a registered provider the default. Raises LlmError for an unknown one."""
    from sema_runtime.lib.llm.providers import llm_set_default

    llm_set_default(keyword(name))


def providers() -> list[str]:
    """Returns the names of the registered providers, sorted."""
    from sema_runtime.lib.llm.providers import llm_list_providers

    return [provider.name for provider in llm_list_providers()]


def set_price(pattern: str, input_usd: float, output_usd: float) -> None:
    """Sets the price of models whose names contain pattern, in USD per million input and output tokens."""
    from sema_runtime.lib.llm.usage import llm_set_pricing

    llm_set_pricing(pattern, input_usd, output_usd)


def usage() -> Usage:
    """Returns the usage of all calls of this process."""
    from sema_runtime.llm.budgets import usage as counts

    return usage_of(counts.session.usage, counts.session.cost_usd)


def last_usage() -> Usage | None:
    """Returns the usage of the last call of this asyncio task (or thread); None before the first."""
    from sema_runtime.llm.budgets import usage as counts

    last = counts.last()
    return None if last is None else usage_of(last.usage, last.cost_usd, last.model)


def reset_usage() -> None:
    """Resets the usage to zero."""
    from sema_runtime.llm.budgets import usage as counts

    counts.reset()
