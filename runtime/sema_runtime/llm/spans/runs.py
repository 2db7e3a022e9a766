"""Spans of agents, tools and searches: context managers around the work that they time."""

from __future__ import annotations

from sema_runtime.llm.jsonable import is_map
from sema_runtime.llm.spans import content
from sema_runtime.llm.spans.calls import identity_of
from sema_runtime.llm.spans.failures import error_type
from sema_runtime.telemetry.names import error_message
from sema_runtime.telemetry.spans import Identity, Span, identity
from sema_runtime.telemetry.tracing import Tracer
from sema_runtime.telemetry.work import Work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.llm.messages import Request, ToolCall


class AgentRun(Work):
    """The span of a tool loop; the spans inside belong to its conversation."""

    kind = "agent"

    def __init__(self, tracer: Tracer, request: Request, agent: str) -> None:
        attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": agent or None}
        super().__init__(tracer, f"invoke_agent {agent}" if agent else "invoke_agent", attributes)
        self.request = request
        self.before: Identity | None = None

    def _begin(self) -> None:
        self.before = identity.get()
        identity.set(identity_of(self.request))
        compat = self.tracer.compat
        self.attributes |= compat.tags(self.request.tags) | compat.metadata(self.request.metadata)
        super()._begin()

    def _end(self, error: BaseException | None) -> None:
        identity.set(self.before)
        super()._end(error)

    def failure(self, error: BaseException) -> str:
        return "tool_error" if str(error).startswith("aborting agent run") else error_type(error)

    def _note(self, span: Span, value: Any) -> None:
        if self.tracer.settings.capture:
            question = content.question(self.request)
            span.update(self.tracer.compat.trace(content.text(question), content.text(value)))


class ToolRun(Work):
    """The span of one tool call by a model."""

    kind = "tool"
    error_type = "tool_error"

    def __init__(self, tracer: Tracer, call: ToolCall, description: str) -> None:
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.description": description or None,
        }
        super().__init__(tracer, f"execute_tool {call.name}", attributes)
        self.call = call

    def _end(self, error: BaseException | None) -> None:
        if error is not None and self.span is not None:
            self._note(self.span, f"Error: {error_message(error)}")  # what the model gets
        super()._end(error)

    def _note(self, span: Span, value: Any) -> None:
        if self.tracer.settings.capture:
            arguments, result = content.arguments(self.call), content.text(value)
            span.update({"gen_ai.tool.call.arguments": arguments, "gen_ai.tool.call.result": result})
            span.update(self.tracer.compat.tool_call(arguments, result))


class Retrieval(Work):
    """The span of a search for the vectors nearest to a query. dimensions: of the query."""

    kind = "retriever"
    error_type = "retrieval_error"

    def __init__(self, tracer: Tracer, dimensions: int, top_k: int) -> None:
        super().__init__(tracer, "retrieve", {"sema.retrieval.query_dims": dimensions, "sema.retrieval.top_k": top_k})

    def _note(self, span: Span, value: Any) -> None:
        capture = self.tracer.settings.capture
        documents = (
            (document.id, content.text(_text_of(document.metadata)) if capture else "", score)
            for document, score in value
        )
        span.update(self.tracer.compat.retrieved(documents, capture))


def _text_of(metadata: Any) -> str:
    """Returns the text of a document: its :text or :content, "" without one."""
    texts = (metadata.get(name) for name in ("text", "content")) if is_map(metadata) else ()
    return next((text for text in texts if isinstance(text, str)), "")
