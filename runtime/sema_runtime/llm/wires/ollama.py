"""Ollama's own chat wire (`/api/chat`); streams are one JSON object a line."""

from __future__ import annotations

import sys

from sema_runtime.llm.errors import api_error, config_error, parse_error
from sema_runtime.llm.messages import Image, Message, Reply, Request, ToolCall, Usage
from sema_runtime.llm.wires import common
from sema_runtime.llm.wires.common import (
    PDF,
    LineSplitter,
    arguments_of,
    arguments_text,
    calls_so_far,
    count,
    decode,
    picture_type,
)
from sema_runtime.llm.wires.native import strict
from sema_runtime.net.sse import Event
from sema_runtime.support.json_input import reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.llm.providers import Provider

splitter = LineSplitter


def url(provider: Provider, request: Request, stream: bool) -> str:
    return f"{provider.base_url.rstrip('/')}/api/chat"


def headers(provider: Provider) -> dict[str, str]:
    return {"Authorization": f"Bearer {provider.api_key}"} if provider.api_key else {}


def body(provider: Provider, request: Request, stream: bool) -> dict[str, Any]:
    """Returns the JSON body of a request whose model is resolved. Effort and JSON mode are ignored."""
    messages = [_message(message) for message in request.messages]
    if request.system is not None:
        messages.insert(0, {"role": "system", "content": request.system})
    options: dict[str, Any] = {"num_predict": request.max_tokens}
    if request.temperature is not None:
        options["temperature"] = request.temperature
    fields = {"model": request.model, "messages": messages, "stream": stream, "options": options}
    if request.answer_schema is not None:
        fields["format"] = strict(request.answer_schema)
    if request.tools:
        fields["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in request.tools
        ]
    return fields


def _message(message: Message) -> dict[str, Any]:
    fields: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.images:
        fields["images"] = [_picture(image) for image in message.images]
    if message.tool_calls:
        fields["tool_calls"] = [
            {"function": {"name": call.name, "arguments": call.arguments}} for call in message.tool_calls
        ]
    if message.role == "tool" and message.tool_name:
        fields["tool_name"] = message.tool_name
    return fields


def _picture(image: Image) -> str:
    if picture_type(image) == PDF:
        raise config_error("Ollama takes no PDF files", hint="make a picture of the page, or send its text")
    return image.base64()


def learn(provider: Provider, request: Request, text: str) -> bool:
    """Returns False: this wire learns nothing from a 400."""
    return False


def parse(text: str, request: Request) -> Reply:
    """Returns a whole reply. Raises a parse error for a reply without message, an API error for an error."""
    value = decode(text)
    message = value.get("message")
    if value.get("error"):
        raise api_error(200, str(value["error"]))
    if not isinstance(message, dict):
        raise parse_error("no message in response")
    calls = _calls(message, calls_so_far(request))
    return Reply(
        content=message.get("content") or "",
        model=value.get("model") or request.model,
        usage=usage_in(value),
        tool_calls=calls,
        stop_reason=_stop(value, calls),
    )


def _stop(value: dict[str, Any], calls: list[ToolCall]) -> str:
    return "tool_use" if calls else value.get("done_reason") or "stop"


def _calls(message: dict[str, Any], first: int) -> list[ToolCall]:
    functions = [call.get("function") or {} for call in message.get("tool_calls") or []]
    return [
        ToolCall(f"ollama-call-{index}", function.get("name") or "", arguments_of(function.get("arguments")))
        for index, function in enumerate(functions, first)
    ]


def usage_in(value: dict[str, Any]) -> Usage:
    return Usage(count(value, "prompt_eval_count"), count(value, "eval_count"))


class StreamReader(common.StreamReader):
    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._first_call = calls_so_far(request)
        self._calls: list[ToolCall] = []
        self._last: dict[str, Any] = {}

    def feed(self, event: Event) -> str:
        """Returns the text that this line adds."""
        try:
            value = reply(event.data)
        except ValueError:
            print(f"ollama: skipped a line that is not JSON: {event.data[:80]!r}", file=sys.stderr)
            return ""
        if value.get("error"):
            raise api_error(200, str(value["error"]))
        message = value.get("message") or {}
        if "tool_calls" in message:
            self._calls += _calls(message, self._first_call + len(self._calls))
        if value.get("done"):
            self.done = True
            self._last, self._usage = value, usage_in(value)
            self._model = value.get("model") or self._model
        text = message.get("content")
        if not isinstance(text, str):
            return ""
        self._text.append(text)
        return text

    def _arguments(self) -> list[str]:
        return [arguments_text(call.arguments) for call in self._calls]

    def reply(self) -> Reply:
        """Returns the whole reply. Raises a network error when the stream ended before it was complete."""
        self._require(self.done)
        return self._whole(self._calls, _stop(self._last, self._calls))
