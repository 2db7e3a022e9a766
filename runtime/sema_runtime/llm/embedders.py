"""Embedders and rankers: the known providers of embeddings and rankings, and their limits.

A chat provider that speaks OpenAI's format also embeds; some providers do nothing else. Limits are those of the
providers' documentation: texts in one request, and tokens in one request (two bytes of text for each, to be safe).
OpenAI would take 2048 texts, but its replies are 30 kB for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

OTHER_BYTES = 240_000
NO_EMBEDDER = "no embedding provider configured. Use (llm/configure-embeddings ...) first"
NO_RANKER = (
    "no rerank provider configured — set COHERE_API_KEY, JINA_API_KEY, or VOYAGE_API_KEY (or pass {:provider ...})"
)
KEYS_HINT = (
    "set JINA_API_KEY, VOYAGE_API_KEY, COHERE_API_KEY or OPENAI_API_KEY, or take the model on this machine:"
    " (llm/configure-embeddings :local {})"
)


class Preset(NamedTuple):
    """variable: the environment variable of the key, "" when none is needed. ranker: its model for llm/rerank, "" for
    none; top_field, results_field: its names for the number of results and the results."""

    variable: str
    base_url: str
    model: str
    ranker: str = ""
    top_field: str = "top_n"
    results_field: str = "results"
    wire: str = "openai"
    max_texts: int = 128
    max_bytes: int = OTHER_BYTES


# In the order in which they become the default.
PRESETS: dict[str, Preset] = {
    "jina": Preset(
        "JINA_API_KEY",
        "https://api.jina.ai/v1",
        "jina-embeddings-v3",
        "jina-reranker-v2-base-multilingual",
        max_texts=512,
    ),
    "voyage": Preset("VOYAGE_API_KEY", "https://api.voyageai.com/v1", "voyage-3", "rerank-2.5", "top_k", "data"),
    "cohere": Preset(
        "COHERE_API_KEY",
        "https://api.cohere.com/v2",
        "embed-english-v3.0",
        "rerank-v3.5",
        wire="cohere",
        max_texts=96,
    ),
    "nomic": Preset(
        "NOMIC_API_KEY",
        "https://api-atlas.nomic.ai/v1",
        "nomic-embed-text-v1.5",
        "nomic-rerank-v1.5",
        wire="nomic",
    ),
    "together": Preset(
        "TOGETHER_API_KEY", "https://api.together.xyz/v1", "BAAI/bge-base-en-v1.5", "BAAI/bge-reranker-v2-m3"
    ),
    "fireworks": Preset(
        "FIREWORKS_API_KEY",
        "https://api.fireworks.ai/inference/v1",
        "fireworks/qwen3-embedding-8b",
        "fireworks/qwen3-reranker-8b",
        results_field="data",
    ),
}
OPENAI = Preset(
    "OPENAI_API_KEY", "https://api.openai.com/v1", "text-embedding-3-small", max_texts=512, max_bytes=600_000
)
OTHERS: dict[str, Preset] = {  # never chosen as default automatically
    "openai": OPENAI,
    "mistral": Preset("MISTRAL_API_KEY", "https://api.mistral.ai/v1", "mistral-embed"),
    "gemini": Preset(
        "GOOGLE_API_KEY",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "gemini-embedding-001",
        max_texts=100,
    ),
    "ollama": Preset("", "http://localhost:11434/v1", "nomic-embed-text"),
    "local": Preset("", "", "all-MiniLM-L6-v2", wire="local", max_texts=1 << 30, max_bytes=1 << 60),
}
CHATLESS = ("jina", "voyage", "cohere", "nomic")  # `llm/configure` takes them too
CONFIGURED_MODELS = {"voyage": "voyage-3-lite"}  # by `llm/configure`
FALLBACK = "openai-embeddings"  # OpenAI as the default embedder, so that `openai` stays the chat provider


@dataclass(slots=True, frozen=True)
class Embedder:
    """Makes embeddings. wire: openai, cohere, nomic, local (path: the model's folder, "" for the package's) or sema
    (function: makes them). max_texts, max_bytes: of one request."""

    provider: str
    wire: str
    model: str
    base_url: str = ""
    api_key: str = ""
    max_texts: int = 128
    max_bytes: int = OTHER_BYTES
    path: str = ""
    function: Callable[..., Any] | None = None


@dataclass(slots=True, frozen=True)
class Ranker:
    """Ranks documents by their relevance to a query, over HTTP or with a function of the program."""

    provider: str
    model: str
    base_url: str = ""
    api_key: str = ""
    top_field: str = "top_n"
    results_field: str = "results"
    function: Callable[..., Any] | None = None


def embedder(name: str, api_key: str, base_url: str = "", model: str = "", path: str = "") -> Embedder:
    """Returns the embedder of a provider; empty texts mean the preset's. An unknown provider speaks OpenAI's format."""
    preset = PRESETS.get(name) or OTHERS.get(name)
    if preset is None:
        preset = OPENAI._replace(max_texts=128, max_bytes=OTHER_BYTES)
    url = (base_url or preset.base_url).rstrip("/")
    return Embedder(name, preset.wire, model or preset.model, url, api_key, preset.max_texts, preset.max_bytes, path)


def ranker(name: str, api_key: str, base_url: str = "") -> Ranker | None:
    """Returns the ranker of a provider; None when it has none."""
    preset = PRESETS.get(name)
    if preset is None or not preset.ranker:
        return None
    url = (base_url or preset.base_url).rstrip("/")
    return Ranker(name, preset.ranker, url, api_key, preset.top_field, preset.results_field)
