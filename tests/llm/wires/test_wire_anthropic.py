"""The Anthropic wire: bodies, replies, streams, what newer models refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest
from llm_support import NO_SDK, claude_reply, problems
from wire_support import CLAUDE, OPTIONAL, PAPER, read, request, sse

from sema_runtime.llm.errors import ProviderError
from sema_runtime.llm.messages import Message, ToolCall, ToolSchema
from sema_runtime.llm.wires import anthropic as wire

TOOL_START = {"type": "tool_use", "id": "t", "name": "f", "input": {}}


@pytest.fixture(autouse=True)
def nothing_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_no_temperature", set())
    monkeypatch.setattr(wire, "_adaptive", set())


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"system": "S"}, {"reasoning_effort": "low"}, {"strict_tools": True}],
    ids=["plain", "system", "effort", "strict"],
)
def test_bodies_satisfy_the_sdk_types(options: dict[str, Any], stream: bool) -> None:
    body = wire.body(CLAUDE, request(**options), stream)
    assert problems("anthropic", json.loads(json.dumps(body))) == []


def test_body() -> None:
    body = wire.body(CLAUDE, request(json_mode=True, temperature=0.5), False)
    assert sorted(body) == ["max_tokens", "messages", "model", "system", "temperature", "tools"]
    assert body["system"] == "First."
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user", "assistant", "user"]
    assert [b["type"] for b in body["messages"][0]["content"]] == ["image", "text"]
    use = {"type": "tool_use", "id": "t1", "name": "read-file", "input": {"path": "a"}}
    assert body["messages"][1]["content"][0] == use
    assert [b["tool_use_id"] for b in body["messages"][2]["content"]] == ["t1", "t2"]
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    assert body["tools"] == [{"name": "read-file", "description": "Reads", "input_schema": schema}]


def test_the_system_text_of_the_request_wins() -> None:
    assert wire.body(CLAUDE, request(system="S"), False)["system"] == "S"
    assert "system" not in wire.body(CLAUDE, request(messages=[Message("user", "a")]), False)


def test_text_of_an_assistant_comes_before_its_calls() -> None:
    asked = request(messages=[Message("assistant", "I look.", tool_calls=(ToolCall("t", "f", {}),))])
    [message] = wire.body(CLAUDE, asked, False)["messages"]
    assert [block["type"] for block in message["content"]] == ["text", "tool_use"]


@pytest.mark.parametrize(
    ("effort", "budget"),
    [
        ("low", 1024),
        ("medium", 4096),
        ("high", 12000),
        ("xhigh", 24000),
        ("max", 24000),
        ("HIGH", 12000),
        ("none", None),
    ],
)
def test_thinking_makes_room_and_drops_temperature(effort: str, budget: int | None) -> None:
    body = wire.body(CLAUDE, request(reasoning_effort=effort, temperature=1.0, max_tokens=100), False)
    if budget is None:
        assert "thinking" not in body and body["temperature"] == 1.0 and body["max_tokens"] == 100
    else:
        assert body["thinking"] == {"type": "enabled", "budget_tokens": budget}
        assert body["max_tokens"] == budget + 100
        assert "temperature" not in body


def test_models_that_refuse_temperature() -> None:
    asked = request(model="claude-x", temperature=0.5)
    assert wire.body(CLAUDE, asked, False)["temperature"] == 0.5
    assert not wire.learn(CLAUDE, asked, "messages: too long")
    assert wire.learn(CLAUDE, asked, "temperature: Extra inputs are not permitted")
    assert "temperature" not in wire.body(CLAUDE, asked, False)
    assert not wire.learn(CLAUDE, asked, "temperature: Extra inputs are not permitted")


def test_models_that_take_an_effort_instead_of_a_budget() -> None:
    asked = request(model="claude-opus-9", reasoning_effort="high", max_tokens=100)
    refusal = '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and'
    assert wire.learn(CLAUDE, asked, refusal)
    body = wire.body(CLAUDE, asked, False)
    assert body["thinking"] == {"type": "adaptive"}
    assert body["output_config"] == {"effort": "high"}
    assert body["max_tokens"] == 12100
    assert problems("anthropic", body) == []
    assert not wire.learn(CLAUDE, asked, refusal)


def test_strict_tools() -> None:
    asked = request(tools=[ToolSchema("read-file", "Reads", OPTIONAL)], strict_tools=True)
    [tool] = wire.body(CLAUDE, asked, False)["tools"]
    assert tool["strict"] is True
    assert tool["input_schema"]["additionalProperties"] is False


def test_a_pdf_is_a_document() -> None:
    body = wire.body(CLAUDE, request(messages=[Message("user", "Read", images=(PAPER,))]), False)
    assert [block["type"] for block in body["messages"][0]["content"]] == ["document", "text"]
    assert problems("anthropic", body) == []


# Replies


def test_texts_are_joined_and_other_blocks_ignored() -> None:
    blocks = [{"type": "text", "text": "a"}, {"type": "thinking", "thinking": "?"}, {"type": "text", "text": "b"}]
    reply = wire.parse(json.dumps(claude_reply(*blocks)), request())
    assert (reply.content, reply.usage.prompt, reply.usage.completion) == ("a\nb", 3, 2)


@pytest.mark.parametrize("text", ["<html>", "[]", '{"content": null}', "{}"])
def test_unreadable_reply(text: str) -> None:
    with pytest.raises(ProviderError, match="Parse error: "):
        wire.parse(text, request())


# Streams


def start(index: int, block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": fields}


def test_stream_with_tool_deltas() -> None:
    data = sse(
        {"type": "message_start", "message": {"model": "c", "usage": {"input_tokens": 9, "output_tokens": 1}}},
        start(0, {"type": "thinking", "thinking": ""}),
        delta(0, type="thinking_delta", thinking="Hm."),
        delta(0, type="signature_delta", signature="x"),
        start(1, {"type": "text", "text": ""}),
        {"type": "ping"},
        delta(1, type="text_delta", text="Hi"),
        start(2, TOOL_START),
        delta(2, type="input_json_delta", partial_json='{"a": '),
        delta(2, type="input_json_delta", partial_json="2}"),
        {"type": "content_block_stop", "index": 2},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    )
    texts, reply = read(wire, data)
    assert texts == ["Hi"]
    assert reply.tool_calls == [ToolCall("t", "f", {"a": 2})]
    assert (reply.model, reply.usage.prompt, reply.usage.completion) == ("c", 9, 4)


@pytest.mark.parametrize(
    ("given", "pieces", "arguments"),
    [({"a": 1}, [], {"a": 1}), ({}, [], {}), ({}, ["not json"], {}), ({}, [""], {})],
    ids=["in one piece", "none", "no JSON", "empty"],
)
def test_arguments_of_a_streamed_call(given: Any, pieces: list[str], arguments: Any) -> None:
    data = sse(
        start(0, {**TOOL_START, "input": given}),
        *(delta(0, type="input_json_delta", partial_json=piece) for piece in pieces),
        {"type": "message_stop"},
    )
    assert read(wire, data)[1].tool_calls == [ToolCall("t", "f", arguments)]


def test_counts_of_a_stream_are_totals_that_never_fall() -> None:
    """Servers that resell models say 0 at the end for what they told at the start; it was billed all the same."""
    begun = {"input_tokens": 9, "output_tokens": 1, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 6}
    ended = {"output_tokens": 4, "input_tokens": 10, "cache_read_input_tokens": 0}
    data = sse(
        {"type": "message_start", "message": {"usage": begun}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": ended},
        {"type": "message_stop"},
    )
    usage = read(wire, data)[1].usage
    assert (usage.prompt, usage.completion, usage.cache_read, usage.cache_creation) == (10, 4, 5, 6)


def test_a_stream_without_its_end_is_an_error() -> None:
    with pytest.raises(ProviderError, match="HTTP error: the stream ended before"):
        read(wire, sse({"type": "ping"}, delta(0, type="text_delta", text="x")))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("overloaded_error", "API error: 529 - Oh"),
        ("rate_limit_error", "Rate limited: retry after 5000ms"),
        ("api_error", "API error: 500 - Oh"),
        ("new_error", "API error: 200 - Oh"),
    ],
)
def test_an_error_inside_a_stream(kind: str, text: str) -> None:
    with pytest.raises(ProviderError, match=text):
        read(wire, sse({"type": "error", "error": {"type": kind, "message": "Oh"}}))


def test_our_fake_servers_answer_as_the_sdk_expects() -> None:
    messages = pytest.importorskip("anthropic.types", reason=NO_SDK)
    messages.Message.model_validate(claude_reply({"type": "text", "text": "a", "citations": None}, TOOL_START))
