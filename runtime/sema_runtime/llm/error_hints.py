"""Hints for errors of providers: what the user can do. Keys are removed from the texts."""

from __future__ import annotations

from sema_runtime.llm.errors import ProviderError
from sema_runtime.llm.providers import KEYS_HINT, PRESETS, Provider, registry
from sema_runtime.support.redaction import hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Prefixes of model names, and the providers that serve these models.
FAMILIES = (
    ("claude", "anthropic"), ("gpt", "openai"), ("chatgpt", "openai"), ("o1", "openai"), ("o3", "openai"),
    ("o4", "openai"), ("gemini", "gemini"), ("grok", "xai"), ("mistral", "mistral"), ("codestral", "mistral"),
    ("kimi", "moonshot"), ("moonshot", "moonshot"), ("deepseek", "deepseek"), ("sonar", "perplexity"),
)  # fmt: skip
TOO_LONG = ("context length", "context window", "too long", "maximum context", "too many tokens")


class with_hints:
    """`with with_hints(provider, model):` around a request: its errors name the provider and what to do."""

    __slots__ = ("model", "provider")

    def __init__(self, provider: Provider, model: str) -> None:
        self.provider = provider
        self.model = model

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, ProviderError):
            explain(error, self.provider, self.model)


def explain(error: ProviderError, provider: Provider, model: str) -> None:
    """Adds provider, model and hint to an error, and removes keys from its text. The error of a nested call, from a
    callback or a provider written in Sema, has them already."""
    if "provider" in error.fields:
        return
    hint = error.hint or hint_for(error, provider, model)
    shown = masked(hint, provider.api_key) if hint else None
    error.concerning(provider.name, model, shown, masked(error.message, provider.api_key))


def masked(text: str, key: str = "") -> str:
    """Returns the text without the key, other secrets of the process, and anything that looks like a key."""
    return hidden(text, [key])


def hint_for(error: ProviderError, provider: Provider, model: str) -> str | None:
    """Returns what the user can do about an error; None without a hint."""
    text = error.message.lower()
    if error.status in (401, 403):
        return f"provider '{provider.name}' refused the key: check {_key_of(provider)}"
    if error.status in (400, 413) and any(words in text for words in TOO_LONG):
        return "send less: a shorter text, fewer messages of the history, or a model with a larger context"
    if error.status == 404 or (error.status == 400 and "model" in text):
        return _about_model(provider, model)
    if error.status == 407 or "(407 " in text:
        return f"the proxy in {_proxy_of(provider) or 'the environment'} wants a name and a password in its URL"
    if error.status == 402:
        return f"the account of provider '{provider.name}' needs credit"
    if error.status >= 500:
        return f"provider '{provider.name}' has trouble; llm/with-fallback asks another one in such a case"
    return _about_connection(text, provider)


def _key_of(provider: Provider) -> str:
    preset = PRESETS.get(provider.name)
    if preset is None:
        return "its :api-key"
    return "its :host" if preset.wire == "ollama" else preset.variable


def _about_model(provider: Provider, model: str) -> str:
    """Returns a hint for a model that this provider doesn't know."""
    family = next((owner for start, owner in FAMILIES if model.lower().startswith(start)), None)
    if family is None or family == provider.name:
        return f"check the model's name ({model}) and the base URL of provider '{provider.name}' ({provider.base_url})"
    if family in registry().providers:
        return f"'{model}' is a model of provider '{family}', which is configured: (llm/set-default :{family})"
    return f"'{model}' is a model of provider '{family}', which needs {PRESETS[family].variable}"


def _about_connection(text: str, provider: Provider) -> str | None:
    if text.startswith("http error: could not connect"):
        if "tls:" in text:
            return f"is {provider.base_url} the right address, and is its certificate one that this machine trusts?"
        if proxy := _proxy_of(provider):
            return f"requests go through the proxy in {proxy}: is it right? NO_PROXY names hosts that need none"
        if provider.name == "ollama":
            return f"no other provider is in use: {KEYS_HINT}"
        return f"is the server of provider '{provider.name}' running, and is {provider.base_url} right?"
    if text.startswith("parse error: reply is not "):
        return f"is {provider.base_url} the API, or does a proxy or the login page of a network answer for it?"
    return None


def _proxy_of(provider: Provider) -> str | None:
    """Returns the variable that names the proxy to a provider; None without one."""
    from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

    scheme, _, rest = provider.base_url.partition("://")
    if proxy_bypass_environment(rest.partition("/")[0]):
        return None
    proxies = getproxies_environment()
    return next((f"{kind}_proxy".upper() for kind in (scheme, "all") if kind in proxies), None)
