"""llm/embed and llm/rerank: what is sent, what is made of replies, what goes wrong, what is counted."""

from __future__ import annotations

import asyncio
import functools
import json
import threading
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from embedding_support import at, error_of, lengths, numbers, openai_reply, recorded, strings
from llm_support import Answer, Received, aimock, closed_port, run, serving
from llm_support import llm as llm

from sema_runtime import tasks
from sema_runtime.llm import observers
from sema_runtime.llm.budgets import usage
from sema_runtime.values.errors import SemaError
from semac.session import Session

pytestmark = pytest.mark.usefixtures("llm")


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
