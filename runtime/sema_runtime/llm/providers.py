"""The provider registry and its automatic configuration from environment variables.

The registry configures itself on first use, so a program that makes no call pays nothing. SEMA_NO_LLM (the command
line's `--no-llm`) leaves it empty.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sema_runtime.llm import embedders
from sema_runtime.llm.embedders import Embedder, Ranker
from sema_runtime.llm.errors import config_error
from sema_runtime.support import secrets
from sema_runtime.values.errors import LlmError

NO_PROVIDER = "no LLM provider configured. Use (llm/configure :anthropic {:api-key ...}) first"
KEYS_HINT = (
    "set ANTHROPIC_API_KEY or OPENAI_API_KEY (`sema doctor` lists all and checks them), call llm/configure, "
    "start a local Ollama server, or replay a recording with SEMA_LLM_CASSETTE"
)


class Preset(NamedTuple):
    """A known provider. variable: the environment variable of its key; wire: a module of wires/."""

    wire: str
    variable: str
    base_url: str
    model: str
    stream_usage: bool = False


PRESETS: dict[str, Preset] = {
    "anthropic": Preset("anthropic", "ANTHROPIC_API_KEY", "https://api.anthropic.com/v1/messages", "claude-sonnet-4-6"),
    "openai": Preset("openai", "OPENAI_API_KEY", "https://api.openai.com/v1", "gpt-5.5", True),
    "groq": Preset("openai", "GROQ_API_KEY", "https://api.groq.com/openai/v1", "llama-3.3-70b-versatile", True),
    "xai": Preset("openai", "XAI_API_KEY", "https://api.x.ai/v1", "grok-4.3", True),
    "mistral": Preset("openai", "MISTRAL_API_KEY", "https://api.mistral.ai/v1", "mistral-large-latest"),
    "moonshot": Preset("openai", "MOONSHOT_API_KEY", "https://api.moonshot.ai/v1", "kimi-k2.6"),
    "gemini": Preset(
        "gemini", "GOOGLE_API_KEY", "https://generativelanguage.googleapis.com/v1beta", "gemini-3.5-flash"
    ),
    "deepseek": Preset("openai", "DEEPSEEK_API_KEY", "https://api.deepseek.com/v1", "deepseek-v4-flash"),
    "openrouter": Preset("openai", "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1", "openai/gpt-5.2"),
    "together": Preset(
        "openai", "TOGETHER_API_KEY", "https://api.together.xyz/v1", "meta-llama/Llama-4-Scout-17B-16E-Instruct"
    ),
    "fireworks": Preset(
        "openai",
        "FIREWORKS_API_KEY",
        "https://api.fireworks.ai/inference/v1",
        "accounts/fireworks/models/gpt-oss-120b",
    ),
    "cerebras": Preset("openai", "CEREBRAS_API_KEY", "https://api.cerebras.ai/v1", "gpt-oss-120b"),
    "sambanova": Preset("openai", "SAMBANOVA_API_KEY", "https://api.sambanova.ai/v1", "Meta-Llama-3.3-70B-Instruct"),
    "perplexity": Preset("openai", "PERPLEXITY_API_KEY", "https://api.perplexity.ai", "sonar-pro"),
    "ollama": Preset("ollama", "OLLAMA_HOST", "http://localhost:11434", "gemma4"),
}
BASE_URL_VARIABLES = {"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL", "ollama": "OLLAMA_HOST"}


@dataclass(slots=True)
class Provider:
    """A registered provider. wire: `openai`, `anthropic`, `gemini`, `ollama`, `sema` (function answers), or
    `embeddings` for one that doesn't chat. embedder, ranker: None for those that its wire implies."""

    name: str
    wire: str
    base_url: str = ""
    default_model: str = "default"
    api_key: str = ""
    stream_usage: bool = False
    function: Callable[..., Any] | None = None
    embedder: Embedder | None = None
    ranker: Ranker | None = None


