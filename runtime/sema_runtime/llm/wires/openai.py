"""The OpenAI chat-completions wire, which most other providers speak too.

Pure functions from Request to body and from reply to Reply. Servers differ: the official endpoints require
`max_completion_tokens` and refuse some options for some models, which is learned from their 400 replies.
"""

from __future__ import annotations

import re

from sema_runtime.llm.errors import ProviderError, parse_error
from sema_runtime.llm.messages import Image, Message, Reply, Request, ToolCall, Usage
from sema_runtime.llm.wires import common
from sema_runtime.llm.wires.common import (
    PDF,
    EventSplitter,
    arguments_of,
    arguments_text,
    count,
    decode,
    inner_error,
    picture_type,
)
from sema_runtime.llm.wires.native import answer_format, function_schema
from sema_runtime.net.sse import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.llm.providers import Provider

OFFICIAL = ("api.openai.com", "openai.azure.com", "cognitiveservices.azure.com")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
splitter = EventSplitter


class Quirks:
    """What a model of an official endpoint has refused."""

    def __init__(self) -> None:
        self.no_temperature = False
        self.no_effort_with_tools = False
        self.efforts: tuple[str, ...] = ()


_quirks: dict[str, Quirks] = {}


def url(provider: Provider, request: Request, stream: bool) -> str:
    return f"{provider.base_url.rstrip('/')}/chat/completions"


def headers(provider: Provider) -> dict[str, str]:
    return {"Authorization": f"Bearer {provider.api_key}"} if provider.api_key else {}


def body(provider: Provider, request: Request, stream: bool) -> dict[str, Any]:
    """Returns the JSON body of a request whose model is resolved."""
    official = _official(provider)
    quirks = _quirks.get(request.model) if official else None
    fields: dict[str, Any] = {"model": request.model, "messages": _messages(request, provider.name == "mistral")}
    fields["max_completion_tokens" if official else "max_tokens"] = request.max_tokens
    effort = _effort(request, quirks)
    if effort is not None:
        fields["reasoning_effort"] = effort
    if request.temperature is not None and not (official and _refuses_temperature(request.model, quirks)):
        fields["temperature"] = request.temperature
    if request.tools:
        fields["tools"] = [
            {"type": "function", "function": function_schema(tool, provider.name, request.strict_tools)}
            for tool in request.tools
        ]
    if stream:
        fields["stream"] = True
        if provider.stream_usage:
            fields["stream_options"] = {"include_usage": True}
    response_format = answer_format(request, provider.name)
    if response_format is not None:
        fields["response_format"] = response_format
    return fields


def _messages(request: Request, named_results: bool) -> list[dict[str, Any]]:
    messages = [_message(message, named_results) for message in request.messages]
    if request.system is not None:
        messages.insert(0, {"role": "system", "content": request.system})
    return messages


def _message(message: Message, named_results: bool) -> dict[str, Any]:
    if message.role == "tool" and message.tool_call_id is not None:
        result: dict[str, Any] = {"role": "tool", "content": message.content, "tool_call_id": message.tool_call_id}
        if named_results and message.tool_name:
            result["name"] = message.tool_name
        return result
    if message.tool_calls:
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": arguments_text(call.arguments)},
            }
            for call in message.tool_calls
        ]
        return {"role": "assistant", "content": message.content or None, "tool_calls": calls}
    if message.images:
        blocks = [_picture(image) for image in message.images]
        if message.content:
            blocks.append({"type": "text", "text": message.content})
        return {"role": message.role, "content": blocks}
    return {"role": message.role, "content": message.content}


def _picture(image: Image) -> dict[str, Any]:
    kind = picture_type(image)
    url = f"data:{kind};base64,{image.base64()}"
    if kind == PDF:
        return {"type": "file", "file": {"filename": "document.pdf", "file_data": url}}
    return {"type": "image_url", "image_url": {"url": url}}


# Official endpoints and what their models refuse


def _official(provider: Provider) -> bool:
    return any(host in provider.base_url for host in OFFICIAL)


def _refuses_temperature(model: str, quirks: Quirks | None) -> bool:
    if quirks is not None and quirks.no_temperature:
        return True
    return model.startswith(("o1", "o3", "o4")) or (model.startswith("gpt-5") and "chat" not in model)


def _effort(request: Request, quirks: Quirks | None) -> str | None:
    effort = request.reasoning_effort
    if quirks is None:
        return effort
    if quirks.no_effort_with_tools and request.tools:
        return "none"
    return _nearest(effort, quirks.efforts) if effort and quirks.efforts else effort


