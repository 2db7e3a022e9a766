"""The OpenAI wire: bodies for the official endpoints and for compatible servers, replies, streams, what is learned."""

from __future__ import annotations

import json
from typing import Any

import pytest
from llm_support import NO_SDK, chat_reply, problems
from wire_support import COMPATIBLE, JUNK, OFFICIAL, OPTIONAL, PAPER, conversation, read, request, sse

from sema_runtime.llm.errors import ProviderError
from sema_runtime.llm.messages import Message, ToolCall, ToolSchema
from sema_runtime.llm.providers import PRESETS, preset_provider
from sema_runtime.llm.wires import openai as wire

COMPATIBLES = [name for name, preset in PRESETS.items() if preset.wire == "openai"]


@pytest.fixture(autouse=True)
def nothing_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_quirks", {})


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"temperature": 0.2, "system": "S", "json_mode": True}, {"reasoning_effort": "low"}, {"strict_tools": True}],
    ids=["plain", "settings", "effort", "strict"],
)
@pytest.mark.parametrize("name", ["local", *COMPATIBLES])
def test_bodies_satisfy_the_sdk_types(name: str, options: dict[str, Any], stream: bool) -> None:
    provider = COMPATIBLE if name == "local" else preset_provider(name, "k")
    body = wire.body(provider, request(**options), stream)
    for message in body["messages"] if name == "mistral" else ():
        message.pop("name", None)  # Mistral's own
    assert problems("openai", json.loads(json.dumps(body))) == []


def test_body() -> None:
    body = wire.body(COMPATIBLE, request(system="S", temperature=0.5, json_mode=True), False)
    assert list(body) == ["model", "messages", "max_tokens", "temperature", "tools", "response_format"]
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


def test_arguments_keep_their_letters() -> None:
    asked = request(messages=[Message("assistant", "", tool_calls=(ToolCall("t", "f", {"a": "é"}),))])
    [message] = wire.body(COMPATIBLE, asked, False)["messages"]
    assert message["tool_calls"][0]["function"]["arguments"] == '{"a":"é"}'


def test_mistral_wants_the_name_of_the_tool_with_its_result() -> None:
    body = wire.body(preset_provider("mistral", "k"), request(), False)
    assert body["messages"][3]["name"] == "read-file"
    assert "stream_options" not in wire.body(preset_provider("mistral", "k"), request(), True)


@pytest.mark.parametrize("name", COMPATIBLES)
def test_who_is_asked_for_usage_in_streams(name: str) -> None:
    told = "stream_options" in wire.body(preset_provider(name, "k"), request(), True)
    assert told == (name in ("openai", "groq", "xai"))


def test_official_endpoints_differ() -> None:
    body = wire.body(OFFICIAL, request(model="gpt-5.5", temperature=0.5), True)
    assert body["max_completion_tokens"] == 4096
    assert "max_tokens" not in body
    assert body["stream_options"] == {"include_usage": True}
    azure = preset_provider("openai", "k", "https://x.openai.azure.com/openai/v1")
    assert "max_completion_tokens" in wire.body(azure, request(), False)


@pytest.mark.parametrize(
    ("model", "kept"),
    [
        ("gpt-5.5", False),
        ("o1", False),
        ("o3-mini", False),
        ("o4-mini", False),
        ("gpt-5-chat-latest", True),
        ("gpt-4.1", True),
    ],
)
def test_models_that_think_take_no_temperature(model: str, kept: bool) -> None:
    assert ("temperature" in wire.body(OFFICIAL, request(model=model, temperature=0.5), False)) == kept
    assert "temperature" in wire.body(COMPATIBLE, request(model=model, temperature=0.5), False)


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
        (
            "'reasoning_effort' does not support 'max' with this model. Use 'none' or 'xhigh'",
            "reasoning_effort",
            "xhigh",
        ),
    ],
)
def test_learns_from_a_400(text: str, key: str, value: str | None) -> None:
    asked = request(model="gpt-4-x", temperature=0.5, reasoning_effort="max")
    assert wire.learn(OFFICIAL, asked, text)
    assert wire.body(OFFICIAL, asked, False).get(key) == value
    assert not wire.learn(OFFICIAL, asked, text), "the same advice twice changes nothing"
    assert not wire.learn(COMPATIBLE, asked, text)


@pytest.mark.parametrize(
    ("wanted", "given"), [("minimal", "low"), ("low", "low"), ("medium", "high"), ("none", "low"), ("odd", "odd")]
)
def test_effort_goes_to_the_nearest_tier(wanted: str, given: str) -> None:
    wire.learn(
        OFFICIAL, request(model="m", reasoning_effort="max"), "reasoning_effort does not support 'max': 'low', 'high'"
    )
    assert wire.body(OFFICIAL, request(model="m", reasoning_effort=wanted), False)["reasoning_effort"] == given


def test_without_tools_the_effort_stays() -> None:
    wire.learn(OFFICIAL, request(reasoning_effort="low"), "tools with reasoning_effort: use /v1/responses")
    assert wire.body(OFFICIAL, request(reasoning_effort="low", tools=[]), False)["reasoning_effort"] == "low"


# Pictures


def test_a_pdf_is_a_file() -> None:
    body = wire.body(OFFICIAL, request(messages=[Message("user", "Read", images=(PAPER,))]), False)
    assert [block["type"] for block in body["messages"][0]["content"]] == ["file", "text"]
    assert problems("openai", body) == []


def test_junk_is_no_picture() -> None:
    with pytest.raises(ProviderError, match="Config error: the image is none"):
        wire.body(COMPATIBLE, request(messages=[Message("user", "Read", images=(JUNK,))]), False)


