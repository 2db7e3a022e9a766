"""Spans of programs, arguments of `llm/with-span` and its kind, contents of calls, names for other tools."""

from __future__ import annotations

import json
import re

import pytest
from llm_support import llm as llm
from llm_support import run
from otel_programs import ECHO, adder
from otel_support import Sink
from otel_support import otel as otel
from otel_support import sink as sink

from sema_runtime.values.errors import SemaError

pytestmark = pytest.mark.usefixtures("llm", "otel")


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
