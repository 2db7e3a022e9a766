"""Spans of calls to models, agents, tools, embeddings and tasks, as the file sink writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from llm_support import Answer, chat_reply, run, serving
from llm_support import llm as llm
from otel_programs import ECHO, adder, openai
from otel_support import Sink
from otel_support import otel as otel
from otel_support import sink as sink

from sema_runtime.values.errors import LlmError

pytestmark = pytest.mark.usefixtures("llm", "otel")


# One call


def test_a_completion(sink: Sink) -> None:
    with serving(Answer(body=chat_reply("hello", prompt=12, completion=4))) as server:
        run(openai(server.url, '(llm/complete "hi" {:max-tokens 50 :temperature 0.5 :reasoning-effort :low})'))
    (span,) = sink.spans()
    assert span.name == "chat gpt-5.5" and span["kind"] == "client" and span["status"] == "unset" and span.is_root
    conversation = span.attributes.pop("gen_ai.conversation.id")
    assert span.attributes.pop("session.id") == conversation and conversation
    cost = span.attributes.pop("gen_ai.usage.cost")
    assert cost > 0 and span.attributes.pop("gen_ai.usage.cost_usd") == cost
    assert span.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5.5",
        "gen_ai.request.max_tokens": 50,
        "gen_ai.request.temperature": 0.5,
        "sema.gen_ai.request.reasoning_effort": "low",
        "gen_ai.output.type": "text",
        "gen_ai.response.model": "gpt-5.5",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 4,
        "gen_ai.usage.total_tokens": 16,
    }


def test_a_stream(sink: Sink) -> None:
    run(ECHO + '(with-span "reader" {} (llm/stream "hi" (fn (piece) (with-span "piece" {} piece))))')
    chat, piece = sink.one("chat m-1"), sink.one("piece")
    assert chat.attributes["sema.gen_ai.is_streaming"] is True
    assert 0 <= chat.attributes["sema.gen_ai.server.time_to_first_token"] < 10
    assert piece.below(chat) and chat.below(sink.one("reader"))
    assert piece.attributes["gen_ai.conversation.id"] == chat.attributes["gen_ai.conversation.id"]


def test_names_of_providers(sink: Sink) -> None:
    for name, expected in (("gemini", "gcp.gemini"), ("mistral", "mistral_ai"), ("groq", "groq")):
        run(f'(llm/define-provider :{name} {{:complete (fn (req) "x") :default-model "m"}}) (llm/complete "hi")')
        assert sink.spans()[-1].attributes["gen_ai.provider.name"] == expected


def test_json_answers_say_so(sink: Sink) -> None:
    with serving(Answer(body=chat_reply('{"a": 1}'))) as server:
        run(openai(server.url, '(llm/extract {:a {:type :number}} "a is 1")'))
    assert {span.attributes["gen_ai.output.type"] for span in sink.spans()} == {"json"}


def test_ids_of_the_caller(sink: Sink) -> None:
    run(ECHO + '(llm/complete "hi" {:conversation-id "c-1" :session-id "s-1" :user-id "ada"})')
    run(ECHO + '(llm/complete "hi" {:conversation-id "c-2"})')
    first, second = (span.attributes for span in sink.spans())
    assert [first[key] for key in ("gen_ai.conversation.id", "session.id", "user.id")] == ["c-1", "s-1", "ada"]
    assert (second["gen_ai.conversation.id"], second["session.id"]) == ("c-2", "c-2") and "user.id" not in second


def test_the_cache_and_tapes(sink: Sink, tmp_path: Path) -> None:
    run(ECHO + '(llm/with-cache (fn () (llm/complete "a") (llm/complete "a")))')
    asked, cached = sink.spans()
    assert "sema.gen_ai.cache.hit" not in asked.attributes
    assert cached.attributes["sema.gen_ai.cache.hit"] is True and "gen_ai.provider.name" not in cached.attributes
    assert cached.attributes["gen_ai.usage.total_tokens"] == 0 and cached.name == "chat m-1"
    assert cached.attributes["gen_ai.response.finish_reasons"] == ["cache_hit"]
    tape = json.dumps(str(tmp_path / "tape.jsonl"))
    run(ECHO + f'(llm/with-cassette {tape} (fn () (llm/complete "b") (llm/complete "b")))')
    replayed = sink.spans()[-1]
    assert replayed.attributes["gen_ai.provider.name"] == "cassette" and replayed.name == "chat m-1"
    assert replayed.attributes["gen_ai.usage.total_tokens"] == 5


# What goes wrong


@pytest.mark.parametrize(
    ("answer", "kind", "attempts"),
    [
        (Answer(429, {"error": {"message": "slow down"}}), "rate_limited", 4),
        (Answer(500, {"error": {"message": "oh"}}), "server_error", 4),
        (Answer(404, {"error": {"message": "no such model"}}), "api_error", 1),
        (Answer(200, "not json"), "parse_error", 1),
        (Answer(200, "{}", cut=True), "network_error", 4),
    ],
)
def test_failures(sink: Sink, answer: Answer, kind: str, attempts: int) -> None:
    with serving(answer) as server, pytest.raises(LlmError) as raised:
        run(openai(server.url, '(llm/complete "hi")'))
    *retries, chat = sink.spans()
    assert chat.attributes["error.type"] == kind and chat["status"] == f"error: {raised.value.message}"
    assert "gen_ai.usage.input_tokens" not in chat.attributes
    assert [span.attributes["sema.retry.attempt"] for span in retries] == list(range(1, attempts))
    for retry in retries:
        assert retry.name == "llm.retry_attempt" and retry.below(chat) and retry["kind"] == "internal"
        assert retry.attributes["error.type"] == kind and retry.attributes["sema.retry.wait_ms"] >= 0
        assert chat["start_unix_nano"] <= retry["start_unix_nano"] <= retry["end_unix_nano"] <= chat["end_unix_nano"]
    assert "sk-0123456789" not in sink.path.read_text()


def test_a_retry_that_helps(sink: Sink) -> None:
    slow = Answer(429, {"error": {"message": "slow down"}}, {"retry-after": "2"})
    with serving(slow, Answer(body=chat_reply("ok"))) as server:
        run(openai(server.url, '(llm/complete "hi")'))
    retry, chat = sink.spans()
    assert retry.attributes["sema.retry.wait_ms"] == 2000 and chat["status"] == "unset"


def test_a_fallback_is_an_event(sink: Sink, capsys: pytest.CaptureFixture[str]) -> None:
    run(ECHO + '(llm/define-provider :down {:complete (fn (req) (error "down")) :default-model "m-0"})'
        '(llm/with-fallback [:down :echo] (fn () (llm/complete "hi")))')  # fmt: skip
    (span,) = sink.spans()
    assert span.name == "chat m-1" and span.attributes["gen_ai.provider.name"] == "echo"
    (event,) = span["events"]
    assert event["name"] == "sema.fallback" and event["attributes"]["gen_ai.provider.name"] == "down"
    assert event["attributes"]["error.type"] == "api_error" and "down" in event["attributes"]["message"]


def test_a_spent_budget(sink: Sink) -> None:
    with pytest.raises(LlmError):
        run(ECHO + '(llm/with-budget {:max-tokens 4} (fn () (llm/complete "hi")))')
    (span,) = sink.spans()
    assert span.attributes["error.type"] == "budget_error" and span.attributes["gen_ai.usage.total_tokens"] == 5
    assert span["status"] == "error: token budget exceeded: used 5 of 4 tokens"


def test_a_cancelled_task(sink: Sink) -> None:
    run("""
    (llm/define-provider :slow {:complete (fn (req) (async/sleep 60000) "late") :default-model "m"})
    (define task (async (with-span "outer" {} (llm/complete "hi"))))
    (async/sleep 1)
    (async/cancel task)
    (async/sleep 1)
    """)
    chat, outer = sink.spans()
    assert (chat.name, outer.name) == ("chat m", "outer") and chat.below(outer)
    assert chat["status"] == outer["status"] == "error: cancelled" and chat.attributes["error.type"] == "cancelled"


# Agents and tools


def test_an_agent(sink: Sink) -> None:
    run(adder(options='{:session-id "s-1" :user-id "ada"}'))
    first, tool, second, agent = sink.spans()
    assert [span.name for span in (first, tool, second, agent)] == [
        *("chat m-2", "execute_tool add", "chat m-2", "invoke_agent calc")
    ]
    assert agent.is_root and all(span.below(agent) for span in (first, tool, second))
    assert agent.attributes["gen_ai.agent.name"] == "calc" and agent["kind"] == tool["kind"] == "internal"
    for span in (first, tool, second, agent):
        assert span.attributes["gen_ai.conversation.id"] == agent.attributes["gen_ai.conversation.id"]
        assert (span.attributes["session.id"], span.attributes["user.id"]) == ("s-1", "ada")
    told = {key: value for key, value in tool.attributes.items() if ".tool." in key or ".operation." in key}
    assert told == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "add",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Adds two numbers",
    }


def test_the_session_of_a_run_has_the_id_of_its_spans(sink: Sink) -> None:
    session = run(adder() + '(:session (agent/run (agent {}) "hi" {}))')
    assert sink.spans()[-1].attributes["gen_ai.conversation.id"] == session.metadata["conversation-id"]


def test_a_tool_that_fails(sink: Sink) -> None:
    run(adder("subtract"))
    (tool,) = sink.named("execute_tool subtract")
    assert tool["status"] == "error: tool not found: subtract" and tool.attributes["error.type"] == "tool_error"
    assert sink.one("invoke_agent calc")["status"] == "unset"


def test_a_run_that_fails(sink: Sink) -> None:
    with pytest.raises(LlmError):
        run("""
        (define wanted {:content "" :tool-calls [{:id "c" :name "x" :arguments {}}]})
        (llm/define-provider :p {:default-model "m" :complete (fn (req) wanted)})
        (agent/run (agent {:name "loop"}) "go")
        """)
    agent = sink.one("invoke_agent loop")
    assert agent["status"] == "error: aborting agent run after 5 consecutive tool errors"
    assert agent.attributes["error.type"] == "tool_error" and len(sink.named("execute_tool x")) == 5


def test_chat_with_tools_is_an_agent_without_name(sink: Sink) -> None:
    run(adder().rpartition("(agent/run")[0] + '(llm/chat [(message :user "1 + 2?")] {:tools [add]})')
    assert [span.name for span in sink.spans()][-1] == "invoke_agent"
    assert "gen_ai.agent.name" not in sink.one("invoke_agent").attributes


def test_a_run_inside_a_tool(sink: Sink) -> None:
    run("""
    (define turns 0)
    (llm/define-provider :p {:default-model "m" :complete (fn (req)
      (set! turns (+ turns 1))
      (if (= turns 1) {:content "" :tool-calls [{:id "c" :name "ask" :arguments {}}]} "done"))})
    (deftool ask "Asks another" {} (fn () (agent/run (agent {:name "inner"}) "go")))
    (with-session "s-1" {:user "ada"} (agent/run (agent {:name "outer" :tools [ask]}) "go"))
    """)
    inner, outer = sink.one("invoke_agent inner"), sink.one("invoke_agent outer")
    assert inner.below(sink.one("execute_tool ask")) and sink.one("execute_tool ask").below(outer)
    assert inner.attributes["gen_ai.conversation.id"] != outer.attributes["gen_ai.conversation.id"]
    assert {span.attributes["session.id"] for span in sink.spans()} == {"s-1"}
    assert {span.attributes["user.id"] for span in sink.spans()} == {"ada"}


# Embeddings and searches


def embedding_reply(received: Any) -> Answer:
    data = [{"object": "embedding", "index": n, "embedding": [1.0, n]} for n, _ in enumerate(received.body["input"])]
    usage = {"prompt_tokens": 7, "total_tokens": 7}
    return Answer(body={"object": "list", "data": data, "model": "text-embedding-3-small", "usage": usage})


def test_embeddings(sink: Sink) -> None:
    with serving(embedding_reply) as server:
        run('(llm/set-pricing "text-embedding" 2 0)'
            f'(llm/configure-embeddings :openai {{:api-key "sk-0123456789" :base-url "{server.url}"}})'
            '(llm/embed ["one" "two"])')  # fmt: skip
    (span,) = sink.spans()
    assert span.name == "embeddings text-embedding-3-small" and span["kind"] == "client"
    told = {key: value for key, value in span.attributes.items() if "cost" not in key and not key.endswith(".id")}
    assert told == {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.provider.name": span.attributes["gen_ai.provider.name"],
        "gen_ai.request.model": "text-embedding-3-small",
        "gen_ai.response.model": "text-embedding-3-small",
        "gen_ai.usage.input_tokens": 7,
    }
    assert span.attributes["gen_ai.usage.cost"] == 0.000014


def test_a_search(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_OTEL_COMPAT", "openinference")
    monkeypatch.setenv("SEMA_OTEL_CAPTURE_CONTENT", "true")
    run("""
    (vector-store/create "notes")
    (vector-store/add "notes" "a" (embedding/list->embedding '(1 0)) {:text "First"})
    (vector-store/add "notes" "b" (embedding/list->embedding '(3 4)) nil)
    (with-span "rag" {} (vector-store/search "notes" (embedding/list->embedding '(1 0)) 2))
    (try (vector-store/search "nowhere" (embedding/list->embedding '(1 0)) 2) (catch e nil))
    """)
    found, _, failed = sink.spans()
    assert found.name == "retrieve" and found.below(sink.one("rag")) and found["kind"] == "internal"
    assert found.attributes == {
        **{"sema.retrieval.query_dims": 2, "sema.retrieval.top_k": 2, "openinference.span.kind": "RETRIEVER"},
        **{"retrieval.documents.0.document.id": "a", "retrieval.documents.0.document.score": 1.0},
        **{"retrieval.documents.0.document.content": "First", "retrieval.documents.1.document.id": "b"},
        "retrieval.documents.1.document.score": 0.6,
    }
    assert failed.attributes["error.type"] == "retrieval_error" and "nowhere" in failed["status"]


def test_a_ranking(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_OTEL_COMPAT", "openinference")
    reply = {"results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.2}]}
    with serving(Answer(body=reply)) as server:
        run(f'(llm/configure-embeddings :jina {{:api-key "sk-0123456789" :base-url "{server.url}"}})'
            '(llm/rerank "q" ["x" "y"] {:top-k 2})')  # fmt: skip
    (span,) = sink.spans()
    assert span.name == "rerank" and span["kind"] == "internal"
    told = {key: value for key, value in span.attributes.items() if not key.endswith(".id")}
    assert told == {
        **{"sema.retrieval.top_k": 2, "openinference.span.kind": "RERANKER", "reranker.top_k": 2},
        "reranker.model_name": "jina-reranker-v2-base-multilingual",
        "reranker.output_documents.0.document.score": 0.9,
        "reranker.output_documents.1.document.score": 0.2,
    }


# Tasks


def test_a_hundred_tasks_keep_to_themselves(sink: Sink) -> None:
    run(
        ECHO
        + """
    (define (work n)
      (with-span (str "task-" n) {:n n}
        (async/sleep (modulo n 7))
        (with-span "step" {:n n} (async/sleep (modulo n 5)) (llm/complete (str n)))))
    (with-span "all" {} (async/all (map (fn (n) (async (work n))) (range 100))))
    """
    )
    spans = sink.spans()
    everything = sink.one("all")
    assert len(spans) == 301
    for n in range(100):
        task = sink_one(spans, f"task-{n}")
        (step,) = [span for span in spans if span.name == "step" and span.attributes["n"] == n]
        (chat,) = [span for span in spans if span.name == "chat m-1" and span.below(step)]
        assert task.below(everything) and step.below(task) and chat["trace_id"] == everything["trace_id"]
    chats = [span.attributes["gen_ai.conversation.id"] for span in spans if span.name == "chat m-1"]
    assert len(set(chats)) == 100


def sink_one(spans: list[Any], name: str) -> Any:
    (found,) = [span for span in spans if span.name == name]
    return found


def test_a_task_may_outlive_the_span_it_was_started_in(sink: Sink) -> None:
    run("""
    (define task (with-span "starter" {} (async (async/sleep 2) (with-span "late" {} 1))))
    (with-span "sibling" {} (async/await task))
    """)
    assert sink.one("late").below(sink.one("starter")) and sink.one("sibling").is_root


def test_a_batch(sink: Sink) -> None:
    with serving(lambda received: Answer(body=chat_reply(received.body["messages"][-1]["content"]))) as server:
        run(openai(server.url, '(with-span "all" {} (llm/batch ["a" "b" "c"]))'))
    everything = sink.one("all")
    assert len(sink.named("chat gpt-5.5")) == 3
    assert all(span.below(everything) for span in sink.named("chat gpt-5.5"))