class Registry:
    """Providers by name and the defaults among them: for chat, for embeddings, for rankings."""

    def __init__(self) -> None:
        self.providers: dict[str, Provider] = {}
        self.default_name: str | None = None
        self.embedding_name: str | None = None
        self.ranking_name: str | None = None

    def register(self, provider: Provider, make_default: bool = False) -> None:
        self.providers[provider.name] = provider
        if make_default or self.default_name is None:
            self.default_name = provider.name

    def register_chat(self, provider: Provider) -> None:
        """Registers a provider and makes it the default; embeddings configured under its name stay."""
        earlier = self.providers.get(provider.name)
        if earlier is not None and earlier.function is None:
            provider.embedder, provider.ranker = earlier.embedder, earlier.ranker
        self.register(provider, make_default=True)

    def default(self) -> Provider | None:
        return self.providers.get(self.default_name) if self.default_name else None

    def require_default(self) -> Provider:
        """Returns the default provider. Raises LlmError when there is none."""
        provider = self.default()
        if provider is None:
            raise LlmError(NO_PROVIDER, hint=KEYS_HINT)
        return provider

    def register_embedder(self, embedder: Embedder, ranker: Ranker | None, make_default: bool = True) -> None:
        """Adds embeddings (and rankings) to the provider of that name, which keeps its chat if it has one.

        make_default: make it the default for both; otherwise only if there is no default yet.
        """
        name = embedder.provider
        provider = self.providers.get(name) or Provider(name, "embeddings", default_model=embedder.model)
        if provider.wire == "embeddings":
            provider = replace(provider, default_model=embedder.model)
        self.register(replace(provider, embedder=embedder, ranker=ranker or provider.ranker))
        if make_default or self.embedding_name is None:
            self.embedding_name = name
        if ranker is not None and (make_default or self.ranking_name is None):
            self.ranking_name = name

    def define(self, provider: Provider, embed: Callable[..., Any] | None, rank: Callable[..., Any] | None) -> None:
        """Registers a provider whose functions the program wrote, as the default of each kind that it has."""
        name, model = provider.name, provider.default_model
        if embed is not None:
            provider.embedder = Embedder(name, "sema", model, function=embed)
            self.embedding_name = name
        if rank is not None:
            provider.ranker = Ranker(name, model, function=rank)
            self.ranking_name = name
        self.register(provider, make_default=provider.function is not None)

    def require_embedder(self) -> Embedder:
        """Returns the default embedder, else that of the default chat provider. Raises LlmError when there is none."""
        provider = self.providers.get(self.embedding_name or "") or self.default()
        if provider is None:
            raise LlmError(embedders.NO_EMBEDDER, hint=embedders.KEYS_HINT)
        return embedder_of(provider)

    def require_ranker(self, name: str | None = None) -> Ranker:
        """Returns the ranker of that name, else the default, else the default chat provider's. Raises LlmError."""
        if name is not None and name not in self.providers:
            names = ", ".join(sorted(self.providers)) or "none"
            raise LlmError(f"rerank provider '{name}' not found", hint=f"configured providers: {names}")
        provider = self.providers.get(name or self.ranking_name or "") or self.default()
        if provider is None:
            raise LlmError(embedders.NO_RANKER)
        return ranker_of(provider)

    def set_default(self, name: str) -> None:
        if name not in self.providers:
            names = ", ".join(sorted(self.providers)) or "none"
            raise LlmError(f"provider not configured: {name}", hint=f"configured providers: {names}")
        self.default_name = name


def embedder_of(provider: Provider) -> Embedder:
    """Returns a provider's embedder. Raises ProviderError when it makes no embeddings."""
    if provider.embedder is not None:
        return provider.embedder
    if provider.wire == "openai":
        return embedders.embedder(provider.name, provider.api_key, provider.base_url)
    raise config_error(f"{provider.name} does not support embeddings", embedders.KEYS_HINT)


def ranker_of(provider: Provider) -> Ranker:
    """Returns a provider's ranker. Raises ProviderError when it ranks nothing."""
    ranker = provider.ranker
    if ranker is None and provider.wire == "openai":
        ranker = embedders.ranker(provider.name, provider.api_key, provider.base_url)
    if ranker is None:
        raise config_error(f"{provider.name} does not support reranking", f"these do: {', '.join(embedders.PRESETS)}")
    return ranker


_registry: Registry | None = None


def registry() -> Registry:
    """Returns the process's registry, configured from the environment on first use."""
    global _registry
    if _registry is None:
        fresh = Registry()
        if not os.environ.get("SEMA_NO_LLM"):
            auto_configure(fresh, os.environ)
        _registry = fresh
    return _registry


def _keys() -> Iterator[str]:
    """Yields the keys of the providers registered so far; configures none."""
    for provider in () if _registry is None else _registry.providers.values():
        yield provider.api_key
        for endpoint in (provider.embedder, provider.ranker):
            yield endpoint.api_key if endpoint is not None else ""


secrets.key_sources["providers"] = _keys


def reset() -> None:
    """Forgets every provider, for a fresh start (tests, a new session)."""
    global _registry
    _registry = None


def auto_configure(target: Registry, environment: Mapping[str, str]) -> None:
    """Registers each provider whose key is set, then Ollama. The first one is the default, unless one is forced."""
    first = ""
    for name, preset in PRESETS.items():
        value = environment.get(preset.variable, "")
        if not value and name != "ollama":
            continue
        first = first or name
        key = "" if name == "ollama" else value
        target.register(preset_provider(name, key, environment.get(BASE_URL_VARIABLES.get(name, ""), "")))
    target.default_name = first
    wanted = environment.get("SEMA_CHAT_PROVIDER", "").strip().lower()
    if wanted:
        if wanted not in target.providers:
            raise LlmError(f"requested provider is not configured: {wanted}", hint=_missing_key_hint(wanted))
        target.default_name = wanted
    model = environment.get("SEMA_CHAT_MODEL", "")
    if model and target.default_name:
        target.providers[target.default_name].default_model = model
    _auto_configure_embeddings(target, environment)


