"""llm/embed and llm/rerank: what is sent, what is made of replies, who is asked, what is counted; the arithmetic."""

from __future__ import annotations

import asyncio
import functools
import json
import math
import threading
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from llm_support import Answer, Received, Server, aimock, closed_port, run, serving
from llm_support import llm as llm
from paths import DATA

from sema_runtime import capabilities, tasks
from sema_runtime.llm import observers
from sema_runtime.llm.budgets import usage
from sema_runtime.llm.embeddings.vectors import packed, unpacked
from sema_runtime.values.errors import LlmError, SemaError
from semac.session import Session

RECORDED = DATA / "llm" / "embeddings"

pytestmark = pytest.mark.usefixtures("llm")


def recorded(name: str) -> Any:
    return json.loads((RECORDED / f"{name}.json").read_text())


def numbers(embedding: bytes) -> list[float]:
    return unpacked(embedding).tolist()


def openai_reply(*vectors: Any, **rest: Any) -> dict[str, Any]:
    data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
    return {"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 7, "total_tokens": 7}, **rest}


def lengths(received: Received) -> Answer:
    """Answers as OpenAI does; the embedding of a text is (its length, 1)."""
    return Answer(body=openai_reply(*([float(len(text)), 1.0] for text in received.body["input"])))


def at(server: Server, name: str = "mine", **options: str) -> None:
    """Configures a provider at a server."""
    run(f"(llm/configure-embeddings :{name} {given(server, **options)})")


def given(server: Server, **options: str) -> str:
    """The options map of a provider at a server."""
    options = {"base-url": f"{server.url}/v1", "api-key": "key-of-test", **options}
    return "{" + " ".join(f":{name} {json.dumps(value)}" for name, value in options.items()) + "}"


def strings(texts: list[str]) -> str:
    return f"[{' '.join(map(json.dumps, texts))}]"


def error_of(text: str) -> LlmError:
    with pytest.raises(LlmError) as caught:
        run(text)
    return caught.value


# Requests and replies


def test_openai_shape() -> None:
    with serving(Answer(body=openai_reply([0.25, -1], [1e-3, 2.0]))) as server:
        at(server, **{"default-model": "small"})
        found = run('(llm/embed ["one" "two"])')
    assert [numbers(one) for one in found] == [[0.25, -1.0], [0.001, 2.0]]
    assert server.received[0].path == "/v1/embeddings"
    assert server.received[0].headers["authorization"] == "Bearer key-of-test"
    assert server.received[0].body == {"input": ["one", "two"], "model": "small"}


@functools.cache
def sdk_checker() -> Any:
    import jsonschema
    from pydantic import TypeAdapter

    pytest.importorskip("openai", reason="the dev-llm extra is not installed")
    from openai.types import embedding_create_params as params

    schema = TypeAdapter(params.EmbeddingCreateParams).json_schema()
    return jsonschema.Draft202012Validator({**schema, "additionalProperties": False})


def test_the_request_satisfies_the_sdk_types() -> None:
    with serving(lengths) as server:
        at(server)
        run('(llm/embed "one" {:model "text-embedding-3-small"})')
    assert list(sdk_checker().iter_errors(server.received[0].body)) == []
    assert list(sdk_checker().iter_errors({"inputs": []})) != []


def test_one_text_gives_one_embedding() -> None:
    with serving(lengths) as server:
        at(server)
        assert numbers(run('(llm/embed "four" {:model "big"})')) == [4.0, 1.0]
        assert [numbers(one) for one in run('(map llm/embed ["a" "bb"])')] == [[1.0, 1.0], [2.0, 1.0]]
    assert server.received[0].body == {"input": ["four"], "model": "big"}


def test_what_is_no_string_is_printed() -> None:
    with serving(lengths) as server:
        at(server)
        run("(llm/embed [:a 12 '(1 2)])")
        assert run("(llm/embed '())") == []
    assert [one.body["input"] for one in server.received] == [[":a", "12", "(1 2)"]]
    with pytest.raises(SemaError, match="expected string or list, got int"):
        run("(llm/embed 3)")


def test_entries_are_put_in_order_by_their_index() -> None:
    reply = openai_reply([1], [2], [3])
    reply["data"].reverse()
    with serving(Answer(body=reply)) as server:
        at(server)
        assert [numbers(one) for one in run('(llm/embed ["a" "b" "c"])')] == [[1.0], [2.0], [3.0]]


@pytest.mark.parametrize(("name", "provider"), [("openai_embed", "openai"), ("mistral_embed", "mistral")])
def test_recorded_openai_shape(name: str, provider: str) -> None:
    one = recorded(name)
    with serving(Answer(body=one["reply"])) as server:
        at(server, provider)
        found = numbers(
            run(f"(llm/embed {json.dumps(one['body']['input'])} {{:model {json.dumps(one['body']['model'])}}})")
        )
    openai = pytest.importorskip("openai", reason="the dev-llm extra is not installed")
    theirs = openai.types.CreateEmbeddingResponse.model_validate(one["reply"])
    assert found == theirs.data[0].embedding
    last = usage.last()
    assert last is not None and (last.usage.prompt, last.model) == (theirs.usage.prompt_tokens, theirs.model)
    sent = server.received[0].body
    assert sent == {"input": [one["body"]["input"]], "model": one["body"]["model"]}


def test_recorded_cohere() -> None:
    one = recorded("cohere_embed")
    with serving(Answer(body=one["reply"])) as server:
        at(server, "cohere", **{"base-url": f"{server.url}/v2"})
        found = run(f"(llm/embed {strings(one['body']['texts'])} {{:model {json.dumps(one['body']['model'])}}})")
    assert [numbers(vector) for vector in found] == one["reply"]["embeddings"]["float"]
    assert server.received[0].path == "/v2/embed"
    assert server.received[0].body == {**one["body"], "embedding_types": ["float"]}
    last = usage.last()
    assert last is not None and last.usage.prompt == 208


def test_recorded_rerank() -> None:
    one = recorded("cohere_rerank")
    body = one["body"]
    with serving(Answer(body=one["reply"])) as server:
        at(server, "cohere", **{"base-url": f"{server.url}/v2"})
        found = run(
            f"(llm/rerank {json.dumps(body['query'])} {strings(body['documents'])}"
            f" {{:top-k {body['top_n']} :model {json.dumps(body['model'])}}})"
        )
    assert server.received[0].path == "/v2/rerank"
    assert server.received[0].body == body
    assert [(r.get("index"), r.get("score"), r.get("document")) for r in found] == [
        (r["index"], r["relevance_score"], body["documents"][r["index"]]) for r in one["reply"]["results"]
    ]


def test_nomic_has_a_path_of_its_own() -> None:
    with serving(Answer(body={"embeddings": [[1, 2]], "usage": {"total_tokens": 3}, "model": "n"})) as server:
        at(server, "nomic")
        assert numbers(run('(llm/embed "a")')) == [1.0, 2.0]
    assert server.received[0].path == "/v1/embedding/text"
    assert server.received[0].body == {
        "model": "nomic-embed-text-v1.5",
        "texts": ["a"],
        "task_type": "search_document",
    }


@pytest.mark.parametrize(
    ("name", "model", "top", "results"),
    [
        ("jina", "jina-reranker-v2-base-multilingual", "top_n", "results"),
        ("voyage", "rerank-2.5", "top_k", "data"),
        ("cohere", "rerank-v3.5", "top_n", "results"),
        ("nomic", "nomic-rerank-v1.5", "top_n", "results"),
        ("together", "BAAI/bge-reranker-v2-m3", "top_n", "results"),
        ("fireworks", "fireworks/qwen3-reranker-8b", "top_n", "data"),
    ],
)
def test_dialects_of_rerank(name: str, model: str, top: str, results: str) -> None:
    with serving(Answer(body={results: [{"index": 1, "relevance_score": 0.5}]})) as server:
        at(server, name)
        found = run('(llm/rerank "q" ["a" "b"] {:top-k 1})')
        run('(llm/rerank "q" ["a" "b"])')
    assert [(one.get("index"), one.get("score"), one.get("document")) for one in found] == [(1, 0.5, "b")]
    assert server.received[0].body == {"model": model, "query": "q", "documents": ["a", "b"], top: 1}
    assert server.received[1].body == {"model": model, "query": "q", "documents": ["a", "b"]}


def test_aimock_understands_us(tmp_path: Path) -> None:
    fixtures = [{"match": {"endpoint": "embedding", "inputText": "hello"}, "response": {"embedding": [0.5, 0.25]}}]
    with aimock(fixtures, tmp_path) as url:
        run(f'(llm/configure-embeddings :openai {{:api-key "k" :base-url "{url}/v1"}})')
        assert numbers(run('(llm/embed "hello")')) == [0.5, 0.25]


# Long lists


def test_long_lists_are_sent_in_parts_of_the_size_that_the_provider_takes() -> None:
    with serving(lengths) as server:
        at(server, "mine")
        found = run('(llm/embed (map (fn (n) (string/repeat "x" (modulo n 7))) (range 300)))')
    assert [numbers(one)[0] for one in found] == [n % 7 for n in range(300)]
    assert sorted(len(one.body["input"]) for one in server.received) == [44, 128, 128]
    last = usage.last()
    assert last is not None and last.usage.prompt == 21  # 7 for each request


def test_long_texts_are_parted_by_their_bytes() -> None:
    with serving(lengths) as server:
        at(server, "mine")
        run('(llm/embed (map (fn (n) (string/repeat "ø" 50000)) (range 5)))')
    assert sorted(len(one.body["input"]) for one in server.received) == [1, 2, 2]


def test_parts_are_asked_for_side_by_side_but_not_all_at_once() -> None:
    most = under_way = 0
    lock = threading.Lock()
    eight = threading.Event()

    def answer(received: Received) -> Answer:
        nonlocal most, under_way
        with lock:
            under_way += 1
            most = max(most, under_way)
            if under_way == 8:
                eight.set()
        eight.wait(10)
        with lock:
            under_way -= 1
        return lengths(received)

    with serving(answer) as server:
        at(server, "mine")
        assert len(run('(llm/embed (map (fn (n) "x") (range 1500)))')) == 1500
    assert most == 8
    assert len(server.received) == 12


def test_what_was_answered_before_a_failure_is_counted() -> None:
    def answer(received: Received) -> Answer:
        last = len(received.body["input"]) == 1  # sent once one of the others has been answered
        return Answer(500, {"error": {"message": "broken"}}) if last else lengths(received)

    with serving(answer) as server:
        at(server)
        error = error_of('(llm/embed (map (fn (n) "x") (range 1025)))')
    assert error.message == "API error: 500 - broken"
    assert usage.session.usage.prompt in range(7, 57, 7)


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


# Failures


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(401, {"detail": "Invalid API key"}), "API error: 401 - Invalid API key"),
        (Answer(429, {"error": {"message": "slow down"}}), "API error: 429 - slow down"),
        (Answer(429, "", {"retry-after": "1"}), "API error: 429 - (empty reply)"),
        (Answer(503, "down"), "API error: 503 - down"),
        (Answer(422, {"detail": [{"msg": "bad"}]}), 'API error: 422 - {"detail": [{"msg": "bad"}]}'),
        (Answer(body=openai_reply([1.0])), "Parse error: 1 embeddings came for 2 texts"),
        (Answer(body=openai_reply([1.0], [1.0, 2.0])), "Parse error: embedding 1 has 2 dimensions, the first one 1"),
        (Answer(body=openai_reply([1.0], ["x"])), 'Parse error: embedding 1 holds "x", which is no finite number'),
        (Answer(body=openai_reply([1.0], [None])), "Parse error: embedding 1 holds null, which is no finite number"),
        (Answer(body='{"data": [{"embedding": [1]}, {"embedding": [NaN]}]}'), "holds null, which is no finite number"),
        (Answer(body=openai_reply([1.0], "AAAA")), 'Parse error: embedding 1 is no list of numbers: "AAAA"'),
        (Answer(body=openai_reply([1.0], [])), "Parse error: embedding 1 is no list of numbers: []"),
        (Answer(body={"data": [None, 3]}), "Parse error: embedding 0 is no list of numbers: null"),
        (Answer(body={"object": "list"}), "Parse error: missing data in embedding response"),
        (Answer(body='{"data": [{"embedding": [0.1'), "Parse error: reply is not JSON"),
        (Answer(body="<html>"), "Parse error: reply is not JSON"),
        (Answer(body='{"data": []}', cut=True), "HTTP error: "),
    ],
)
def test_bad_replies(answer: Answer, message: str) -> None:
    with serving(answer) as server:
        at(server)
        error = error_of('(llm/embed ["a" "b"])')
    assert message in error.message
    assert len(server.received) == 1  # nothing is tried again
    assert "key-of-test" not in f"{error.message}{error.hint}{error.note}"
    assert error.note == "provider mine, model text-embedding-3-small"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(401, {"message": "invalid api token"}), "API error: 401 - invalid api token"),
        (Answer(429, {"message": "slow"}), "API error: 429 - slow"),
        (Answer(body={"results": [{"index": 2, "relevance_score": 1}]}), "result for document 2, but 2 were sent"),
        (Answer(body={"results": [{"index": "0"}]}), 'a result without index and relevance_score: {"index": "0"}'),
        (Answer(body={"data": []}), "Parse error: missing results in rerank response"),
    ],
)
def test_bad_rankings(answer: Answer, message: str) -> None:
    with serving(answer) as server:
        at(server, "jina")
        error = error_of('(llm/rerank "q" ["a" "b"])')
    assert message in error.message


