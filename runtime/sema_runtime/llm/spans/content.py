"""Prompts, replies, arguments and results as attributes, if the user asked for content."""

from __future__ import annotations

import json

from sema_runtime.support.secrets import known, redacted
from sema_runtime.telemetry.compat import MAX_TEXTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from sema_runtime.llm.calls import Call
    from sema_runtime.llm.messages import Message, Reply, Request, ToolCall
    from sema_runtime.telemetry.spans import Span
    from sema_runtime.telemetry.tracing import Tracer

LONGEST_TEXT = 8192  # bytes of one text
LONGEST_HISTORY = 65536  # bytes of all texts of an attribute; the newest messages are kept
CUT = "…[truncated]"


def cut(text: str, longest: int = LONGEST_TEXT) -> str:
    """Returns a text cut after at most that many bytes, never inside a character."""
    if len(text) * 4 <= longest:
        return text
    data = text.encode("utf-8", "replace")
    return text if len(data) <= longest else data[:longest].decode("utf-8", "ignore") + CUT


def text(value: str) -> str:
    """Returns a text as an attribute: cut, and without keys."""
    return clean(cut(value))


def messages_json(messages: Sequence[Message]) -> str:
    """Returns [{"role", "parts": [{"type": "text", "content"}]}] as JSON; tool calls are parts after the text."""
    left = LONGEST_HISTORY
    entries = []
    for message in reversed(messages):
        kept = cut(message.content) if left > 0 else CUT
        left -= len(kept.encode("utf-8", "replace"))
        entries.append(_entry(message.role, kept, message.tool_calls if left > 0 else ()))
    return _dumped(entries[::-1])


def reply_json(reply: Reply) -> str:
    return _dumped([_entry("assistant", cut(reply.content), reply.tool_calls)])


def _entry(role: str, content: str, calls: Sequence[ToolCall]) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"type": "text", "content": content}]
    parts += ({"type": "tool_call", "id": call.id, "name": call.name, "arguments": _short(call)} for call in calls)
    return {"role": role, "parts": parts}


def _short(call: ToolCall) -> Any:
    """Returns a tool call's arguments; long ones as cut JSON text."""
    dumped = _dumped(call.arguments)
    return call.arguments if len(dumped.encode("utf-8", "replace")) <= LONGEST_TEXT else cut(dumped)


def arguments(call: ToolCall) -> str:
    """Returns a tool call's arguments as JSON text."""
    return clean(cut(_dumped(call.arguments)))


def clean(text: str) -> str:
    """Returns a text without the secrets of this process."""
    return redacted(text, known())


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def exchange(tracer: Tracer, span: Span, request: Request, reply: Reply | None) -> None:
    """Adds the request and the reply to a span."""
    secrets = known()
    sent = redacted(messages_json(request.messages), secrets)
    span.update({"gen_ai.input.messages": sent})
    if request.system is not None:
        instructions = _dumped([_entry("system", cut(request.system), ())])
        span.update({"gen_ai.system_instructions": redacted(instructions, secrets)})
    if reply is None:
        return
    received = redacted(reply_json(reply), secrets)
    span.update({"gen_ai.output.messages": received, **tracer.compat.exchange(sent, received)})
    if span.outer is None and tracer.compat.active:
        span.update(tracer.compat.trace(text(question(request)), text(reply.content)))


def question(request: Request) -> str:
    """Returns what a run begins with: the first text of the user."""
    return next((message.content for message in request.messages if message.role == "user"), "")


def payload(tracer: Tracer, call: Call, span: Span) -> None:
    """Adds what was embedded (`texts`) or ranked (`query`, `documents`, `top`, `results`) to a span."""
    sent: Any = call.payload
    compat, capture = tracer.compat, tracer.settings.capture
    if call.operation == "embeddings":
        if capture:
            span.update(compat.embedded([text(item) for item in sent.texts[:MAX_TEXTS]]))
        return
    span.update({"sema.retrieval.top_k": sent.top})
    span.update(compat.reranker(call.model, sent.top, text(sent.query) if capture else None))
    documents = [text(document) if capture else "" for document in sent.documents]
    span.update(compat.ranked("input_documents", [(document, None) for document in documents], capture))
    best = [(documents[index], score) for index, score in sent.results]
    span.update(compat.ranked("output_documents", best, capture))
