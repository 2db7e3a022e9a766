"""The Ollama wire: bodies, replies, streams of lines."""

from __future__ import annotations

import json
from typing import Any

import pytest
from llm_support import problems
from wire_support import OLLAMA, PAPER, lines, read, request

from sema_runtime.llm.errors import ProviderError
from sema_runtime.llm.messages import Message, ToolCall
from sema_runtime.llm.wires import ollama as wire


def chunk(content: str = "", done: bool = False, **message: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"model": "gemma4", "message": {"role": "assistant", "content": content, **message}}
    end = {"done_reason": "stop", "prompt_eval_count": 5, "eval_count": 6}
    return {**made, "done": done, **(end if done else {})}


CALLS = {"tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}, {"function": {"name": "g"}}]}
MADE = [ToolCall("ollama-call-2", "f", {"x": 1}), ToolCall("ollama-call-3", "g", {})]


@pytest.mark.parametrize("options", [{}, {"temperature": 0.2, "system": "S"}], ids=["plain", "settings"])
def test_bodies_satisfy_the_sdk_types(options: dict[str, Any]) -> None:
    body = wire.body(OLLAMA, request(**options), False)
    assert problems("ollama", json.loads(json.dumps(body))) == []


def test_body() -> None:
    asked = request(system="S", temperature=0.5, json_mode=True, reasoning_effort="high")
    body = wire.body(OLLAMA, asked, True)
    assert sorted(body) == ["messages", "model", "options", "stream", "tools"]
    assert body["options"] == {"num_predict": 4096, "temperature": 0.5}
    assert [m["role"] for m in body["messages"]][:3] == ["system", "system", "user"]
    assert body["messages"][2] == {"role": "user", "content": "Look", "images": ["iVBORw0K"]}
    function = {"function": {"name": "read-file", "arguments": {"path": "a"}}}
    assert body["messages"][3]["tool_calls"][0] == function
    assert body["messages"][4] == {"role": "tool", "content": "A", "tool_name": "read-file"}


def test_ollama_takes_no_pdf() -> None:
    with pytest.raises(ProviderError, match="Config error: Ollama takes no PDF files"):
        wire.body(OLLAMA, request(messages=[Message("user", "Read", images=(PAPER,))]), False)


def test_reply() -> None:
    reply = wire.parse(json.dumps(chunk("Hello", done=True, **CALLS)), request())
    assert (reply.content, reply.tool_calls, reply.stop_reason) == ("Hello", MADE, "tool_use")
    assert (reply.usage.prompt, reply.usage.completion, reply.model) == (5, 6, "gemma4")


def test_why_a_reply_ended() -> None:
    value = {**chunk("x", done=True), "done_reason": "length"}
    assert wire.parse(json.dumps(value), request()).stop_reason == "length"


@pytest.mark.parametrize("text", ["<html>", "{}", '{"message": 1}'])
def test_unreadable_reply(text: str) -> None:
    with pytest.raises(ProviderError, match="Parse error: "):
        wire.parse(text, request())


@pytest.mark.parametrize("in_the_last", [True, False], ids=["in the last line", "before"])
def test_stream(in_the_last: bool) -> None:
    """Older servers send calls in the last line, newer ones before it."""
    end = [chunk(done=True, **CALLS)] if in_the_last else [chunk(**CALLS), chunk(done=True)]
    texts, reply = read(wire, lines(chunk("He"), chunk("llo"), *end))
    assert texts == ["He", "llo"]
    assert (reply.tool_calls, reply.stop_reason) == (MADE, "tool_use")
    assert (reply.usage.prompt, reply.usage.completion) == (5, 6)


def test_a_bad_line_is_skipped_with_a_note(capsys: pytest.CaptureFixture[str]) -> None:
    texts, _ = read(wire, lines(chunk("a")) + b"{oops\n" + lines(chunk("b", done=True)))
    assert texts == ["a", "b"]
    assert "skipped a line that is not JSON: '{oops'" in capsys.readouterr().err


def test_a_stream_without_its_end_is_an_error() -> None:
    with pytest.raises(ProviderError, match="HTTP error: the stream ended before"):
        read(wire, lines(chunk("a")))


def test_the_last_line_may_lack_its_end() -> None:
    assert read(wire, lines(chunk("a", done=True)).rstrip())[0] == ["a"]


def test_an_error_inside_a_stream() -> None:
    with pytest.raises(ProviderError, match="API error: 200 - model runner has stopped"):
        read(wire, lines(chunk("a"), {"error": "model runner has stopped"}))
