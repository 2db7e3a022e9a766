"""Anthropic's messages wire: pure functions from Request to body and from reply to Reply."""

from __future__ import annotations

from sema_runtime.llm.errors import ProviderError, parse_error, rate_limited
from sema_runtime.llm.messages import Image, Message, Reply, Request, ToolCall, ToolSchema, Usage
from sema_runtime.llm.wires import common
from sema_runtime.llm.wires.common import (
    PDF,
    EventSplitter,
    arguments_of,
    count,
    decode,
    inner_error,
    picture_type,
    turns,
)
from sema_runtime.llm.wires.native import is_open, strict
from sema_runtime.net.sse import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.llm.providers import Provider

VERSION = "2023-06-01"
THINKING_BUDGETS = {"low": 1024, "medium": 4096, "high": 12000, "xhigh": 24000, "max": 24000}
STREAM_STATUS = {"rate_limit_error": 429, "api_error": 500, "overloaded_error": 529, "authentication_error": 401}
splitter = EventSplitter


_no_temperature: set[str] = set()  # models that refused a temperature
_adaptive: set[str] = set()  # models that refused a thinking budget; they take an effort instead


def url(provider: Provider, request: Request, stream: bool) -> str:
    return provider.base_url


def headers(provider: Provider) -> dict[str, str]:
    return {"x-api-key": provider.api_key, "anthropic-version": VERSION}


def body(provider: Provider, request: Request, stream: bool) -> dict[str, Any]:
    """Returns the JSON body of a request whose model is resolved."""
    fields: dict[str, Any] = {
        "model": request.model,
        "messages": turns(request.messages, "content", _result, _message),
        "max_tokens": request.max_tokens,
    }
    effort = (request.reasoning_effort or "").lower()
    output: dict[str, Any] = {}
    if effort in THINKING_BUDGETS:
        fields["max_tokens"] += THINKING_BUDGETS[effort]
        if request.model in _adaptive:
            fields["thinking"] = {"type": "adaptive"}
            output["effort"] = effort
        else:
            fields["thinking"] = {"type": "enabled", "budget_tokens": THINKING_BUDGETS[effort]}
    elif request.temperature is not None and request.model not in _no_temperature:
        fields["temperature"] = request.temperature
    system = request.system_text()
    if system:
        fields["system"] = system
    if request.tools:
        fields["tools"] = [_tool(tool, request.strict_tools) for tool in request.tools]
    if request.answer_schema is not None:
        output["format"] = {"type": "json_schema", "schema": strict(request.answer_schema)}
    if output:
        fields["output_config"] = output
    if stream:
        fields["stream"] = True
    return fields


def _tool(tool: ToolSchema, strict_arguments: bool) -> dict[str, Any]:
    """strict_arguments: the model's arguments must follow the schema, if strict tools can express it."""
    fields: dict[str, Any] = {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
    if strict_arguments and not is_open(tool.parameters):
        fields["input_schema"] = strict(tool.parameters)
        fields["strict"] = True
    return fields


def _result(message: Message) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": message.tool_call_id or "", "content": message.content}


def _message(message: Message) -> dict[str, Any]:
    blocks = [_picture(image) for image in message.images]
    if not blocks and not message.tool_calls:
        return {"role": message.role, "content": message.content}
    if message.content:
        blocks.append({"type": "text", "text": message.content})
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in message.tool_calls
    ]
    return {"role": message.role, "content": blocks}


def _picture(image: Image) -> dict[str, Any]:
    kind = picture_type(image)
    source = {"type": "base64", "media_type": kind, "data": image.base64()}
    return {"type": "document" if kind == PDF else "image", "source": source}


def learn(provider: Provider, request: Request, text: str) -> bool:
    """Learns from a 400 reply what a newer model refuses. Returns whether the next attempt differs."""
    before = body(provider, request, False)
    low = text.lower()
    if "temperature" in low:
        _no_temperature.add(request.model)
    if "thinking" in low and ("budget_tokens" in low or "adaptive" in low or "not supported" in low):
        _adaptive.add(request.model)
    return body(provider, request, False) != before


def parse(text: str, request: Request) -> Reply:
    """Returns a whole reply. Raises a parse error for a reply without content, an API error for an error."""
    value = decode(text)
    blocks = value.get("content")
    if value.get("error") and not blocks:
        raise _inner_error(value["error"])
    if not isinstance(blocks, list):
        raise parse_error("no content in response")
    return Reply(
        content="\n".join(block.get("text") or "" for block in blocks if block.get("type") == "text"),
        model=value.get("model") or request.model,
        usage=usage_in(value),
        tool_calls=[
            ToolCall(block.get("id") or "", block.get("name") or "", arguments_of(block.get("input")))
            for block in blocks
            if block.get("type") == "tool_use"
        ],
        stop_reason=value.get("stop_reason"),
    )


def usage_in(value: dict[str, Any]) -> Usage:
    """Returns the usage in a reply or in an event of a stream."""
    usage = value.get("usage")
    return Usage(
        count(usage, "input_tokens"),
        count(usage, "output_tokens"),
        count(usage, "cache_read_input_tokens"),
        count(usage, "cache_creation_input_tokens"),
    )


class StreamReader(common.StreamReader):
    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._calls: dict[int, dict[str, str]] = {}
        self._inputs: dict[int, Any] = {}  # arguments of calls that come in one piece
        self._stop: str | None = None

    def feed(self, event: Event) -> str:
        """Returns the text that this event adds."""
        value = decode(event.data)
        kind = value.get("type")
        if kind == "content_block_delta":
            return self._delta(value.get("index") or 0, value.get("delta") or {})
        if kind == "content_block_start":
            block = value.get("content_block") or {}
            if block.get("type") == "tool_use":
                self._inputs[value.get("index") or 0] = block.get("input")
                self._calls[value.get("index") or 0] = {
                    "id": block.get("id") or "",
                    "name": block.get("name") or "",
                    "json": "",
                }
        elif kind == "message_start":
            message = value.get("message") or {}
            self._model = message.get("model") or self._model
            self._usage = usage_in(message)
        elif kind == "message_delta":
            self._stop = (value.get("delta") or {}).get("stop_reason") or self._stop
            self._usage = self._usage.at_least(usage_in(value))  # totals; absent ones stay as at the start
        elif kind == "message_stop":
            self.done = True
        elif kind == "error":
            raise _inner_error(value.get("error") or {})
        return ""

    def _delta(self, index: int, delta: dict[str, Any]) -> str:
        if index in self._calls:
            self._calls[index]["json"] += delta.get("partial_json") or ""
            return ""
        text = delta.get("text")
        if not isinstance(text, str):
            return ""
        self._text.append(text)
        return text

    def _arguments(self) -> list[str]:
        return [call["json"] for call in self._calls.values()]

    def reply(self) -> Reply:
        """Returns the whole reply. Raises a network error when the stream ended before it was complete."""
        self._require(self.done or self._stop is not None)
        calls = [
            ToolCall(call["id"], call["name"], arguments_of(call["json"] or self._inputs[index]))
            for index, call in sorted(self._calls.items())
        ]
        return self._whole(calls, self._stop)


def _inner_error(error: Any) -> ProviderError:
    kind = error.get("type") if isinstance(error, dict) else None
    status = STREAM_STATUS.get(str(kind), 200)
    return rate_limited() if status == 429 else inner_error(error, status)
