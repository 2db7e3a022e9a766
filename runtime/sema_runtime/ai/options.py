"""The options of calls, for type checkers, and their conversion to Sema's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict

from sema_runtime.values.atoms import keyword
from sema_runtime.values.maps import Map

SECONDS = ("timeout",)  # milliseconds in Sema


class Observed(TypedDict, total=False):
    """For traces and the usage ledger; providers don't see them."""

    tags: Sequence[str]
    metadata: Mapping[str, str]
    conversation_id: str
    session_id: str
    user_id: str


class BatchOptions(TypedDict, total=False):
    """model: instead of the provider's default. max_tokens: of the answer, 4096 by default."""

    model: str
    max_tokens: int
    temperature: float
    system: str


class StreamOptions(BatchOptions, Observed, total=False):
    """Of a streamed call."""


class CallOptions(StreamOptions, total=False):
    """timeout: seconds for the whole reply, 120 by default."""

    reasoning_effort: Literal["low", "medium", "high", "xhigh", "max", "none", "minimal"]
    timeout: float


class ChatOptions(CallOptions, total=False):
    """tools: Python functions with annotations, or tools. parallel_tools: how many calls of one turn run at once, True
    for all. on_tool_call: told of starts and ends. mode: "native" holds arguments to their schema at the provider."""

    tools: Sequence[Any]
    max_tool_rounds: int
    parallel_tools: int | bool
    on_tool_call: Callable[[ToolEvent], Any]
    mode: Literal["native"]


class ToolEvent(TypedDict, total=False):
    """What `on_tool_call` receives when a tool starts and when it ends.

    event: "start", or "end" with result (its first 200 characters), error and duration_ms.
    """

    event: Literal["start", "end"]
    tool: str
    args: dict[str, Any]
    result: str
    error: bool
    duration_ms: int


class ExtractOptions(TypedDict, total=False):
    """retries: how often to ask again after an answer that breaks the schema, 2 by default. mode: "native" has the
    provider hold the model to the schema."""

    model: str
    retries: int
    mode: Literal["native"]


class ModelOption(TypedDict, total=False):
    model: str


class RunOptions(Observed, total=False):
    """history: the messages of an earlier run. conversation: that of an earlier run, texts only. memory: a thread of
    `memory(...)`. on_text: gets the answer piece by piece. on_partial: gets what there is when the run fails."""

    history: Sequence[Mapping[str, Any]]
    conversation: Any
    memory: Any
    reasoning_effort: Literal["low", "medium", "high", "xhigh", "max", "none", "minimal"]
    parallel_tools: int | bool
    on_text: Callable[[str], Any]
    on_tool_call: Callable[[ToolEvent], Any]
    on_partial: Callable[[Any], Any]
    mode: Literal["native"]


def sema_options(options: Mapping[str, Any], known: Any, function: str) -> Map:
    """Returns options as a Sema map. known: the TypedDict of valid options. Raises TypeError for other names."""
    entries: dict[Any, Any] = {}
    for name, value in options.items():
        if name not in known.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'")
        if value is not None:
            entries[keyword(name.replace("_", "-"))] = _sema_value(name, value)
    return Map(entries)


def _sema_value(name: str, value: Any) -> Any:
    if name in SECONDS:
        return max(1, round(value * 1000))
    if name == "on_tool_call":
        return lambda event: _finished(value(tool_event(event)))
    if name == "mode":
        return keyword(value)
    if name == "metadata":
        return Map({keyword(key): entry for key, entry in value.items()})
    if callable(value):
        return lambda *args: _finished(value(*args))
    return list(value) if name in ("tags", "tools") else value


def _finished(result: Any) -> Any:
    """Returns the result of a callback; awaits that of an async one."""
    from sema_runtime.llm.tools.tool import awaited

    return awaited(result)


def tool_event(event: Any) -> ToolEvent:
    from sema_runtime.llm.jsonable import to_json

    plain = to_json(event)
    return {name.replace("-", "_"): value for name, value in plain.items()}  # type: ignore[return-value]
