"""Google's generateContent wire: pure functions from Request to body and from reply to Reply."""

from __future__ import annotations

from sema_runtime.llm.errors import api_error, config_error
from sema_runtime.llm.messages import Message, Reply, Request, ToolCall, Usage
from sema_runtime.llm.wires import common
from sema_runtime.llm.wires.common import (
    EventSplitter,
    arguments_of,
    arguments_text,
    calls_so_far,
    count,
    decode,
    inner_error,
    picture_type,
    turns,
)
from sema_runtime.llm.wires.native import strict
from sema_runtime.net.sse import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.llm.providers import Provider

THINKING_BUDGETS = {"low": 1024, "medium": 8192, "high": 24576, "xhigh": 24576, "max": 24576}
splitter = EventSplitter

_own_thinking: set[str] = set()  # models that refused a thinking budget


def url(provider: Provider, request: Request, stream: bool) -> str:
    """Returns the URL. Raises a configuration error for a model name that would change the path."""
    model = request.model
    if not model or ".." in model or any(char in "/?#:" or not char.isprintable() for char in model):
        raise config_error(f"invalid model name: {model}")
    action = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return f"{provider.base_url.rstrip('/')}/models/{model}:{action}"


def headers(provider: Provider) -> dict[str, str]:
    return {"x-goog-api-key": provider.api_key}


def body(provider: Provider, request: Request, stream: bool) -> dict[str, Any]:
    """Returns the JSON body of a request whose model is resolved. JSON mode is ignored."""
    settings: dict[str, Any] = {"maxOutputTokens": request.max_tokens}
    if request.temperature is not None:
        settings["temperature"] = request.temperature
    if request.reasoning_effort is not None and request.model not in _own_thinking:
        settings["thinkingConfig"] = {"thinkingBudget": THINKING_BUDGETS.get(request.reasoning_effort.lower(), 0)}
    if request.answer_schema is not None:
        settings["responseMimeType"] = "application/json"
        settings["responseJsonSchema"] = strict(request.answer_schema)
    fields: dict[str, Any] = {
        "contents": turns(request.messages, "parts", _result, _turn),
        "generationConfig": settings,
    }
    system = request.system_text()
    if system:
        fields["systemInstruction"] = {"parts": [{"text": system}]}
    if request.tools:
        declarations = [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in request.tools
        ]
        fields["tools"] = [{"function_declarations": declarations}]
        if request.strict_tools:
            fields["toolConfig"] = {"functionCallingConfig": {"mode": "VALIDATED"}}
    return fields


def _result(message: Message) -> dict[str, Any]:
    return {"functionResponse": {"name": message.tool_name or "", "response": {"result": message.content}}}


def _turn(message: Message) -> dict[str, Any]:
    return {"role": "model" if message.role == "assistant" else "user", "parts": _parts(message)}


def _parts(message: Message) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [
        {"inlineData": {"mimeType": picture_type(image), "data": image.base64()}} for image in message.images
    ]
    if message.content or not (parts or message.tool_calls):
        parts.append({"text": message.content})
    for call in message.tool_calls:
        part: dict[str, Any] = {"functionCall": {"name": call.name, "args": call.arguments}}
        if call.thought_signature is not None:
            part["thoughtSignature"] = call.thought_signature
        parts.append(part)
    return parts


def learn(provider: Provider, request: Request, text: str) -> bool:
    """Learns from a 400 reply that the model refuses a thinking budget. Returns whether the next attempt differs."""
    low = text.lower()
    if request.reasoning_effort is None or request.model in _own_thinking:
        return False
    if "thinking" not in low and "budget" not in low:
        return False
    _own_thinking.add(request.model)
    return True


def parse(text: str, request: Request) -> Reply:
    """Returns a whole reply. Raises an API error for an error, or when all tokens went into thinking."""
    value = decode(text)
    _check(value)
    candidate, parts = _candidate(value)
    content = "\n".join(part["text"] for part in parts if _is_text(part))
    calls = _calls(parts, calls_so_far(request))
    thoughts = count(value, "usageMetadata", "thoughtsTokenCount")
    if not content and not calls and (candidate.get("finishReason") == "MAX_TOKENS" or thoughts > 0):
        finish = candidate.get("finishReason") or "unknown"
        raise api_error(
            200,
            f"the reply is empty (finishReason {finish}, {thoughts} tokens of thinking): "
            "raise :max-tokens or lower :reasoning-effort",
        )
    return Reply(
        content, value.get("modelVersion") or request.model, usage_in(value), calls, "tool_use" if calls else "stop"
    )


def _check(value: dict[str, Any]) -> None:
    """Raises the error inside a reply or a stream that began as a success."""
    error = value.get("error")
    if error or error == {}:
        raise inner_error(error, count(error, "code") or 200)


def _candidate(value: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns the first candidate and its parts."""
    candidates = value.get("candidates") or [{}]
    return candidates[0], (candidates[0].get("content") or {}).get("parts") or []


def _is_text(part: dict[str, Any]) -> bool:
    return isinstance(part.get("text"), str) and not part.get("thought")


def _calls(parts: list[dict[str, Any]], first: int) -> list[ToolCall]:
    call_parts = [part for part in parts if isinstance(part.get("functionCall"), dict)]
    return [
        ToolCall(
            f"gemini-call-{index}",
            part["functionCall"].get("name") or "",
            arguments_of(part["functionCall"].get("args")),
            part.get("thoughtSignature"),
        )
        for index, part in enumerate(call_parts, first)
    ]


def usage_in(value: dict[str, Any]) -> Usage:
    """Returns the usage in a reply. Thinking is counted apart from the answer, at the same price."""
    used = value.get("usageMetadata")
    prompt = count(used, "promptTokenCount")
    completion = count(used, "candidatesTokenCount") + count(used, "thoughtsTokenCount")
    return Usage(
        prompt,
        max(completion, count(used, "totalTokenCount") - prompt),
        count(used, "cachedContentTokenCount"),
    )


class StreamReader(common.StreamReader):
    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._first_call = calls_so_far(request)
        self._calls: list[ToolCall] = []
        self._finished = False

    def feed(self, event: Event) -> str:
        """Returns the text that this event adds."""
        value = decode(event.data)
        _check(value)
        candidate, parts = _candidate(value)
        if candidate.get("finishReason") or (value.get("promptFeedback") or {}).get("blockReason"):
            self._finished = True
        self._model = value.get("modelVersion") or self._model
        if "usageMetadata" in value:
            self._usage = self._usage.at_least(usage_in(value))
        if not parts:
            return ""
        self._calls += _calls(parts, self._first_call + len(self._calls))
        text = "".join([part["text"] for part in parts if _is_text(part)])
        self._text.append(text)
        return text

    def _arguments(self) -> list[str]:
        return [arguments_text(call.arguments) for call in self._calls]

    def reply(self) -> Reply:
        """Returns the whole reply. Raises a network error when the stream ended before it was complete."""
        self._require(self._finished)
        return self._whole(self._calls, "tool_use" if self._calls else "stop")
