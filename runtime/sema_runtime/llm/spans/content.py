"""Prompts, replies, arguments and results as attributes: only where the user has asked for content to be recorded."""

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
LONGEST_HISTORY = 65536  # bytes of all texts of an attribute; the newest messages are the ones that are kept
CUT = "…[truncated]"


def cut(given: str, longest: int = LONGEST_TEXT) -> str:
    """A text, cut after at most that many bytes, never inside a character."""
    if len(given) * 4 <= longest:
        return given
    data = given.encode("utf-8", "replace")
    return given if len(data) <= longest else data[:longest].decode("utf-8", "ignore") + CUT


def text(value: str) -> str:
    """A text as an attribute: cut, and without keys."""
    return clean(cut(value))


def messages_json(messages: Sequence[Message]) -> str:
    """[{"role", "parts": [{"type": "text", "content"}]}]; tool calls are parts of their own behind the text."""
    left = LONGEST_HISTORY
    made = []
    for message in reversed(messages):
        kept = cut(message.content) if left > 0 else CUT
        left -= len(kept.encode("utf-8", "replace"))
        made.append(_entry(message.role, kept, message.tool_calls if left > 0 else ()))
    return _dumped(made[::-1])


def reply_json(reply: Reply) -> str:
    return _dumped([_entry("assistant", cut(reply.content), reply.tool_calls)])


def _entry(role: str, said: str, calls: Sequence[ToolCall]) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"type": "text", "content": said}]
    parts += ({"type": "tool_call", "id": one.id, "name": one.name, "arguments": _short(one)} for one in calls)
    return {"role": role, "parts": parts}


def _short(call: ToolCall) -> Any:
    """A tool call's arguments; as cut JSON text where they are long."""
    dumped = _dumped(call.arguments)
    return call.arguments if len(dumped.encode("utf-8", "replace")) <= LONGEST_TEXT else cut(dumped)


def arguments(call: ToolCall) -> str:
    """A tool call's arguments as JSON text."""
    return clean(cut(_dumped(call.arguments)))


def clean(given: str) -> str:
    """A text without the keys this process knows of."""
    return redacted(given, known())


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def exchange(tracer: Tracer, span: Span, request: Request, reply: Reply | None) -> None:
    """What was sent and what came back."""
    secrets = known()
    asked = redacted(messages_json(request.messages), secrets)
    span.update({"gen_ai.input.messages": asked})
    if request.system is not None:
        instructions = _dumped([_entry("system", cut(request.system), ())])
        span.update({"gen_ai.system_instructions": redacted(instructions, secrets)})
    if reply is None:
        return
    answered = redacted(reply_json(reply), secrets)
    span.update({"gen_ai.output.messages": answered, **tracer.compat.exchange(asked, answered)})
    if span.outer is None and tracer.compat.active:
        span.update(tracer.compat.trace(text(question(request)), text(reply.content)))


def question(request: Request) -> str:
    """What a run begins with: the first text of the user."""
    return next((message.content for message in request.messages if message.role == "user"), "")


def payload(tracer: Tracer, call: Call, span: Span) -> None:
    """What was embedded (`texts`) or ranked: `query`, `documents`, `top`, and `results` as (index, score) pairs."""
    given: Any = call.payload
    compat, capture = tracer.compat, tracer.settings.capture
    if call.operation == "embeddings":
        if capture:
            span.update(compat.embedded([text(one) for one in given.texts[:MAX_TEXTS]]))
        return
    span.update({"sema.retrieval.top_k": given.top})
    span.update(compat.reranker(call.model, given.top, text(given.query) if capture else None))
    documents = [text(one) if capture else "" for one in given.documents]
    span.update(compat.ranked("input_documents", [(one, None) for one in documents], capture))
    best = [(documents[index], score) for index, score in given.results]
    span.update(compat.ranked("output_documents", best, capture))
