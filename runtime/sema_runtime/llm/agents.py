"""Agents, and the tool loop that `agent/run` and `llm/chat` with tools share."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field

from sema_runtime import tasks
from sema_runtime.llm import policy_guard, spans
from sema_runtime.llm.budgets import budget
from sema_runtime.llm.errors import error_text, is_cancelled
from sema_runtime.llm.messages import Conversation, Message, Reply, Request, ToolCall
from sema_runtime.llm.tools.tool import Tool, arguments_map
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import LlmError, PolicyDenied
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_ERRORS_IN_A_ROW = 5
PREVIEW = 200  # characters of a result shown to :on-tool-call
DEFAULT_TURNS = 10
ALL_AT_ONCE = 1 << 30  # the calls of a turn that run concurrently


@dataclass(slots=True, frozen=True, eq=False)
class Agent:
    """model: "" for the provider's default. max_turns: rounds of the tool loop. parallel: see ToolLoop."""

    name: str
    system: str = ""
    tools: tuple[Tool, ...] = ()
    model: str = ""
    max_turns: int = DEFAULT_TURNS
    parallel: int = 1

    type_name = "agent"

    def sema_text(self) -> str:
        return f"<agent {self.name}>"


@dataclass(slots=True, frozen=True)
class Outcome:
    """The result of one call. text: what is sent back. error: what the tool raised. duration_ms: of the tool alone."""

    call: ToolCall
    arguments: Any
    text: str
    error: Exception | None
    duration_ms: int


@dataclass(slots=True)
class ToolLoop:
    """One run: asks the model, calls the tools it requests, asks again. The messages of request grow during the run.

    on_tool_call, on_text: callbacks or None; with on_text every round is streamed. on_tool_call gets starts and ends in
    the order in which the model requested the calls, whichever ends first.
    parallel: how many calls of one turn may run concurrently. agent_name: for traces.
    """

    request: Request
    tools: dict[str, Tool]
    max_rounds: int
    on_tool_call: Callable[[Any], Any] | None = None
    on_text: Callable[[str], Any] | None = None
    parallel: int = 1
    agent_name: str = ""
    text: str = ""
    errors_in_a_row: int = field(default=0)
    refused: dict[int, PolicyDenied] = field(default_factory=dict)

    def run(self) -> str:
        """Runs the loop and returns the last assistant text, "" without one. Raises LlmError: the provider's, or after
        too many tool errors.

        If the rounds run out, the history has the text once more, after the results of the tools.
        """
        with spans.agent_run(self.request, self.agent_name) as span:
            self._run_rounds()
            span.returned(self.text)
        return self.text

    def _run_rounds(self) -> None:
        messages = self.request.messages
        self.request.tools = [tool.schema() for tool in self.tools.values()]
        for _ in range(self.max_rounds):
            reply = self._ask()
            self.text = reply.content
            if not reply.tool_calls:
                break
            messages.append(Message("assistant", reply.content, tool_calls=tuple(reply.tool_calls)))
            self._call_all(reply.tool_calls)
        else:
            guard = policy_guard.current.get()
            if guard is not None:
                self.text = guard.last_text(self.request, self.text)
        if self.text:
            messages.append(Message("assistant", self.text))

    def _ask(self) -> Reply:
        from sema_runtime.llm import complete as layers

        if self.on_text is None:
            reply = layers.complete(self.request)
        else:
            reply = layers.stream(self.request, self.on_text)
        if self.request.strict_tools:
            from sema_runtime.llm.wires.native import drop_nulls

            drop_nulls(self.request, reply)
        return reply

    # Calls of one turn

    def _call_all(self, calls: list[ToolCall]) -> None:
        """Makes the calls and adds their results to the history, in the order in which they were requested."""
        guard = policy_guard.current.get()
        self.refused = guard.tool_calls(calls, self.tools) if guard is not None else {}
        if self.parallel > 1 and len(calls) > 1:
            from sema_runtime.llm.parallel_map import parallel_map

            with closing(parallel_map(self._execute, calls, self.parallel)) as outcomes:
                for outcome in outcomes:
                    self._record(outcome)
        else:
            for call in calls:
                self._record(self._execute(call))

    def _execute(self, call: ToolCall) -> Outcome:
        arguments = arguments_map(call)
        denial = self.refused.get(id(call))
        if denial is not None:
            return Outcome(call, arguments, f"Error: {denial.message}", denial, 0)
        self._tell({"event": "start", "tool": call.name, "args": arguments})
        started = time.monotonic()
        text, error = self._result(call)
        return Outcome(call, arguments, text, error, int((time.monotonic() - started) * 1000))

    def _result(self, call: ToolCall) -> tuple[str, Exception | None]:
        """Returns the text to send back, the tool's result or its error, and the error. Raises what ends the run."""
        try:
            tool = self.tools.get(call.name)
            with spans.tool_call(call, tool.description if tool is not None else "") as span:
                if tool is None:
                    raise LlmError(f"tool not found: {call.name}")
                text = tool.call(call)
                span.returned(text)
            return text, None
        except Exception as error:
            if ends_run(error):
                raise
            return f"Error: {error_text(error)}", error

    def _record(self, outcome: Outcome) -> None:
        call = outcome.call
        self._tell(
            {
                "event": "end",
                "tool": call.name,
                "args": outcome.arguments,
                "result": preview(outcome.text),
                "error": outcome.error is not None,
                "duration-ms": outcome.duration_ms,
            }
        )
        self.request.messages.append(Message("tool", outcome.text, tool_call_id=call.id, tool_name=call.name))
        self._count_errors(outcome)

    def _count_errors(self, outcome: Outcome) -> None:
        if outcome.error is None:
            self.errors_in_a_row = 0
            return
        self.errors_in_a_row += 1
        if self.errors_in_a_row >= MAX_ERRORS_IN_A_ROW:
            place = _place(outcome.error)
            raise LlmError(
                f"aborting agent run after {MAX_ERRORS_IN_A_ROW} consecutive tool errors",
                hint=f"the last one, of tool '{outcome.call.name}'{place}: {preview(outcome.text)}",
            )

    def _tell(self, event: dict[str, Any]) -> None:
        """Calls :on-tool-call; its errors don't end the run."""
        if self.on_tool_call is None:
            return
        try:
            self.on_tool_call(Map({keyword(name): value for name, value in event.items()}))
        except Exception as error:
            if ends_run(error):
                raise


def ends_run(error: Exception) -> bool:
    """Whether an error of a tool ends the run instead of going to the model: the task was cancelled, the run's budget
    is spent, or a policy denied what the tool did. A budget that the tool set itself does not count."""
    if isinstance(error, PolicyDenied):
        return error.action != "tool-error"
    if isinstance(error, budget.BudgetError):
        return error.frame in budget.current().charged()
    return is_cancelled(error) or tasks.cancelled()


def _place(error: Exception) -> str:
    """Returns where in the program a tool failed, as ` (file:line:column)`; "" when the program was not reached."""
    from sema_runtime.conditions.describe import describe

    frames = describe(error).frames
    return f" ({frames[0].file}:{frames[0].line}:{frames[0].col})" if frames else ""


def preview(text: str) -> str:
    return text[:PREVIEW] + "..." if len(text.encode("utf-8", "replace")) > PREVIEW else text


def as_conversation(messages: list[Message], model: str, conversation_id: str) -> Conversation:
    """Returns a run's messages as a conversation: roles become user and assistant, text only."""
    texts = [
        Message("assistant" if message.role == "assistant" else "user", message.content)
        for message in messages
        if message.content
    ]
    return Conversation(tuple(texts), model, {"conversation-id": conversation_id})
