"""Providers written in Sema: a function that takes the request as a map and returns a string or a map."""

from __future__ import annotations

from sema_runtime.llm.errors import api_error, error_text, is_cancelled, parse_error
from sema_runtime.llm.jsonable import is_map, is_sequence, to_json, to_sema
from sema_runtime.llm.messages import Message, Reply, Request, ToolCall, Usage, tokens
from sema_runtime.llm.providers import Provider
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import PolicyDenied
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def complete(provider: Provider, request: Request) -> Reply:
    """Returns the reply of the provider's function. Its errors become `API error: 0 - <text>` and are not retried."""
    value = called(provider.function, _request_map(request))
    if isinstance(value, str):
        return Reply(value, request.model, stop_reason="end_turn")
    if is_map(value):
        return _reply(value, request)
    raise parse_error("lisp provider must return a string or map with :content")


def called(function: Any, request: Map) -> Any:
    """Returns what a provider's function returns for a request. Raises ProviderError for what it throws, PolicyDenied
    for a nested call that was not allowed."""
    try:
        return function(request)
    except Exception as error:
        if is_cancelled(error) or isinstance(error, PolicyDenied):
            raise
        raise api_error(0, error_text(error), _place(error)) from error


def _place(error: BaseException) -> str | None:
    """Returns where the provider's function failed, and the hint of its error."""
    from sema_runtime.conditions.describe import describe

    shown = describe(error)
    if not shown.frames:
        return shown.hint
    frame = shown.frames[0]
    place = f"in {frame.name} at {frame.file}:{frame.line}:{frame.col}"
    return f"{place}; {shown.hint}" if shown.hint else place


def _request_map(request: Request) -> Map:
    """Returns the request as a map. Unset optional keys are left out; images are dropped."""
    entries: dict[Any, Any] = {
        keyword("model"): request.model,
        keyword("messages"): List([_message_map(message) for message in request.messages]),
        keyword("max-tokens"): request.max_tokens,
    }
    if request.temperature is not None:
        entries[keyword("temperature")] = request.temperature
    if request.system is not None:
        entries[keyword("system")] = request.system
    if request.tools:
        entries[keyword("tools")] = List(
            [
                to_sema({"name": tool.name, "description": tool.description, "parameters": tool.parameters})
                for tool in request.tools
            ]
        )
    return Map(entries)


def _message_map(message: Message) -> Map:
    return Map({keyword("role"): message.role, keyword("content"): message.content})


def _reply(value: Any, request: Request) -> Reply:
    usage = value.get("usage")
    return Reply(
        content=_text(value, "content", ""),
        model=_text(value, "model", request.model),
        usage=usage_of(usage),
        tool_calls=_calls(value.get("tool-calls")),
        stop_reason=_text(value, "stop-reason", "end_turn"),
        role=_text(value, "role", "assistant"),
    )


def usage_of(usage: Any) -> Usage:
    """Returns the counts in a :usage map; 0 for absent ones."""
    if not is_map(usage):
        return Usage()
    names = ("prompt-tokens", "completion-tokens", "cache-read-tokens", "cache-creation-tokens")
    return Usage(*(tokens(usage.get(name)) for name in names))


def _calls(calls: Any) -> list[ToolCall]:
    if not is_sequence(calls):
        return []
    tool_calls = []
    for call in calls:
        name = _text(call, "name", "") if is_map(call) else ""
        if not name:
            raise parse_error("lisp provider: a tool call needs a :name")
        arguments = to_json(call.get("arguments")) if "arguments" in call else {}
        signature = _text(call, "thought-signature", "") or None
        tool_calls.append(ToolCall(_text(call, "id", ""), name, arguments, signature))
    return tool_calls


def _text(value: Any, name: str, default: str) -> str:
    text = value.get(name)
    if isinstance(text, Keyword):
        return text.name
    return text if isinstance(text, str) else default
