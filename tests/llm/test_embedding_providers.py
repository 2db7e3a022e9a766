"""Who embeds and ranks: keys, configuration, the sandbox, functions of the program."""

from __future__ import annotations

from pathlib import Path

import pytest
from embedding_support import error_of, given, lengths, numbers
from llm_support import llm as llm
from llm_support import run, serving

from sema_runtime import capabilities
from sema_runtime.llm.budgets import usage
from sema_runtime.values.errors import SemaError

pytestmark = pytest.mark.usefixtures("llm")


# Who is asked


def embedder() -> tuple[str, str]:
    from sema_runtime.llm.providers import registry

    found = registry().require_embedder()
    return found.provider, found.model


def ranker() -> str:
    from sema_runtime.llm.providers import registry

    return registry().require_ranker().provider


def test_the_first_key_of_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    from sema_runtime.llm import providers

    order = ["fireworks", "together", "nomic", "cohere", "voyage", "jina"]
    models = []
    for name in order:
        monkeypatch.setenv(f"{name.upper()}_API_KEY", "k")
        providers.reset()
        models.append(embedder())
        assert ranker() == name
    assert models == [
        ("fireworks", "fireworks/qwen3-embedding-8b"),
        ("together", "BAAI/bge-base-en-v1.5"),
        ("nomic", "nomic-embed-text-v1.5"),
        ("cohere", "embed-english-v3.0"),
        ("voyage", "voyage-3"),
        ("jina", "jina-embeddings-v3"),
    ]
    assert run("(llm/default-provider)").name == "together"  # which chats, too


def test_openai_is_the_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("SEMA_EMBEDDING_MODEL", "text-embedding-3-large")
    assert embedder() == ("openai-embeddings", "text-embedding-3-large")
    names = [one.name for one in run("(llm/list-providers)")]
    assert names == ["ollama", "openai", "openai-embeddings"]
    assert run("(llm/default-provider)").name == "openai"


def test_a_provider_can_be_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JINA", "COHERE"):
        monkeypatch.setenv(f"{name}_API_KEY", "k")
    monkeypatch.setenv("SEMA_EMBEDDING_PROVIDER", " Cohere ")
    monkeypatch.setenv("SEMA_EMBEDDING_MODEL", "embed-v4")
    assert embedder() == ("cohere", "embed-v4")
    assert ranker() == "jina"


def test_providers_without_key_can_be_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    from sema_runtime.llm.providers import registry

    monkeypatch.setenv("SEMA_EMBEDDING_PROVIDER", "ollama")
    monkeypatch.setenv("OLLAMA_HOST", "box:11434")
    assert embedder() == ("ollama", "nomic-embed-text")
    assert registry().require_embedder().base_url == "http://box:11434/v1"
    assert registry().providers["ollama"].wire == "ollama"


@pytest.mark.parametrize("name", ["jina", "nobody"])
def test_a_forced_provider_that_is_not_configured(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("SEMA_EMBEDDING_PROVIDER", name)
    assert error_of('(llm/embed "a")').message == f"requested embedding provider is not configured: {name}"


def test_configured_names() -> None:
    run('(llm/configure :voyage {:api-key "k"})')
    assert (embedder(), ranker()) == (("voyage", "voyage-3-lite"), "voyage")
    assert run("(llm/default-provider)").name == "ollama"
    run('(llm/configure-embeddings :voyage {:api-key "k"})')
    assert embedder() == ("voyage", "voyage-3")
    run('(llm/configure-embeddings :openai {:api-key "k" :default-model "text-embedding-3-large"})')
    assert (embedder(), ranker()) == (("openai", "text-embedding-3-large"), "voyage")
    run('(llm/configure-embeddings :mine {:base-url "http://localhost:1" :model "m"})')
    assert embedder() == ("mine", "m")


def test_a_provider_keeps_its_chat() -> None:
    with serving(lengths) as server:
        run(f"(llm/configure :openai {given(server)})")
        run(f"(llm/configure-embeddings :openai {given(server, **{'default-model': 'e'})})")
        assert str(run("(:model (llm/current-provider))")) == "gpt-5.5"
        run('(llm/embed "a")')
    assert server.received[0].body["model"] == "e"


def test_embeddings_stay_when_the_chat_is_configured_anew() -> None:
    run('(llm/configure-embeddings :openai {:api-key "k" :default-model "e"})')
    run('(llm/configure :openai {:api-key "other"})')
    assert embedder() == ("openai", "e")
    run('(llm/define-provider :openai {:complete (fn (req) "hi")})')
    assert error_of('(llm/embed "a")').message == "Config error: openai does not support embeddings"


def test_without_an_embedding_provider_the_chat_provider_is_asked() -> None:
    with serving(lengths) as server:
        run(f"(llm/configure :mine {given(server)})")
        run('(llm/embed "a")')
    assert server.received[0].body["model"] == "text-embedding-3-small"


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ('(llm/embed "a")', "Config error: ollama does not support embeddings"),
        ('(llm/rerank "a" ["b"])', "Config error: ollama does not support reranking"),
        ('(llm/rerank "a" ["b"] {:provider :none})', "rerank provider 'none' not found"),
        ("(llm/configure-embeddings :jina {})", "missing :api-key"),
        ("(llm/configure :cohere {})", "missing :api-key"),
        (
            "(llm/configure-embeddings :what {})",
            "unknown provider 'what': provide :api-key and :base-url to register as OpenAI-compatible",
        ),
        (
            '(llm/configure-embeddings :what {:api-key "k"})',
            "unknown provider 'what': provide :base-url to register as OpenAI-compatible",
        ),
    ],
)
def test_configuration_errors(program: str, message: str) -> None:
    assert error_of(program).message == message