def _nearest(effort: str, supported: tuple[str, ...]) -> str:
    """Returns the supported tier closest to effort; of two equally close ones the higher."""
    if effort not in EFFORTS or effort in supported:
        return effort
    wanted = EFFORTS.index(effort)
    return min(supported, key=lambda tier: (abs(EFFORTS.index(tier) - wanted), -EFFORTS.index(tier)))


def learn(provider: Provider, request: Request, text: str) -> bool:
    """Learns from a 400 reply what the model refuses. Returns whether the next attempt differs."""
    if not _official(provider):
        return False
    before = body(provider, request, False)
    quirks = _quirks.setdefault(request.model, Quirks())
    low = text.lower()
    if "temperature" in low and any(s in low for s in ("not supported", "does not support", "unsupported")):
        quirks.no_temperature = True
    if "reasoning_effort" in low and "tool" in low and ("not supported" in low or "/v1/responses" in low):
        quirks.no_effort_with_tools = True
    elif "reasoning_effort" in low and "does not support" in low:
        named = re.findall(r"(?<!support )['\"`](\w+)['\"`]", low)  # the refused tier follows `does not support`
        quirks.efforts = tuple(tier for tier in EFFORTS if tier in named)
    return body(provider, request, False) != before


# Replies


def parse(text: str, request: Request) -> Reply:
    """Returns a whole reply. Raises a parse error for a reply without choices, an API error for an error."""
    value = decode(text)
    choices = value.get("choices")
    if value.get("error") and not choices:
        raise _inner_error(value["error"])
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise parse_error("no choices in response")
    message = choices[0].get("message") or {}
    calls = [
        ToolCall(str(call.get("id") or ""), function.get("name") or "", arguments_of(function.get("arguments")))
        for call in message.get("tool_calls") or []
        if isinstance(function := call.get("function"), dict)
    ]
    return Reply(
        content=_text(message.get("content")) or _text(message.get("refusal")),
        model=value.get("model") or request.model,
        usage=usage_in(value),
        tool_calls=calls,
        stop_reason=choices[0].get("finish_reason"),
    )


def _text(content: Any) -> str:
    """Returns the text of a message or a delta; Mistral's thinking models send a list of thoughts and texts."""
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def usage_in(value: dict[str, Any]) -> Usage:
    """Returns the usage in a reply. Some servers (xAI, Gemini's endpoint of this kind) count thinking in the total but
    not in the completion."""
    groq = value.get("x_groq")
    usage = value.get("usage") or (groq.get("usage") if isinstance(groq, dict) else None)
    prompt = count(usage, "prompt_tokens")
    return Usage(
        prompt,
        max(count(usage, "completion_tokens"), count(usage, "total_tokens") - prompt),
        count(usage, "prompt_tokens_details", "cached_tokens"),
        count(usage, "prompt_tokens_details", "cache_write_tokens"),
    )


class StreamReader(common.StreamReader):
    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._calls: dict[int, dict[str, str]] = {}
        self._stop: str | None = None

    def feed(self, event: Event) -> str:
        """Returns the text that this event adds."""
        if event.data.strip() == "[DONE]":
            self.done = True
            return ""
        value = decode(event.data)
        if value.get("error"):
            raise _inner_error(value["error"])
        self._model = value.get("model") or self._model
        if value.get("usage") or value.get("x_groq"):
            self._usage = self._usage.at_least(usage_in(value))
        choices = value.get("choices")
        if not choices or choices[0].get("index"):
            return ""
        self._stop = choices[0].get("finish_reason") or self._stop
        delta = choices[0].get("delta") or {}
        for call in delta.get("tool_calls") or []:
            self._add_call(call)
        text = delta.get("content")
        if not isinstance(text, str):
            text = _text(text) or _text(delta.get("refusal"))
        self._text.append(text)
        return text

    def _add_call(self, piece: dict[str, Any]) -> None:
        call = self._calls.setdefault(piece.get("index") or 0, {"id": "", "name": "", "arguments": ""})
        call["id"] = piece.get("id") or call["id"]
        function = piece.get("function") or {}
        call["name"] += function.get("name") or ""
        call["arguments"] += function.get("arguments") or ""

    def _arguments(self) -> list[str]:
        return [call["arguments"] for call in self._calls.values()]

    def reply(self) -> Reply:
        """Returns the whole reply. Raises a network error when the stream ended before it was complete."""
        self._require(self.done or self._stop is not None)
        calls = [
            ToolCall(call["id"], call["name"], arguments_of(call["arguments"]))
            for _, call in sorted(self._calls.items())
            if call["name"]
        ]
        return self._whole(calls, self._stop)


def _inner_error(error: Any) -> ProviderError:
    code = error.get("code") if isinstance(error, dict) else None
    return inner_error(error, code if isinstance(code, int) else 200)