# Strict tools


def test_strict_tools() -> None:
    asked = request(tools=[ToolSchema("read-file", "Reads", OPTIONAL)], strict_tools=True)
    function = wire.body(OFFICIAL, asked, False)["tools"][0]["function"]
    assert function["strict"] is True
    assert function["parameters"] == {
        "type": "object",
        "properties": {"path": {"type": "string"}, "line": {"type": ["integer", "null"]}},
        "required": ["path", "line"],
        "additionalProperties": False,
    }
    loose = wire.body(preset_provider("deepseek", "k"), asked, False)["tools"][0]["function"]
    assert "strict" not in loose and loose["parameters"] == OPTIONAL


# Replies


def test_reply_with_calls() -> None:
    reply = wire.parse(json.dumps(chat_reply(None, [("t", "f", {"a": 1})])), request())
    assert (reply.content, reply.tool_calls, reply.stop_reason) == ("", [ToolCall("t", "f", {"a": 1})], "tool_calls")


def test_usage_with_cache() -> None:
    value = chat_reply("x")
    value["usage"]["prompt_tokens_details"] = {"cached_tokens": 5, "cache_write_tokens": 7}
    usage = wire.parse(json.dumps(value), request()).usage
    assert (usage.prompt, usage.completion, usage.cache_read, usage.cache_creation) == (3, 2, 5, 7)


def test_text_in_a_list_beside_thoughts() -> None:
    """As Mistral's thinking models send it."""
    value = chat_reply("x")
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    value["choices"][0]["message"]["content"] = [thought, {"type": "text", "text": "42"}]
    assert wire.parse(json.dumps(value), request()).content == "42"
    texts, _ = read(
        wire,
        sse(
            {"choices": [{"delta": {"content": [thought]}}]},
            {"choices": [{"delta": {"content": [{"type": "text", "text": "4"}]}}]},
            {"choices": [{"delta": {"content": "2"}, "finish_reason": "stop"}]},
        ),
    )
    assert texts == ["4", "2"]


def test_a_refusal_is_the_answer() -> None:
    value = chat_reply(None)
    value["choices"][0]["message"]["refusal"] = "I can't do that."
    assert wire.parse(json.dumps(value), request()).content == "I can't do that."


@pytest.mark.parametrize("text", ["<html>", "[]", '{"choices": []}', '{"choices": null}', '{"choices": [1]}', ""])
def test_unreadable_reply(text: str) -> None:
    with pytest.raises(ProviderError, match="Parse error: "):
        wire.parse(text, request())


def test_no_choices() -> None:
    with pytest.raises(ProviderError, match=r"^Parse error: no choices in response$"):
        wire.parse('{"choices": []}', request())
    with pytest.raises(ProviderError, match="API error: 502 - upstream is down"):
        wire.parse('{"error": {"message": "upstream is down", "code": 502}}', request())


# Streams


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": None}]}


def test_stream_with_tool_deltas() -> None:
    data = sse(
        {"choices": [], "prompt_filter_results": []},  # Azure begins so
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
    texts, reply = read(wire, data)
    assert texts == ["Hel", "lo"]
    assert reply.tool_calls == [ToolCall("t1", "f", {"a": 1}), ToolCall("t2", "g", {})]
    assert (reply.usage.prompt, reply.usage.completion, reply.stop_reason) == (5, 6, "tool_calls")


def test_groq_told_usage_in_a_field_of_its_own() -> None:
    _, reply = read(
        wire,
        sse(
            delta(content="a"),
            {
                "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
                "x_groq": {"usage": {"prompt_tokens": 5, "completion_tokens": 6}},
            },
            "[DONE]",
        ),
    )
    assert (reply.usage.prompt, reply.usage.completion) == (5, 6)


def test_only_the_first_of_several_choices_counts() -> None:
    texts, reply = read(
        wire,
        sse(delta(content="a"), {"choices": [{"index": 1, "delta": {"content": "b"}}]}, delta(content="c"), "[DONE]"),
    )
    assert texts == ["a", "c"]
    assert reply.content == "ac"


def test_a_stream_without_its_end_is_an_error() -> None:
    with pytest.raises(ProviderError, match="HTTP error: the stream ended before"):
        read(wire, sse(delta(content="x")))


@pytest.mark.parametrize(
    ("error", "text"),
    [
        ({"message": "bad"}, "API error: 200 - bad"),
        ({"message": "down", "code": 502}, "API error: 502 - down"),
        ("words", "API error: 200 - words"),
    ],
)
def test_an_error_inside_a_stream(error: Any, text: str) -> None:
    with pytest.raises(ProviderError, match=text):
        read(wire, sse(delta(content="x"), {"error": error}))


def test_what_a_broken_stream_has_brought() -> None:
    reader = wire.StreamReader(request())
    for event in wire.splitter().feed(
        sse(
            delta(content="Hel"),
            delta(tool_calls=[{"index": 0, "id": "t", "function": {"name": "f", "arguments": '{"a"'}}]),
            {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 6}},
        )
    ):
        reader.feed(event)
    text, usage = reader.so_far()
    assert (text, usage.prompt) == ('Hel{"a"', 5)


def test_our_fake_servers_answer_as_the_sdk_expects() -> None:
    chat = pytest.importorskip("openai.types.chat", reason=NO_SDK)
    chat.ChatCompletion.model_validate(chat_reply(None, [("t", "f", {"a": 1})]))


def test_a_conversation_is_not_changed_by_sending_it() -> None:
    messages = conversation()
    wire.body(COMPATIBLE, request(messages=messages, system="S"), False)
    assert [message.role for message in messages] == [message.role for message in conversation()]