def test_nothing_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_NO_LLM", "1")
    expected = "no embedding provider configured. Use (llm/configure-embeddings ...) first"
    assert error_of('(llm/embed "a")').message == expected
    assert error_of('(llm/rerank "a" ["b"])').message == (
        "no rerank provider configured — set COHERE_API_KEY, JINA_API_KEY, or VOYAGE_API_KEY (or pass {:provider ...})"
    )


@pytest.mark.parametrize(
    "ask", ['(llm/complete "a")', '(llm/stream "a" (fn (piece) piece))', '(llm/batch ["a"])', '(llm/classify [:a] "b")']
)
def test_chat_with_a_provider_of_embeddings(ask: str) -> None:
    run('(llm/configure :jina {:api-key "k"})')
    run("(llm/set-default :jina)")
    expected = "Config error: jina does not support chat completions (embedding-only provider)"
    assert error_of(ask).message == expected


def test_arguments_of_configure_embeddings() -> None:
    for program, message in (
        ('(llm/configure-embeddings "jina" {})', "expected keyword, got string"),
        ("(llm/configure-embeddings :jina nil)", "expected map, got nil"),
    ):
        with pytest.raises(SemaError, match=message):
            run(program)


def test_the_sandbox_keeps_away_from_internal_hosts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(capabilities, "denied", set())
    monkeypatch.setattr(capabilities, "allowed", None)
    capabilities.restrict(["shell"], [str(tmp_path / "inside")])
    with pytest.raises(SemaError, match=r"base-url 'http://127\.1/v1' targets an internal/loopback host"):
        run('(llm/configure-embeddings :mine {:base-url "http://127.1/v1"})')
    with pytest.raises(SemaError, match="outside allowed directories"):
        run(f'(llm/configure-embeddings :local {{:path "{tmp_path}"}})')
    capabilities.restrict(["llm"])
    for program in ('(llm/embed "a")', '(llm/rerank "a" ["b"])'):
        with pytest.raises(SemaError, match="requires 'llm' capability"):
            run(program)


# Functions of the program


def test_functions_of_the_program() -> None:
    run("""
      (llm/define-provider :mine {:default-model "m"
        :embed (fn (req) {:embeddings (map (fn (t) (list (string-length t) 1)) (:texts req))
                          :model (str (:model req) "!") :usage {:prompt-tokens 3}})
        :rerank (fn (req) {:results [{:index 1 :score (:top-k req)}]})})
    """)
    assert [numbers(one) for one in run('(llm/embed ["a" "bb"])')] == [[1.0, 1.0], [2.0, 1.0]]
    last = usage.last()
    assert last is not None and (last.usage.prompt, last.model) == (3, "m!")
    found = run('(llm/rerank "q" ["a" "b"] {:top-k 1})')
    assert [(one.get("index"), one.get("score"), one.get("document")) for one in found] == [(1, 1.0, "b")]
    expected = "Config error: mine does not support chat completions (embedding-only provider)"
    run("(llm/set-default :mine)")
    assert error_of('(llm/complete "a")').message == expected


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("(fn (req) 1)", "Parse error: lisp provider must return a list of embeddings or a map with :embeddings"),
        ("(fn (req) '())", "Parse error: 0 embeddings came for 1 texts"),
        ("(fn (req) '(:a))", "an embedding is a bytevector or a list of numbers, got keyword"),
        ('(fn (req) (throw "gone"))', 'API error: 0 - User exception: "gone"'),
    ],
)
def test_bad_functions(function: str, message: str) -> None:
    run(f"(llm/define-provider :mine {{:embed {function}}})")
    assert message in error_of('(llm/embed "a")').message


def test_define_provider_needs_some_function() -> None:
    for program, message in (
        ('(llm/define-provider :mine {:default-model "m"})', "llm/define-provider requires :complete function"),
        ("(llm/define-provider :mine {:embed 1})", "expected function, got int"),
    ):
        with pytest.raises(SemaError, match=message):
            run(program)