def _auto_configure_embeddings(target: Registry, environment: Mapping[str, str]) -> None:
    """Registers each embedding provider whose key is set. The first one is the default, unless one is forced."""
    wanted = environment.get("SEMA_EMBEDDING_PROVIDER", "").strip().lower()
    model = environment.get("SEMA_EMBEDDING_MODEL", "")
    for name, preset in embedders.PRESETS.items():
        if key := environment.get(preset.variable, ""):
            own = model if name == wanted or (not wanted and target.embedding_name in (None, name)) else ""
            target.register_embedder(embedders.embedder(name, key, "", own), embedders.ranker(name, key), False)
    key = environment.get(embedders.OPENAI.variable, "")
    if key and (target.embedding_name is None or wanted == embedders.FALLBACK):
        own = model if wanted in ("", "openai", embedders.FALLBACK) else ""
        embedder = embedders.embedder("openai", key, environment.get(BASE_URL_VARIABLES["openai"], ""), own)
        target.register_embedder(replace(embedder, provider=embedders.FALLBACK), None)
    if wanted:
        target.embedding_name = _forced_embedder(target, environment, wanted, model)


def _forced_embedder(target: Registry, environment: Mapping[str, str], wanted: str, model: str) -> str:
    """Returns the name in SEMA_EMBEDDING_PROVIDER; registers that provider if it is not yet."""
    preset = embedders.OTHERS.get(wanted)
    if preset is not None and not (wanted in target.providers and target.providers[wanted].embedder):
        key = environment.get(preset.variable, "") if preset.variable else ""
        if key or not preset.variable:
            target.register_embedder(embedders.embedder(wanted, key, _embedding_base(environment, wanted), model), None)
    if wanted not in target.providers:
        known = embedders.PRESETS.get(wanted) or preset
        hint = f"SEMA_EMBEDDING_PROVIDER asks for it; set {known.variable}" if known else None
        raise LlmError(f"requested embedding provider is not configured: {wanted}", hint=hint)
    return wanted


def _embedding_base(environment: Mapping[str, str], name: str) -> str:
    """Returns the base URL that the environment sets, "" for the preset's."""
    if name == "ollama" and (host := environment.get("OLLAMA_HOST", "")):
        return _with_scheme(host).rstrip("/") + "/v1"
    return environment.get(BASE_URL_VARIABLES.get(name, ""), "") if name == "openai" else ""


def _missing_key_hint(name: str) -> str:
    preset = PRESETS.get(name)
    return f"SEMA_CHAT_PROVIDER asks for it; set {preset.variable}" if preset else f"known: {', '.join(PRESETS)}"


def preset_provider(name: str, api_key: str, base_url: str = "", model: str = "") -> Provider:
    """Returns a known provider with the user's settings; empty texts mean the preset's."""
    preset = PRESETS[name]
    url = base_url or preset.base_url
    if preset.wire == "anthropic":
        url = _messages_url(url)
    elif preset.wire == "ollama":
        url = _with_scheme(url)
    return Provider(name, preset.wire, url, model or preset.model, api_key, preset.stream_usage)


def _with_scheme(host: str) -> str:
    return host if "://" in host else "http://" + host


def _messages_url(base: str) -> str:
    base = base.rstrip("/")
    if base.endswith("/messages"):
        return base
    return base + ("/messages" if base.endswith("/v1") else "/v1/messages")


def configure_embeddings(
    target: Registry, name: str, api_key: str, base_url: str = "", model: str = "", path: str = ""
) -> None:
    """Registers an embedder, for `llm/configure-embeddings`. Raises LlmError with what is missing."""
    preset = embedders.PRESETS.get(name) or embedders.OTHERS.get(name)
    if preset is None and not base_url:
        raise _unknown_provider(name, api_key)
    if preset is not None and preset.variable and not api_key and not base_url:
        raise _missing_key("llm/configure-embeddings", name, preset.variable)
    base_url = base_url or _embedding_base(os.environ, name)
    embedder = embedders.embedder(name, api_key, base_url, model, path)
    target.register_embedder(embedder, embedders.ranker(name, api_key, base_url))


def configured_provider(name: str, api_key: str, base_url: str, model: str) -> Provider:
    """Returns the provider that `llm/configure` registers. Raises LlmError with what is missing."""
    if name in PRESETS:
        if not api_key and name != "ollama":
            raise _missing_key("llm/configure", name, PRESETS[name].variable)
        base_url = base_url or os.environ.get(BASE_URL_VARIABLES.get(name, ""), "")
        return preset_provider(name, api_key, base_url, model)
    if not base_url:
        raise _unknown_provider(name, api_key)
    if not api_key:
        raise LlmError("missing :api-key", hint="a server that needs no key takes any text")
    return Provider(name, "openai", base_url, model or "default", api_key)


def _missing_key(function: str, name: str, variable: str) -> LlmError:
    return LlmError("missing :api-key", hint=f'({function} :{name} {{:api-key "..."}}), or set {variable}')


def _unknown_provider(name: str, api_key: str) -> LlmError:
    missing = ":base-url" if api_key else ":api-key and :base-url"
    return LlmError(f"unknown provider '{name}': provide {missing} to register as OpenAI-compatible")
