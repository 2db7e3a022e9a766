"""Spans of calls to models, agents, tools and programs, as the file sink writes them; off, they cost nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from llm_support import Answer, chat_reply, run, serving
from llm_support import llm as llm
from otel_support import Sink, read
from otel_support import otel as otel
from otel_support import sink as sink

from sema_runtime import capabilities, telemetry
from sema_runtime.values.errors import LlmError, PermissionDenied, SemaError

pytestmark = pytest.mark.usefixtures("llm", "otel")
ECHO = """
(llm/define-provider :echo {:complete (fn (req) {:content "hi" :usage {:prompt-tokens 3 :completion-tokens 2}})
                            :default-model "m-1"})
"""
ADDER = """
(deftool add "Adds two numbers" {:a {:type :number} :b {:type :number}} (fn (a b) (+ a b)))
(define turns 0)
(llm/define-provider :player {:default-model "m-2" :complete (fn (req)
  (set! turns (+ turns 1))
  (if (= turns 1) {:content "" :tool-calls [{:id "c1" :name TOOL :arguments {:a 1 :b 2}}]} "three"))})
(agent/run (agent {:name "calc" :tools [add] :system "Count."}) "1 + 2?" OPTIONS)
"""


def adder(tool: str = "add", options: str = "{}") -> str:
    return ADDER.replace("TOOL", f'"{tool}"').replace("OPTIONS", options)


def openai(url: str, rest: str, name: str = "openai") -> str:
    return f'(llm/configure :{name} {{:api-key "sk-0123456789" :base-url "{url}"}})\n{rest}'


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


# Spans of programs


def test_spans_of_the_program(sink: Sink) -> None:
    program = """
    (with-span "import" {:batch.size 100 :flag #t :ratio 0.5 "plain" "text" :list '(1 "a") :big 100000000000000000000
                         :inf (/ 1.0 0.0) :kw :fast}
      (otel/set-attribute :rows 42)
      (otel/set-attributes {:rows 43 :done #t})
      (otel/event "half" {:n 21 :who "ada"})
      (otel/event "whole")
      (otel/span "inner" (fn () 7)))
    """
    assert run(program) == 7
    inner, outer = sink.spans()
    assert inner.below(outer) and inner["kind"] == "internal" and inner.attributes == {}
    assert outer.attributes == {
        **{"batch.size": 100, "flag": True, "ratio": 0.5, "plain": "text", "list": '(1 "a")', "kw": ":fast"},
        **{"big": "1" + "0" * 20, "inf": "inf", "rows": 43, "done": True},
    }
    assert [(event["name"], event["attributes"]) for event in outer["events"]] == [
        *(("half", {"n": 21, "who": "ada"}), ("whole", {}))
    ]
    assert outer["start_unix_nano"] <= outer["events"][0]["time_unix_nano"] <= outer["end_unix_nano"]


def test_typed_spans(sink: Sink) -> None:
    run("""
    (otel/llm-span {:model "m-9" :provider "gemini" :region "eu"}
      (fn () (otel/llm-usage {:input-tokens 9 :output-tokens 2 :cost-usd 0.01})))
    (otel/tool-span "weather" (fn () "sunny") {:city "Bern"})
    (otel/retrieval-span "notes" (fn () '()) {:top-k 2})
    """)
    model, tool, retrieval = sink.spans()
    assert model.name == "chat" and model["kind"] == "client"
    assert model.attributes == {
        **{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "gcp.gemini", "gen_ai.request.model": "m-9"},
        **{"region": "eu", "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2},
        **{"gen_ai.usage.total_tokens": 11, "gen_ai.usage.cost": 0.01, "gen_ai.usage.cost_usd": 0.01},
    }
    assert tool.name == "weather" and tool.attributes["gen_ai.tool.name"] == "weather"
    assert tool.attributes["gen_ai.operation.name"] == "execute_tool" and tool.attributes["city"] == "Bern"
    assert retrieval.name == "notes" and retrieval.attributes == {"top-k": 2}


def test_statuses(sink: Sink) -> None:
    run("""
    (with-span "good" {} (otel/set-status :ok))
    (with-span "bad" {} (otel/set-status :error "no table"))
    (with-span "vague" {} (otel/set-status "error"))
    (try (with-span "thrown" {} (error "boom")) (catch e nil))
    (try (with-span "both" {} (otel/set-status :ok) (throw {:a 1})) (catch e nil))
    """)
    assert [span["status"] for span in sink.spans()] == [
        *("ok", "error: no table", "error: error", "error: boom", "error: {:a 1}")
    ]
    assert sink.one("thrown").attributes["error.type"] == "error"


def test_sessions(sink: Sink) -> None:
    run(
        ECHO
        + """
    (with-session "chat-42" {:user "ada"} (llm/complete "a") (with-session "chat-43" {} (with-span "b" {} 1)))
    (otel/with-session "chat-44" (fn () (with-span "c" {} 1)))
    (with-span "d" {} 1)
    """
    )
    assert [
        tuple(span.attributes.get(key) for key in ("gen_ai.conversation.id", "session.id", "user.id"))
        for span in sink.spans()
    ] == [
        *(("chat-42", "chat-42", "ada"), ("chat-43", "chat-43", "ada")),
        *(("chat-44", "chat-44", None), (None, None, None)),
    ]


def test_texts_that_no_exporter_could_encode(sink: Sink) -> None:
    run('(with-span "ä" {:k "日本"} 1)')
    from sema_runtime.telemetry.spans import plain

    assert sink.spans()[0].attributes == {"k": "日本"}
    assert plain("a\ud800b") == "a?b" and plain(["\udcff", 1 << 70, float("nan"), True]) == [
        "?",
        str(1 << 70),
        "nan",
        True,
    ]


# Arguments


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("(otel/span 1 (fn () 1))", "expected string, got int"),
        ('(otel/span "x" 5)', "expected callable, got int"),
        ("(otel/llm-span {} 7)", "expected callable, got int"),
        ("(otel/tool-span 1 (fn () 3))", "expected string, got int"),
        ("(otel/retrieval-span :x (fn () 3))", "expected string, got keyword"),
        ("(otel/with-session 1 (fn () 3))", "expected string, got int"),
        ('(otel/with-session "a" 3)', "expected callable, got int"),
        ("(otel/set-attribute 1 1)", "expected keyword or string, got int"),
        ("(otel/set-status 1)", "expected keyword or string, got int"),
        ("(otel/event 1)", "expected string, got int"),
        ("(otel/configure 1)", "expected map, got int"),
    ],
)
@pytest.mark.parametrize("on", [False, True])
def test_bad_arguments(program: str, message: str, on: bool, request: pytest.FixtureRequest) -> None:
    if on:
        request.getfixturevalue("sink")
    with pytest.raises(SemaError, match=re.escape(message)):
        run(program)


@pytest.mark.parametrize("on", [False, True])
def test_odd_arguments_are_ignored(on: bool, request: pytest.FixtureRequest) -> None:
    if on:
        request.getfixturevalue("sink")
    assert run('(otel/span "x" (fn () 1) 5)') == 1
    assert run("(otel/llm-span 1 (fn () (otel/llm-usage 1) 2))") == 2
    assert run('(otel/with-session "a" 1 (fn () (otel/set-attributes 1) 3))') == 3
    assert run('(otel/event "x" 1)') is None and run("(otel/set-status :foo)") is None


# Content


def test_nothing_of_the_content_by_default(sink: Sink) -> None:
    run(adder())
    assert "1 + 2?" not in sink.path.read_text() and "three" not in sink.path.read_text()


@pytest.mark.parametrize(
    "variable", ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SEMA_OTEL_CAPTURE_CONTENT"]
)
def test_content(sink: Sink, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "true")
    run(adder())
    first, tool, second, _ = sink.spans()
    part = {"type": "text", "content": "1 + 2?"}
    assert json.loads(first.attributes["gen_ai.input.messages"]) == [{"role": "user", "parts": [part]}]
    assert json.loads(first.attributes["gen_ai.system_instructions"]) == [
        {"role": "system", "parts": [{"type": "text", "content": "Count."}]}
    ]
    call = {"type": "tool_call", "id": "c1", "name": "add", "arguments": {"a": 1, "b": 2}}
    answer = {"role": "assistant", "parts": [{"type": "text", "content": ""}, call]}
    assert json.loads(first.attributes["gen_ai.output.messages"]) == [answer]
    assert json.loads(second.attributes["gen_ai.input.messages"])[1:] == [
        answer,
        {"role": "tool", "parts": [{"type": "text", "content": "3"}]},
    ]
    assert json.loads(tool.attributes["gen_ai.tool.call.arguments"]) == {"a": 1, "b": 2}
    assert tool.attributes["gen_ai.tool.call.result"] == "3"


def test_long_content_is_cut(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_OTEL_CAPTURE_CONTENT", "1")
    run(ECHO + '(llm/complete (string/repeat "ä" 5000))')
    messages = " ".join(f'(message :user (string/repeat "{n}" 9000))' for n in range(10, 30))
    run(ECHO + f"(llm/chat (list {messages}))")
    single, many = (json.loads(span.attributes["gen_ai.input.messages"]) for span in sink.spans())
    assert single[0]["parts"][0]["content"] == "ä" * 4096 + "…[truncated]"
    texts = [message["parts"][0]["content"] for message in many]
    assert len(texts) == 20 and texts[0] == "…[truncated]" and texts[-1].startswith("2929")
    assert sum(len(text) for text in texts) < 80_000


def test_keys_are_not_content(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_OTEL_CAPTURE_CONTENT", "1")
    monkeypatch.setenv("DEPLOY_TOKEN", "tok-abcdefghijkl")
    run(ECHO + '(llm/complete "my key is tok-abcdefghijkl" {:system "tok-abcdefghijkl"})')
    assert sink.spans() and "tok-abcdefghijkl" not in sink.path.read_text()


# Other tools' names


def test_compat(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_OTEL_COMPAT", "Phoenix, langfuse,nonsense,langsmith,traceloop,braintrust")
    monkeypatch.setenv("SEMA_OTEL_CAPTURE_CONTENT", "1")
    monkeypatch.setenv("SEMA_OTEL_RELEASE", "1.2")
    run('(llm/set-pricing "m-2" 1000 2000)' + adder(options='{:tags ["prod"] :metadata {:team "x"} :session-id "s"}'))
    first, tool, _, agent = (span.attributes for span in sink.spans())
    kinds = ("openinference.span.kind", "traceloop.span.kind", "langsmith.span.kind", "langfuse.observation.type")
    assert [first[key] for key in kinds] == ["LLM", "task", "llm", "generation"]
    assert [tool[key] for key in kinds] == ["TOOL", "tool", "tool", "span"]
    assert [agent[key] for key in kinds] == ["AGENT", "agent", "chain", "span"]
    assert first["llm.provider"] == "player" and first["llm.model_name"] == "m-2" and "llm.system" not in first
    assert first["llm.token_count.total"] == first["llm.usage.total_tokens"] == 0 == first["llm.cost.total"]
    assert json.loads(first["llm.tools.0.tool.json_schema"])["required"] == ["a", "b"]
    assert first["llm.request.functions.0.name"] == "add"
    assert first["input.mime_type"] == "application/json" and first["traceloop.entity.input"] == first["input.value"]
    assert json.loads(first["langfuse.observation.usage_details"])["total"] == 0
    assert json.loads(first["llm.invocation_parameters"]) == {"max_tokens": 4096}
    assert first["langfuse.trace.tags"] == ["operation:chat", "provider:player", "model:m-2", "prod"]
    assert first["langfuse.release"] == "1.2" and first["langsmith.trace.session_id"] == "s"
    assert agent["langfuse.trace.metadata.team"] == agent["langsmith.metadata.team"] == "x"
    assert (agent["langfuse.trace.input"], agent["langfuse.trace.output"]) == ("1 + 2?", "three")
    assert tool["output.value"] == tool["braintrust.output_json"] == "3"
    assert tool["tool_call.function.arguments"] == '{"a":1,"b":2}'


def test_compat_is_opt_in(sink: Sink) -> None:
    run(adder(options='{:tags ["prod"]}'))
    prefixes = {key.partition(".")[0] for span in sink.spans() for key in span.attributes}
    assert prefixes <= {"gen_ai", "sema", "session", "user", "error"}


def test_a_mode_alone(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_OTEL_COMPAT", "openllmetry")
    run(ECHO + '(llm/stream "hi" (fn (piece) nil))')
    attributes = sink.spans()[0].attributes
    assert attributes["gen_ai.is_streaming"] is True and attributes["gen_ai.usage.prompt_tokens"] == 3
    assert not any(key.startswith(("llm.token", "langfuse", "langsmith", "openinference")) for key in attributes)


# The names, as the conventions' own package has them


def test_the_conventions_know_the_names(sink: Sink) -> None:
    attributes = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    from opentelemetry.semconv._incubating.metrics import gen_ai_metrics

    from sema_runtime.telemetry import bridge

    known = {value for name, value in vars(attributes).items() if name.startswith("GEN_AI")}
    assert bridge.TOKENS[0] == gen_ai_metrics.GEN_AI_CLIENT_TOKEN_USAGE
    assert bridge.SECONDS[0] == gen_ai_metrics.GEN_AI_CLIENT_OPERATION_DURATION
    run(adder())
    used = {key for span in sink.spans() for key in span.attributes if key.startswith("gen_ai.")}
    assert used - known == {"gen_ai.usage.total_tokens"}  # the reference's own; so are cost and cost_usd
    operations = {member.value for member in attributes.GenAiOperationNameValues}
    assert {span.attributes["gen_ai.operation.name"] for span in sink.spans()} <= operations
    providers = {member.value for member in attributes.GenAiProviderNameValues}
    from sema_runtime.telemetry.names import PROVIDERS

    assert set(PROVIDERS.values()) <= providers


# Turning it on and off


def test_off_loads_nothing(tmp_path: Path) -> None:
    (tmp_path / "off.sema").write_text(ECHO + '(with-span "a" {} (llm/complete "hi"))')
    script = (
        "import sys; from semac.cli.running import run_file; status = run_file(sys.argv[1]);"
        "print(status, [name for name in sys.modules if 'opentelemetry' in name or 'sema_runtime.telemetry.' in name])"
    )
    done = child([sys.executable, "-c", script, str(tmp_path / "off.sema")])
    assert done.stdout.strip() == "0 []", done.stderr


def child(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "SEMA_OTEL"))}
    return subprocess.run(command, capture_output=True, text=True, env=kept | environment, timeout=60)


def test_configure(tmp_path: Path) -> None:
    assert run("(otel/configure {})") is False and run("(otel/configure {:file 1})") is False
    path = tmp_path / "spans.jsonl"
    assert run(f"(otel/configure {{:file {json.dumps(str(path))} :capture-content #t}})") is True
    assert run(f"(otel/configure {{:file {json.dumps(str(tmp_path / 'other'))}}})") is False
    run(ECHO + '(llm/complete "what?")')
    assert "what?" in Sink(path).one("chat m-1").attributes["gen_ai.input.messages"]
    assert not (tmp_path / "other").exists()


def test_the_environment_goes_first(sink: Sink, tmp_path: Path) -> None:
    assert run(f"(otel/configure {{:file {json.dumps(str(tmp_path / 'other'))} :capture-content #t}})") is False
    run(ECHO + '(llm/complete "what?")')
    assert "gen_ai.input.messages" not in sink.one("chat m-1").attributes


def test_otel_sdk_disabled_turns_all_off(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "TRUE")
    assert run('(with-span "a" {} 1)') == 1 and telemetry.tracer() is None


@pytest.fixture
def restricted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "denied", set())
    monkeypatch.setattr(capabilities, "allowed", None)


@pytest.mark.usefixtures("restricted")
def test_a_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    capabilities.restrict(["network"], [str(inside)])
    telemetry.tracer()  # as the command line does
    with pytest.raises(PermissionDenied):
        run(f"(otel/configure {{:file {json.dumps(str(tmp_path / 'out.jsonl'))}}})")
    with pytest.raises(PermissionDenied):
        run('(otel/configure {:endpoint "https://example.com"})')
    monkeypatch.setenv("SEMA_OTEL_FILE", str(tmp_path / "sneaked.jsonl"))  # as a program could set it
    run('(with-span "a" {} 1)')
    assert list(tmp_path.iterdir()) == [inside]
    assert run(f"(otel/configure {{:file {json.dumps(str(inside / 'in.jsonl'))}}})") is True


@pytest.mark.usefixtures("restricted")
def test_a_sandbox_with_network_keeps_to_the_outside() -> None:
    capabilities.restrict(["shell"])
    with pytest.raises(SemaError, match="internal/loopback host"):
        run('(otel/configure {:endpoint "http://127.0.0.1:4318"})')


# Files


def test_a_file_that_can_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    for path in (tmp_path / "missing" / "spans.jsonl", tmp_path):
        telemetry.reset()
        monkeypatch.setenv("SEMA_OTEL_FILE", str(path))
        assert run('(with-span "a" {} (with-span "b" {} 1))') == 1
        shown = capsys.readouterr().err
        assert shown.count("\n") == 1 and shown.startswith(f"warning: telemetry: can't write spans to {path}: ")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_nobody_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setenv("SEMA_OTEL_FILE", str(tmp_path / "pipe"))
    assert run('(with-span "a" {} 1)') == 1
    assert "can't write spans" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_that_is_read_too_slowly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """The program goes on; what doesn't fit into the queue is lost, and counted."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    monkeypatch.setenv("SEMA_OTEL_FILE", str(pipe))
    monkeypatch.setenv("SEMA_OTEL_FILE_QUEUE", "10")
    monkeypatch.setattr("sema_runtime.telemetry.file_sink.PATIENCE", 0.2)
    assert run('(for-each (fn (n) (with-span "a" {:text (string/repeat "x" 10000)} n)) (range 500))') is None
    tracer = telemetry.tracer()
    assert tracer is not None and tracer.file is not None
    telemetry.reset()
    shown = capsys.readouterr().err
    tracer.file.failed = True  # what follows is no news
    os.close(reader)
    assert "gave up writing spans" in shown and re.search(r"\d+ spans did not reach", shown)


def test_two_processes_on_one_file(tmp_path: Path) -> None:
    program = tmp_path / "many.sema"
    program.write_text('(for-each (fn (n) (with-span "a" {:n n :text (string/repeat "x" (* 7 n))} n)) (range 500))')
    environment = os.environ | {"SEMA_OTEL_FILE": str(tmp_path / "spans.jsonl")}
    both = [
        subprocess.Popen([sys.executable, "-m", "semac.cli.entry", str(program)], env=environment) for _ in range(2)
    ]
    assert [process.wait(60) for process in both] == [0, 0]
    assert sorted(span.attributes["n"] for span in read(tmp_path / "spans.jsonl")) == sorted([*range(500)] * 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_writes_its_own_spans(tmp_path: Path) -> None:
    script = """
import os, sys
from sema_runtime import telemetry
from sema_runtime.telemetry.work import Own
def span(name): return Own(telemetry.tracer(), name, "chain", {})
with span("parent"):
    with span("before"): pass
    child = os.fork()
    if child == 0:
        with span("child"): pass
        sys.exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    done = child([sys.executable, "-c", script], SEMA_OTEL_FILE=str(tmp_path / "spans.jsonl"))
    assert done.returncode == 0, done.stderr
    spans = read(tmp_path / "spans.jsonl")
    assert sorted(span.name for span in spans) == ["before", "child", "parent"]


@pytest.mark.parametrize(("end", "status"), [("(exit 3)", 3), ('(error "boom")', 1), ("(async/sleep 1)", 0)])
def test_the_end_of_the_program_writes_everything(tmp_path: Path, end: str, status: int) -> None:
    program = tmp_path / "end.sema"
    program.write_text(f'(async (with-span "waits" {{}} (async/sleep 0.01) 1))\n(with-span "last" {{}} {end})')
    done = child([sys.executable, "-m", "semac.cli.entry", str(program)], SEMA_OTEL_FILE=str(tmp_path / "spans.jsonl"))
    assert done.returncode == status
    assert "last" in [span.name for span in read(tmp_path / "spans.jsonl")]