def test_a_refused_key_names_its_variable() -> None:
    with serving(Answer(401, {"message": "no"})) as server:
        at(server, "jina")
        assert error_of('(llm/embed "a")').hint == "provider 'jina' refused the key: check JINA_API_KEY"


def test_an_unknown_model_as_recorded() -> None:
    one = recorded("openai_unknown_model")
    with serving(Answer(404, one["reply"])) as server:
        at(server, "openai")
        error = error_of('(llm/embed "a" {:model "non-existent-embedding-model"})')
    assert error.message == f"API error: 404 - {one['reply']['error']['message']}"


def test_no_server() -> None:
    run(f'(llm/configure-embeddings :mine {{:base-url "http://127.0.0.1:{closed_port()}/v1"}})')
    assert error_of('(llm/embed "a")').message.startswith("HTTP error: could not connect")


def test_arguments_of_rerank() -> None:
    assert run('(llm/rerank "q" \'())') == []
    for program, message in (
        ('(llm/rerank 1 ["a"])', "expected string query, got int"),
        ('(llm/rerank "q" "a")', "expected list of strings, got string"),
        ('(llm/rerank "q" [1])', "expected string document, got int"),
    ):
        with pytest.raises(SemaError, match=message):
            run(program)


# Usage, budgets, tapes, tasks


