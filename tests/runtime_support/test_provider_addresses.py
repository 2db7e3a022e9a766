"""The variables that name a provider's server count for llm/configure and llm/configure-embeddings too."""

from __future__ import annotations

import pytest

from sema_runtime.llm import providers

SERVERS = {
    "OPENAI_BASE_URL": "http://openai.example/v1",
    "ANTHROPIC_BASE_URL": "http://anthropic.example",
    "OLLAMA_HOST": "ollama.example:1",
}


@pytest.fixture(autouse=True)
def _servers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, url in SERVERS.items():
        monkeypatch.setenv(name, url)


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("openai", "http://openai.example/v1"),
        ("anthropic", "http://anthropic.example/v1/messages"),
        ("ollama", "http://ollama.example:1"),
    ],
)
def test_configured_provider_uses_the_variable(name: str, url: str) -> None:
    assert providers.configured_provider(name, "key", "", "").base_url == url
    assert "given.example" in providers.configured_provider(name, "key", "http://given.example", "").base_url


@pytest.mark.parametrize(
    ("name", "url"), [("openai", "http://openai.example/v1"), ("ollama", "http://ollama.example:1/v1")]
)
def test_configured_embeddings_use_the_variable(name: str, url: str) -> None:
    registry = providers.Registry()
    providers.configure_embeddings(registry, name, "key")
    made = registry.providers[name].embedder
    assert made is not None
    assert made.base_url == url
