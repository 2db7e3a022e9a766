"""The Gemini wire: bodies, replies, streams, thinking."""

from __future__ import annotations

import json
from typing import Any

import pytest
from llm_support import problems
from wire_support import GEMINI, conversation, read, request, sse

from sema_runtime.llm.errors import ProviderError
from sema_runtime.llm.messages import ToolCall
from sema_runtime.llm.wires import gemini as wire


def candidate(*parts: dict[str, Any], finish: str | None = "STOP", **usage: int) -> dict[str, Any]:
    made: dict[str, Any] = {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0}]}
    if finish:
        made["candidates"][0]["finishReason"] = finish
    return {**made, "usageMetadata": usage, "modelVersion": "gemini-x"} if usage else made


def call(name: str, signature: str | None = None, **arguments: Any) -> dict[str, Any]:
    part: dict[str, Any] = {"functionCall": {"name": name, "args": arguments}}
    return {**part, "thoughtSignature": signature} if signature else part


@pytest.mark.parametrize(
    "options",
    [{}, {"temperature": 0.2, "system": "S"}, {"reasoning_effort": "low"}, {"strict_tools": True}],
    ids=["plain", "settings", "effort", "strict"],
)
def test_bodies_satisfy_the_sdk_types(options: dict[str, Any]) -> None:
    body = wire.body(GEMINI, request(messages=conversation("AAAA"), **options), False)
    assert problems("gemini", json.loads(json.dumps(body))) == []


def test_body() -> None:
    body = wire.body(GEMINI, request(messages=conversation("sig"), temperature=0.5, json_mode=True), False)
    assert sorted(body) == ["contents", "generationConfig", "systemInstruction", "tools"]
    assert body["systemInstruction"] == {"parts": [{"text": "First."}]}
    assert body["generationConfig"] == {"maxOutputTokens": 4096, "temperature": 0.5}
    assert [c["role"] for c in body["contents"]] == ["user", "model", "user", "model", "user"]
    assert [list(part) for part in body["contents"][0]["parts"]] == [["inlineData"], ["text"]]
    assert body["contents"][1]["parts"] == [call("read-file", "sig", path="a"), call("read-file", path="b")]
    answers = [part["functionResponse"] for part in body["contents"][2]["parts"]]
    assert answers == [{"name": "read-file", "response": {"result": text}} for text in "AB"]
    assert [f["name"] for f in body["tools"][0]["function_declarations"]] == ["read-file"]


@pytest.mark.parametrize(
    ("effort", "budget"),
    [("low", 1024), ("medium", 8192), ("High", 24576), ("xhigh", 24576), ("max", 24576), ("none", 0)],
)
def test_effort_is_a_budget(effort: str, budget: int) -> None:
    body = wire.body(GEMINI, request(reasoning_effort=effort), False)
    assert body["generationConfig"]["thinkingConfig"] == {"thinkingBudget": budget}


def test_models_that_think_as_they_like(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_own_thinking", set())
    asked = request(reasoning_effort="none")
    assert not wire.learn(GEMINI, asked, "API key not valid")
    assert wire.learn(GEMINI, asked, "Budget 0 is invalid. This model only works in thinking mode.")
    assert "thinkingConfig" not in wire.body(GEMINI, asked, False)["generationConfig"]
    assert not wire.learn(GEMINI, asked, "Budget 0 is invalid.")


def test_ids_of_calls_go_on_where_the_conversation_is() -> None:
    reply = wire.parse(json.dumps(candidate(call("f"))), request(messages=[]))
    assert [one.id for one in reply.tool_calls] == ["gemini-call-0"]


def test_strict_tools_are_validated_calls() -> None:
    body = wire.body(GEMINI, request(strict_tools=True), False)
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "VALIDATED"}}


@pytest.mark.parametrize("model", ["", "a/b", "a?b", "a#b", "a:b", "a..b", "a\nb"])
def test_a_model_name_that_would_change_the_path(model: str) -> None:
    with pytest.raises(ProviderError, match=r"^Config error: invalid model name: "):
        wire.url(GEMINI, request(model=model), False)


def test_url() -> None:
    base = "https://generativelanguage.googleapis.com/v1beta/models/g-1"
    assert wire.url(GEMINI, request(model="g-1"), False) == base + ":generateContent"
    assert wire.url(GEMINI, request(model="g-1"), True) == base + ":streamGenerateContent?alt=sse"


# Replies


def test_reply() -> None:
    counts = {"promptTokenCount": 5, "candidatesTokenCount": 6, "thoughtsTokenCount": 10, "cachedContentTokenCount": 2}
    parts = [{"text": "Hm.", "thought": True}, {"text": "a"}, {"text": "b"}, call("f", "sig", x=1), call("g")]
    reply = wire.parse(json.dumps(candidate(*parts, **counts)), request())
    assert reply.content == "a\nb"
    assert reply.tool_calls == [ToolCall("gemini-call-2", "f", {"x": 1}, "sig"), ToolCall("gemini-call-3", "g", {})]
    assert (reply.stop_reason, reply.model) == ("tool_use", "gemini-x")
    assert (reply.usage.prompt, reply.usage.completion, reply.usage.cache_read) == (5, 16, 2), (
        "thinking is paid for too"
    )


@pytest.mark.parametrize(("finish", "thoughts"), [("MAX_TOKENS", 0), ("STOP", 7), ("MAX_TOKENS", 7)])
def test_all_tokens_went_into_thinking(finish: str, thoughts: int) -> None:
    with pytest.raises(ProviderError, match=r"^API error: 200 - .*raise :max-tokens or lower :reasoning-effort"):
        wire.parse(json.dumps(candidate(finish=finish, thoughtsTokenCount=thoughts)), request())


@pytest.mark.parametrize("value", [candidate(), {"candidates": []}, {"promptFeedback": {"blockReason": "SAFETY"}}])
def test_an_empty_reply(value: dict[str, Any]) -> None:
    reply = wire.parse(json.dumps(value), request())
    assert (reply.content, reply.stop_reason) == ("", "stop")


# Streams


def test_stream() -> None:
    data = sse(
        candidate({"text": "Hm.", "thought": True}, finish=None),
        candidate({"text": "He"}, finish=None, promptTokenCount=5),
        candidate({"text": "llo"}, call("f", "sig", x=1), finish=None),
        candidate(call("g"), promptTokenCount=5, candidatesTokenCount=6, thoughtsTokenCount=1),
    )
    texts, reply = read(wire, data)
    assert texts == ["He", "llo"]
    assert reply.tool_calls == [ToolCall("gemini-call-2", "f", {"x": 1}, "sig"), ToolCall("gemini-call-3", "g", {})]
    assert (reply.usage.prompt, reply.usage.completion, reply.stop_reason) == (5, 7, "tool_use")


def test_a_stream_without_its_end_is_an_error() -> None:
    with pytest.raises(ProviderError, match="HTTP error: the stream ended before"):
        read(wire, sse(candidate({"text": "a"}, finish=None)))


def test_a_blocked_prompt_ends_the_stream() -> None:
    assert read(wire, sse({"promptFeedback": {"blockReason": "SAFETY"}}))[1].content == ""


def test_an_error_inside_a_stream() -> None:
    error = {"error": {"code": 503, "message": "The model is overloaded", "status": "UNAVAILABLE"}}
    with pytest.raises(ProviderError, match="API error: 503 - The model is overloaded"):
        read(wire, sse(candidate({"text": "a"}, finish=None), error))
