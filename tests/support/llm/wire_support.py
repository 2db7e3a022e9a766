"""What the tests of the wires share: one conversation with everything in it, and readers of replies."""

from __future__ import annotations

import json
from typing import Any

from sema_runtime.llm.messages import Image, Message, Reply, Request, ToolCall, ToolSchema
from sema_runtime.llm.providers import Provider, preset_provider

OFFICIAL = Provider("openai", "openai", "https://api.openai.com/v1", "gpt-5.5", "k", True)
COMPATIBLE = Provider("local", "openai", "http://localhost:1/v1", "m", "k")
CLAUDE = preset_provider("anthropic", "k")
GEMINI = preset_provider("gemini", "k")
OLLAMA = preset_provider("ollama", "")
PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
OPTIONAL = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "line": {"type": "integer"}},
    "required": ["path"],
}
PIXEL = Image("image/png", b"\x89PNG\r\n")
PAPER = Image("application/pdf", b"%PDF-1.7")
JUNK = Image("", b"junk")


def conversation(signature: str | None = None) -> list[Message]:
    """System text, a picture, an assistant's two calls, their results, an answer, a question."""
    calls = (ToolCall("t1", "read-file", {"path": "a"}, signature), ToolCall("t2", "read-file", {"path": "b"}))
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
    tools = options.pop("tools", [ToolSchema("read-file", "Reads", PATH)])
    return Request(options.pop("messages", conversation()), model=options.pop("model", "m"), tools=tools, **options)


def sse(*events: dict[str, Any] | str) -> bytes:
    return b"".join(b"data: " + (e if isinstance(e, str) else json.dumps(e)).encode() + b"\n\n" for e in events)


def lines(*values: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def read(wire: Any, data: bytes) -> tuple[list[str], Reply]:
    """(pieces of text, reply) of a stream's bytes."""
    reader = wire.StreamReader(request())
    splitter = wire.splitter()
    texts = [reader.feed(event) for event in [*splitter.feed(data), *splitter.close()]]
    return [text for text in texts if text], reader.reply()
