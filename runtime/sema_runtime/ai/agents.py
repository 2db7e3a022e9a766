"""Agents: instructions and tools. A run asks the model and calls the tools it requests, until it answers in text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sema_runtime.ai.conversations import BaseConversation
from sema_runtime.ai.options import RunOptions, sema_options
from sema_runtime.interop import to_sema
from sema_runtime.values.atoms import keyword
from sema_runtime.values.maps import Map


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a run. text: the last answer. messages: the history as plain data, which `json.dumps` takes and a
    later run continues (`history=`). conversation: the same without the tools."""

    text: str
    messages: list[dict[str, Any]]
    conversation: BaseConversation

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, kw_only=True)
class BaseAgent:
    """An agent: it asks a model, runs the tools that the model calls, and asks again until there is an answer.

    tools: Python functions with annotations, or tools. model: "" for the provider's default. max_turns: rounds of tool
    calls. parallel_tools: how many calls of one turn run at once, True for all.
    """

    system: str = ""
    tools: Sequence[Any] = ()
    model: str = ""
    max_turns: int = 10
    parallel_tools: int | bool = 1
    name: str = ""
    _value: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        from sema_runtime.lib.llm.agents import make_agent
        from sema_runtime.llm.tools.conversion import checked_tool

        options = {
            keyword("system"): self.system,
            keyword("tools"): tuple(map(checked_tool, self.tools)),
            keyword("model"): self.model,
            keyword("max-turns"): self.max_turns,
            keyword("parallel-tools"): self.parallel_tools,
        }
        object.__setattr__(self, "_value", make_agent(self.name, Map(options)))

    def _run(self, text: str, options: RunOptions, conversation: type[BaseConversation]) -> Run:
        from sema_runtime.lib.llm.agents import agent_run

        own_options: dict[str, Any] = {**options}
        on_partial = own_options.pop("on_partial", None)
        history, earlier, memory = (
            own_options.pop("history", None),
            own_options.pop("conversation", None),
            own_options.pop("memory", None),
        )
        options_map = sema_options(own_options, RunOptions, "run")
        entries = [(keyword("messages"), to_sema([_renamed(message, "_", "-") for message in history or ()]))]
        if isinstance(earlier, BaseConversation):
            entries.append((keyword("session"), earlier._value))
        if memory is not None:
            entries.append((keyword("memory"), memory.handle))
        if on_partial is not None:
            entries.append((keyword("on-partial"), lambda result: on_partial(_run_of(result, conversation))))
        for key, value in entries:
            options_map = options_map.assoc(key, value)
        return _run_of(agent_run(self._value, text, options_map), conversation)

    def _streamed(self, text: str, options: RunOptions, conversation: type[BaseConversation]) -> Callable[..., Run]:
        """Returns the work of a stream of the run."""
        return lambda push: self._run(text, {**options, "on_text": push}, conversation)


def _run_of(result: Any, conversation: type[BaseConversation]) -> Run:
    from sema_runtime.interop import to_python

    history = [_renamed(message, "-", "_") for message in to_python(result["messages"])]
    return Run(result["response"], history, conversation.of(result["session"]))


def _renamed(message: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    """Returns a message with the keys of Python or of Sema, in its calls too: tool_calls, tool-calls."""
    renamed = {name.replace(old, new): value for name, value in message.items()}
    calls = f"tool{new}calls"
    if calls in renamed:
        renamed[calls] = [{name.replace(old, new): value for name, value in call.items()} for call in renamed[calls]]
    return renamed