def test_usage_and_the_record_of_the_call() -> None:
    with serving(lengths) as server:
        at(server, "openai")
        run('(llm/set-pricing "m" 2.0 4.0)')
        run('(llm/embed ["a" "b"] {:model "asked"})')
    last = usage.last()
    assert last is not None
    assert (last.usage.prompt, last.usage.completion, last.model) == (7, 0, "m")
    assert last.cost_usd == pytest.approx(14e-6)
    call = observers.last()
    assert call is not None
    assert (call.operation, call.provider, call.payload.texts) == ("embeddings", "openai", ["a", "b"])
    assert [(one.provider, one.model, one.error) for one in call.attempts] == [("openai", "asked", None)]


def test_budgets_count_embeddings() -> None:
    with serving(lengths) as server:
        at(server)
        message = "token budget exceeded: used 14 of 10 tokens"
        assert error_of('(llm/with-budget {:max-tokens 10} (fn () (llm/embed "a") (llm/embed "b")))').message == message


def test_reserving_budgets_refuse_before_asking() -> None:
    with serving(lengths) as server:
        at(server)
        limit = "{:max-tokens 500 :reserve #t}"
        assert "budget" in error_of(f'(llm/with-budget {limit} (fn () (llm/embed (string/repeat "x" 1000))))').message
        assert server.received == []
        run(f'(llm/with-budget {limit} (fn () (llm/embed "a") (llm/embed "b")))')
    assert usage.session.usage.prompt == 14


