"""Request bodies and replies of the two wires, checked with the SDKs' own types where they are installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from llm_support import chat_reply, claude_reply, problems

from sema_runtime.llm import wire_anthropic, wire_openai
from sema_runtime.llm.errors import ProviderError
from sema_runtime.llm.messages import Image, Message, Request, ToolCall, ToolSchema
from sema_runtime.llm.providers import Provider
from sema_runtime.net.sse import SseParser

OFFICIAL = Provider("openai", "openai", "https://api.openai.com/v1", "gpt-5.5", "k", True)
COMPATIBLE = Provider("local", "openai", "http://localhost:1/v1", "m", "k")
CLAUDE = Provider("anthropic", "anthropic", "https://api.anthropic.com/v1/messages", "claude-sonnet-4-6", "k")
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
PIXEL = Image("image/png", b"\x89PNG\r\n")


def conversation() -> list[Message]:
    calls = (ToolCall("t1", "read-file", {"path": "a"}), ToolCall("t2", "read-file", {"path": "b"}))
    return [
        Message("system", "First."),
        Message("user", "Look", images=(PIXEL,)),
        Message("assistant", "", tool_calls=calls),
        Message("tool", "A", tool_call_id="t1", tool_name="read-file"),
        Message("tool", "B", tool_call_id="t2", tool_name="read-file"),
        Message("assistant", "Done"),
        Message("user", "Thanks"),
    ]


def request(**options: Any) -> Request:
    tools = [ToolSchema("read-file", "Reads", SCHEMA)]
    return Request(conversation(), model=options.pop("model", "m"), tools=tools, **options)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("options", [{}, {"temperature": 0.2, "system": "S"}, {"reasoning_effort": "low"}])
@pytest.mark.parametrize("provider", [OFFICIAL, COMPATIBLE, CLAUDE], ids=lambda p: str(p.name))
def test_bodies_satisfy_the_sdk_types(provider: Provider, options: dict[str, Any], stream: bool) -> None:
    wire: Any = wire_anthropic if provider is CLAUDE else wire_openai
    body = wire.body(provider, request(**options), stream)
    kind = "anthropic" if provider is CLAUDE else "openai"
    if provider is CLAUDE:
        body.pop("temperature", None)  # gone from the newest SDK's types; older models still take it
    assert problems(kind, json.loads(json.dumps(body))) == []


def test_openai_body() -> None:
    body = wire_openai.body(COMPATIBLE, request(system="S", temperature=0.5, json_mode=True), False)
    assert body["max_tokens"] == 4096
    assert body["response_format"] == {"type": "json_object"}
    assert [m["role"] for m in body["messages"]][:3] == ["system", "system", "user"]
    assert [b["type"] for b in body["messages"][2]["content"]] == ["image_url", "text"]
    assert body["messages"][3] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "t1", "type": "function", "function": {"name": "read-file", "arguments": '{"path":"a"}'}},
            {"id": "t2", "type": "function", "function": {"name": "read-file", "arguments": '{"path":"b"}'}},
        ],
    }
    assert body["messages"][4] == {"role": "tool", "content": "A", "tool_call_id": "t1"}


def test_official_openai_endpoints_differ() -> None:
    body = wire_openai.body(OFFICIAL, request(model="gpt-5.5", temperature=0.5), True)
    assert body["max_completion_tokens"] == 4096
    assert "temperature" not in body
    assert body["stream_options"] == {"include_usage": True}
    assert "temperature" in wire_openai.body(OFFICIAL, request(model="gpt-4.1", temperature=0.5), True)


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("Unsupported parameter: temperature is not supported with this model", "temperature", None),
        ("Function tools with reasoning_effort are not supported in /v1/chat/completions", "reasoning_effort", "none"),
        (
            "reasoning_effort does not support 'max'. Supported values are: 'low', 'medium' and 'high'",
            "reasoning_effort",
            "high",
        ),
    ],
)
def test_learns_from_a_400(text: str, key: str, value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire_openai, "_quirks", {})
    asked = request(model="gpt-4-x", temperature=0.5, reasoning_effort="max")
    assert wire_openai.learn(OFFICIAL, asked, text)
    assert wire_openai.body(OFFICIAL, asked, False).get(key) == value
    assert not wire_openai.learn(OFFICIAL, asked, text), "the same advice twice changes nothing"
    assert not wire_openai.learn(COMPATIBLE, asked, text)


def test_anthropic_body() -> None:
    body = wire_anthropic.body(CLAUDE, request(), False)
    assert body["system"] == "First."
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user", "assistant", "user"]
    assert [b["type"] for b in body["messages"][0]["content"]] == ["image", "text"]
    assert body["messages"][1]["content"][0] == {
        "type": "tool_use",
        "id": "t1",
        "name": "read-file",
        "input": {"path": "a"},
    }
    assert [b["tool_use_id"] for b in body["messages"][2]["content"]] == ["t1", "t2"]
    assert body["tools"] == [{"name": "read-file", "description": "Reads", "input_schema": SCHEMA}]


def test_anthropic_thinking_makes_room_and_drops_temperature() -> None:
    body = wire_anthropic.body(CLAUDE, request(reasoning_effort="medium", temperature=1.0, max_tokens=100), False)
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 4096}
    assert body["max_tokens"] == 4196
    assert "temperature" not in body


def test_anthropic_models_that_refuse_temperature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire_anthropic, "_no_temperature", set())
    asked = request(model="claude-x", temperature=0.5)
    assert wire_anthropic.body(CLAUDE, asked, False)["temperature"] == 0.5
    assert not wire_anthropic.learn(CLAUDE, asked, "messages: too long")
    assert wire_anthropic.learn(CLAUDE, asked, "temperature: Extra inputs are not permitted")
    assert "temperature" not in wire_anthropic.body(CLAUDE, asked, False)
    assert not wire_anthropic.learn(CLAUDE, asked, "temperature: Extra inputs are not permitted")


def test_replies() -> None:
    reply = wire_openai.parse(json.dumps(chat_reply(None, [("t", "f", {"a": 1})])), request())
    assert (reply.content, reply.tool_calls, reply.stop_reason) == ("", [ToolCall("t", "f", {"a": 1})], "tool_calls")
    blocks = [{"type": "text", "text": "a"}, {"type": "thinking", "thinking": "?"}, {"type": "text", "text": "b"}]
    reply = wire_anthropic.parse(json.dumps(claude_reply(*blocks)), request())
    assert (reply.content, reply.usage.prompt, reply.usage.completion) == ("a\nb", 3, 2)


@pytest.mark.parametrize("text", ["<html>", "[]", '{"choices": []}', '{"choices": null}'])
def test_unreadable_openai_reply(text: str) -> None:
    with pytest.raises(ProviderError, match="Parse error: "):
        wire_openai.parse(text, request())


def sse(*events: dict[str, Any] | str) -> bytes:
    return b"".join(b"data: " + (e if isinstance(e, str) else json.dumps(e)).encode() + b"\n\n" for e in events)


def read(wire: Any, data: bytes) -> tuple[list[str], Any]:
    reader = wire.StreamReader(request())
    parser = SseParser()
    texts = [reader.feed(event) for event in [*parser.feed(data), *parser.close()]]
    return [text for text in texts if text], reader.reply()


def test_openai_stream_with_tool_deltas() -> None:
    def delta(**fields: Any) -> dict[str, Any]:
        return {"choices": [{"index": 0, "delta": fields, "finish_reason": None}]}

    data = sse(
        delta(role="assistant", content="Hel"),
        delta(content="lo"),
        delta(tool_calls=[{"index": 0, "id": "t1", "function": {"name": "f", "arguments": ""}}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": '{"a"'}}]),
        delta(tool_calls=[{"index": 1, "id": "t2", "function": {"name": "g", "arguments": "not json"}}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": ": 1}"}}, {"index": 2, "id": "nameless"}]),
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 6}},
        "[DONE]",
    )
    texts, reply = read(wire_openai, data)
    assert texts == ["Hel", "lo"]
    assert reply.tool_calls == [ToolCall("t1", "f", {"a": 1}), ToolCall("t2", "g", {})]
    assert (reply.usage.prompt, reply.usage.completion, reply.stop_reason) == (5, 6, "tool_calls")


def test_anthropic_stream_with_tool_deltas() -> None:
    data = sse(
        {"type": "message_start", "message": {"model": "c", "usage": {"input_tokens": 9, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}},
        },
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"a": '}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "2}"}},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    )
    texts, reply = read(wire_anthropic, data)
    assert texts == ["Hi"]
    assert reply.tool_calls == [ToolCall("t", "f", {"a": 2})]
    assert (reply.model, reply.usage.prompt, reply.usage.completion) == ("c", 9, 4)


@pytest.mark.parametrize("wire", [wire_openai, wire_anthropic])
def test_a_stream_without_its_end_is_an_error(wire: Any) -> None:
    with pytest.raises(ProviderError, match="HTTP error: the stream ended before"):
        read(wire, sse({"type": "ping", "choices": [{"delta": {"content": "x"}}]}))


def test_an_error_inside_a_stream() -> None:
    with pytest.raises(ProviderError, match="API error: 529 - Overloaded"):
        read(wire_anthropic, sse({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}))
    with pytest.raises(ProviderError, match="API error: 200 - bad"):
        read(wire_openai, sse({"error": {"message": "bad"}}))


RECORDED = {
    "openai_text": ('"This is a test."', [], (12, 5), "stop"),
    "openai_tools": ("", [("get_current_weather", {"location": "San Francisco"})], (0, 0), "tool_calls"),
    "anthropic_text": ("Hello there!", [], (11, 6), "end_turn"),
    "anthropic_tools": (
        "Certainly! I can help you with that information. To get the weather and current time in San Francisco, I'll"
        " need to use two separate functions. Let me fetch that data for you.",
        [
            ("get_weather", {"location": "San Francisco, CA", "unit": "celsius"}),
            ("get_time", {"timezone": "America/Los_Angeles"}),
        ],
        (506, 153),
        "tool_use",
    ),
}


@pytest.mark.parametrize("size", [1, 7, 100000])
@pytest.mark.parametrize("name", RECORDED)
def test_streams_of_real_servers(name: str, size: int) -> None:
    data = (Path(__file__).parent / "data" / "llm" / f"{name}.sse").read_bytes()
    reader: Any = (wire_openai if name.startswith("openai") else wire_anthropic).StreamReader(request())
    parser = SseParser()
    heard = ""
    for start in range(0, len(data), size):
        heard += "".join(reader.feed(event) for event in parser.feed(data[start : start + size]))
    reply = reader.reply()
    content, calls, tokens, stop = RECORDED[name]
    assert heard == reply.content == content
    assert [(call.name, call.arguments) for call in reply.tool_calls] == calls
    assert (reply.usage.prompt, reply.usage.completion) == tokens
    assert reply.stop_reason == stop


def test_our_fake_servers_answer_as_the_sdks_expect() -> None:
    chat = pytest.importorskip("openai.types.chat", reason="the dev-llm extra is not installed")
    messages = pytest.importorskip("anthropic.types", reason="the dev-llm extra is not installed")
    chat.ChatCompletion.model_validate(chat_reply(None, [("t", "f", {"a": 1})]))
    tool_use = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    messages.Message.model_validate(claude_reply({"type": "text", "text": "a", "citations": None}, tool_use))
