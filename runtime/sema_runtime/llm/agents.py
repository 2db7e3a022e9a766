"""The tool loop, shared by `agent/run` and `llm/chat` with tools, and agents."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from sema_runtime.llm.lisp_provider import error_text, is_cancelled
from sema_runtime.llm.messages import Conversation, Message, Reply, Request, ToolCall
from sema_runtime.llm.tools import Tool, arguments_map
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import LlmError
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_ERRORS_IN_A_ROW = 5
PREVIEW = 200  # characters of a result shown to :on-tool-call
DEFAULT_TURNS = 10


@dataclass(slots=True, frozen=True, eq=False)
class Agent:
    """model: "" for the provider's default. max_turns: rounds of the tool loop."""

    name: str
    system: str = ""
    tools: tuple[Tool, ...] = ()
    model: str = ""
    max_turns: int = DEFAULT_TURNS

    type_name = "agent"

    def sema_text(self) -> str:
        return f"<agent {self.name}>"


@dataclass(slots=True)
class ToolLoop:
    """One run: asks, calls the tools asked for, asks again. The messages of request grow as it goes.

    on_tool_call, on_text: callbacks or None; with on_text every round is streamed.
    """

    request: Request
    tools: dict[str, Tool]
    max_rounds: int
    on_tool_call: Callable[[Any], Any] | None = None
    on_text: Callable[[str], Any] | None = None
    text: str = ""
    errors_in_a_row: int = field(default=0)

    def run(self) -> str:
        """The last assistant text, "" without one. Raises LlmError: the provider's, or after too many tool errors."""
        messages = self.request.messages
        self.request.tools = [tool.schema() for tool in self.tools.values()]
        for _ in range(self.max_rounds):
            reply = self._ask()
            self.text = reply.content
            if not reply.tool_calls:
                if reply.content:
                    messages.append(Message("assistant", reply.content))
                break
            messages.append(Message("assistant", reply.content, tool_calls=tuple(reply.tool_calls)))
            for call in reply.tool_calls:
                result = self._call(call)
                messages.append(Message("tool", result, tool_call_id=call.id, tool_name=call.name))
        return self.text

    def _ask(self) -> Reply:
        from sema_runtime.llm import complete as layers

        if self.on_text is None:
            return layers.complete(self.request)
        return layers.stream(self.request, self.on_text)

    def _call(self, call: ToolCall) -> str:
        """The text to send back: the tool's result, or what went wrong."""
        arguments = arguments_map(call)
        self._tell({"event": "start", "tool": call.name, "args": arguments})
        begun = time.monotonic()
        error: Exception | None = None
        try:
            tool = self.tools.get(call.name)
            if tool is None:
                raise LlmError(f"tool not found: {call.name}")
            result = tool.call(call)
        except Exception as raised:
            if is_cancelled(raised):
                raise
            error = raised
            result = f"Error: {error_text(raised)}"
        duration = int((time.monotonic() - begun) * 1000)
        self._tell(
            {
                "event": "end",
                "tool": call.name,
                "args": arguments,
                "result": preview(result),
                "error": error is not None,
                "duration-ms": duration,
            }
        )
        self._count_errors(call, result, error)
        return result

    def _count_errors(self, call: ToolCall, result: str, error: Exception | None) -> None:
        self.errors_in_a_row = 0 if error is None else self.errors_in_a_row + 1
        if error is not None and self.errors_in_a_row >= MAX_ERRORS_IN_A_ROW:
            raise LlmError(
                f"aborting agent run after {MAX_ERRORS_IN_A_ROW} consecutive tool errors",
                hint=f"the last one, of tool '{call.name}'{_place(error)}: {preview(result)}",
            )

    def _tell(self, event: dict[str, Any]) -> None:
        """Calls :on-tool-call; its errors don't concern the run."""
        if self.on_tool_call is None:
            return
        try:
            self.on_tool_call(Map({keyword(name): value for name, value in event.items()}))
        except Exception as error:
            if is_cancelled(error):
                raise


def _place(error: Exception) -> str:
    """Where in the program a tool failed, as ` (file:line:column)`; "" when it never got there."""
    from sema_runtime.values.conditions import describe

    frames = describe(error).frames
    return f" ({frames[0].file}:{frames[0].line}:{frames[0].col})" if frames else ""


def preview(text: str) -> str:
    return text[:PREVIEW] + "..." if len(text.encode("utf-8", "replace")) > PREVIEW else text


def flattened(messages: list[Message], model: str, conversation_id: str) -> Conversation:
    """A run's messages as a conversation: roles become user and assistant, text only."""
    kept = [
        Message("assistant" if message.role == "assistant" else "user", message.content)
        for message in messages
        if message.content
    ]
    return Conversation(tuple(kept), model, {"conversation-id": conversation_id})