def test_a_function_that_embeds_with_another_provider_waits_for_no_room_of_its_own() -> None:
    run("""
      (define inner (fn (text) (list (string-length text) 1)))
      (llm/define-provider :mine
        {:complete (fn (req) {:content "ok" :usage {:prompt-tokens 1}})
         :embed (fn (req) (llm/complete "hm" {:max-tokens 10}) (map inner (:texts req)))})
    """)
    program = '(llm/with-budget {:max-tokens 400 :reserve #t} (fn () (embedding/->list (llm/embed "a"))))'
    session = Session()
    assert session.run(program) == [1.0, 1.0]


def test_tokens_of_rankings_count_where_they_are_reported() -> None:
    reply = {"results": [{"index": 0, "relevance_score": 1.0}], "usage": {"total_tokens": 9}}
    with serving(Answer(body=reply)) as server:
        at(server, "jina")
        run('(llm/rerank "q" ["a"])')
    assert usage.session.usage.prompt == 9


def test_tapes(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    program = f'(llm/with-cassette "{tape}" (fn () (map embedding/->list (llm/embed ["a" "bbb"]))))'
    with serving(lengths) as server:
        at(server)
        first = run(program)
        assert run(program) == first
    assert len(server.received) == 1
    entry = json.loads(tape.read_text())
    assert (entry["kind"], entry["model"], entry["prompt_tokens"]) == ("embed", "m", 7)
    assert entry["embeddings"] == [[1.0, 1.0], [3.0, 1.0]]
    assert entry["key"] == sha256(b"embed" + b"a\0" + b"bbb\0").hexdigest()


def test_a_tape_replays_without_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_NO_LLM", "1")
    tape = tmp_path / "tape.jsonl"
    key = sha256(b"embed" + b"m1" + b"a\0").hexdigest()
    entry = {"v": 1, "kind": "embed", "key": key, "content": "", "model": "m1", "prompt_tokens": 5}
    tape.write_text(json.dumps({**entry, "embeddings": [[0.5, 2]]}) + "\n")
    replay = f'(llm/with-cassette "{tape}" {{:mode :replay}} (fn () (llm/embed %s)))'
    assert numbers(run(replay % '"a" {:model "m1"}')) == [0.5, 2.0]
    last = usage.last()
    assert last is not None and (last.usage.prompt, last.model) == (5, "m1")
    call = observers.last()
    assert call is not None and call.replayed and call.provider == "cassette"
    assert "cassette miss in :replay mode (key " in error_of(replay % '"a"').message


def test_a_tape_with_too_few_embeddings(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    key = sha256(b"embeda\0b\0").hexdigest()
    entry = {"v": 1, "kind": "embed", "key": key, "content": "", "model": "m1", "embeddings": [[1.0]]}
    tape.write_text(json.dumps(entry) + "\n")
    error = error_of(f'(llm/with-cassette "{tape}" (fn () (llm/embed ["a" "b"])))')
    assert error.message == f"cassette entry {key} holds 1 embeddings for 2 texts"


def test_tasks_wait_side_by_side() -> None:
    both = threading.Barrier(2, timeout=10)

    def answer(received: Received) -> Answer:
        both.wait()
        return lengths(received)

    with serving(answer) as server:
        at(server)
        found = run('(async/all (list (async (llm/embed "a")) (async (llm/embed "bb"))))')
    assert [numbers(one) for one in found] == [[1.0, 1.0], [2.0, 1.0]]


def test_a_cancelled_task_gives_up_its_request() -> None:
    asked = threading.Event()
    release = threading.Event()

    def answer(received: Received) -> Answer:
        asked.set()
        release.wait(10)
        return lengths(received)

    with serving(answer) as server:
        at(server)
        program = """
          (define waiting (async (llm/embed "a")))
          (async/sleep 1)
          (until-asked)
          (async/cancel waiting)
          (try (await waiting) (catch e (:type e)))
        """
        session = Session(closed=False)
        session.globals["until_asked"] = lambda: tasks.suspend(asyncio.to_thread(asked.wait, 10))
        session.names.add("until-asked")
        assert str(session.run(program)) == ":cancelled"
        release.set()
    assert usage.session.usage.prompt == 0


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


# Arithmetic


def bytevector(*values: float) -> str:
    return f"(bytevector {' '.join(map(str, packed(values)))})"


def test_embeddings_are_doubles_little_end_first() -> None:
    assert run("(embedding/list->embedding '(1 -2.5))") == bytes.fromhex("000000000000f03f00000000000004c0")
    assert run(f"(embedding/->list {bytevector(1, -2.5)})") == [1.0, -2.5]
    assert run(f"(embedding/ref {bytevector(1, -2.5)} 1)") == -2.5
    assert run(f"(embedding/length {bytevector(1, -2.5)})") == 2
    assert run("(embedding/->list (embedding/list->embedding '()))") == []


def test_arithmetic() -> None:
    a, b = bytevector(1, 2, 3), bytevector(4, -5, 6)
    assert run(f"(vector/dot-product {a} {b})") == 12.0
    assert run(f"(vector/distance {a} {b})") == math.sqrt(9 + 49 + 9)
    cosine = 12.0 / (math.sqrt(14.0) * math.sqrt(77.0))
    assert run(f"(vector/cosine-similarity {a} {b})") == cosine
    assert run(f"(llm/similarity {a} {b})") == cosine
    assert run("(llm/similarity '(1 2 3) [4 -5 6.0])") == cosine
    zero = bytevector(0, 0, 0)
    assert run(f"(list (vector/cosine-similarity {a} {zero}) (llm/similarity '(0) '(1)))") == [0.0, 0.0]
    assert run(f"(embedding/->list (vector/normalize {bytevector(3, 4)}))") == [0.6, 0.8]
    assert run(f"(embedding/->list (vector/normalize {zero}))") == [0.0, 0.0, 0.0]


def test_sums_are_rounded_at_each_step() -> None:
    """As in the reference, on every version of Python (whose sum is exact from 3.12 on)."""
    values = [0.1] * 10
    stepwise = 0.0
    for one in values:
        stepwise += one
    assert stepwise != math.fsum(values)
    assert run(f"(vector/dot-product {bytevector(*values)} {bytevector(*[1.0] * 10)})") == stepwise


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("(embedding/length (bytevector 1 2 3))", "embedding/length: bytevector length 3 is not divisible by 8"),
        ("(embedding/->list (bytevector 1))", "embedding/->list: bytevector length 1 is not divisible by 8"),
        ("(embedding/ref (bytevector 1) 0)", "embedding/ref: bytevector length 1 is not divisible by 8"),
        (f"(embedding/ref {bytevector(1)} 1)", "embedding/ref: index 1 out of bounds (length 1)"),
        (f"(embedding/ref {bytevector(1)} -1)", "embedding/ref: index -1 out of bounds (length 1)"),
        (f"(embedding/ref {bytevector(1)} 1.0)", "expected integer, got float"),
        ("(embedding/length '(1))", "expected bytevector, got list"),
        ("(embedding/list->embedding 1)", "expected list or vector, got int"),
        (
            "(embedding/list->embedding '(1 :a))",
            "embedding/list->embedding: element 1 is keyword, expected number",
        ),
        (f"(vector/dot-product {bytevector(1)} {bytevector(1, 2)})", "vector/dot-product: length mismatch (1 vs 2)"),
        (f"(vector/distance {bytevector(1)} {bytevector(1, 2)})", "vector/distance: length mismatch (1 vs 2)"),
        (
            f"(vector/cosine-similarity {bytevector(1)} {bytevector(1, 2)})",
            "vector/cosine-similarity: length mismatch (1 vs 2)",
        ),
        ("(vector/distance (bytevector) (bytevector))", "vector/distance: invalid bytevector length 0"),
        ("(vector/distance (bytevector 1) (bytevector 2))", "vector/distance: invalid bytevector length 1"),
        ("(vector/distance 1 (bytevector 2))", "expected bytevector, got int"),
        ("(vector/normalize (bytevector))", "vector/normalize: invalid bytevector"),
        ("(vector/normalize (bytevector 1))", "vector/normalize: invalid bytevector"),
        ("(llm/similarity '(1) '(1 2))", "llm/similarity: vectors must have same length (1 vs 2)"),
        ("(llm/similarity '() '())", "llm/similarity: empty vectors"),
        ("(llm/similarity (bytevector) (bytevector))", "llm/similarity: empty vectors"),
        (
            f"(llm/similarity {bytevector(1)} {bytevector(1, 2)})",
            "llm/similarity: bytevectors must have same length (8 vs 16)",
        ),
        (
            "(llm/similarity (bytevector 1) (bytevector 1))",
            "llm/similarity: bytevector length must be a multiple of 8 (got 1)",
        ),
        ("(llm/similarity '(1 :a) '(1 2))", "expected number, got keyword"),
        (
            f"(llm/similarity {bytevector(1)} '(1))",
            "llm/similarity: both arguments must be the same type (both bytevectors or both lists). Use"
            " embedding/->list or embedding/list->embedding to convert between formats.",
        ),
    ],
)
def test_errors_of_the_arithmetic(program: str, message: str) -> None:
    with pytest.raises(SemaError) as caught:
        run(program)
    assert caught.value.message == message
