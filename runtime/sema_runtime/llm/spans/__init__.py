"""Spans of calls to models, agents, tools and searches.

While telemetry is off, each function here costs one test and loads nothing else.

    calls.py     spans and metrics of calls, from their records (llm/calls.py)
    runs.py      spans of agents, tools and searches
    content.py   prompts and replies as attributes, where the user asks for content
    failures.py  what kind of error ended a call
"""

from __future__ import annotations

from sema_runtime import telemetry
from sema_runtime.telemetry import NO_SPAN, NoSpan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sema_runtime.llm.calls import Call
    from sema_runtime.llm.messages import Request, ToolCall
    from sema_runtime.telemetry.work import Work


def agent_run(request: Request, agent: str) -> Work | NoSpan:
    """Returns the span of a tool loop, for `with`; call `span.returned(text)` before it ends. agent: "" for none."""
    tracer = telemetry.tracer()
    if tracer is None:
        return NO_SPAN
    from sema_runtime.llm.spans.runs import AgentRun

    return AgentRun(tracer, request, agent)


def tool_call(call: ToolCall, description: str) -> Work | NoSpan:
    """Returns the span of a model's tool call, for `with`; call `span.returned(text)` with its result."""
    tracer = telemetry.tracer()
    if tracer is None:
        return NO_SPAN
    from sema_runtime.llm.spans.runs import ToolRun

    return ToolRun(tracer, call, description)


def retrieval(dimensions: int, top_k: int) -> Work | NoSpan:
    """Returns the span of a vector store search, for `with`; call `span.returned(matches)` with the results."""
    tracer = telemetry.tracer()
    if tracer is None:
        return NO_SPAN
    from sema_runtime.llm.spans.runs import Retrieval

    return Retrieval(tracer, dimensions, top_k)


class CallSpans:
    """Observes calls to models: a span for each."""

    __slots__ = ()

    def started(self, call: Call) -> None:
        tracer = telemetry.tracer()
        if tracer is not None:
            from sema_runtime.llm.spans import calls

            tracer.safely(calls.started, tracer, call)

    def ended(self, call: Call) -> None:
        if call.spans is None:
            return
        tracer = telemetry.tracer()
        if tracer is not None:
            from sema_runtime.llm.spans import calls

            tracer.safely(calls.ended, tracer, call)
