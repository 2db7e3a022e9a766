"""The spans of agents, tools, searches and of the program's own work: context managers around what they time."""

from __future__ import annotations

from sema_runtime.telemetry import content
from sema_runtime.telemetry.chat import identity_of
from sema_runtime.telemetry.names import error_message, error_type
from sema_runtime.telemetry.spans import INTERNAL, Identity, Span, Tracer, identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from sema_runtime.llm.agents import ToolLoop
    from sema_runtime.llm.messages import ToolCall

FAILED = "error"  # the error.type of a program's own spans


class Work:
    """A span that is current inside a `with` and marked when that ends by an error. `kind`: as compat.py has it."""

    kind = "chain"
    error_type = FAILED

    def __init__(self, tracer: Tracer, name: str, attributes: dict[str, Any], span_kind: str = INTERNAL) -> None:
        self.tracer = tracer
        self.name = name
        self.attributes = attributes
        self.span_kind = span_kind
        self.span: Span | None = None

    def __enter__(self) -> Work:
        self.tracer.safely(self._begin)
        return self

    def _begin(self) -> None:
        marked = {**self.attributes, **self.tracer.compat.span_kind(self.kind)}
        self.span = self.tracer.begin(self.name, self.span_kind, marked)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.tracer.safely(self._end, error)

    def _end(self, error: BaseException | None) -> None:
        if self.span is None:
            return
        if error is not None and not isinstance(error, SystemExit):
            failure = error_type(error)
            self.span.fail(failure if failure == "cancelled" else self.failure(error), error_message(error))
        self.tracer.end(self.span)

    def failure(self, error: BaseException) -> str:
        """The error.type of an error that ends the work."""
        return self.error_type

    def returned(self, value: Any) -> None:
        """Notes what the work gave."""
        if self.span is not None:
            self.tracer.safely(self._note, self.span, value)

    def _note(self, span: Span, value: Any) -> None:
        """Nothing is noted of the program's own work."""


class AgentRun(Work):
    """A tool loop; everything inside belongs to its conversation."""

    kind = "agent"

    def __init__(self, tracer: Tracer, loop: ToolLoop) -> None:
        name = loop.agent_name
        attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name or None}
        super().__init__(tracer, f"invoke_agent {name}" if name else "invoke_agent", attributes)
        self.request = loop.request
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
    """One call of a tool by a model."""

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
            self._note(self.span, f"Error: {error_message(error)}")  # what the model is told
        super()._end(error)

    def _note(self, span: Span, value: Any) -> None:
        if self.tracer.settings.capture:
            arguments, result = content.arguments(self.call), content.text(value)
            span.update({"gen_ai.tool.call.arguments": arguments, "gen_ai.tool.call.result": result})
            span.update(self.tracer.compat.tool_call(arguments, result))


class Retrieval(Work):
    """A search for the vectors nearest to one of so many dimensions."""

    kind = "retriever"
    error_type = "retrieval_error"

    def __init__(self, tracer: Tracer, dimensions: int, top_k: int) -> None:
        super().__init__(tracer, "retrieve", {"sema.retrieval.query_dims": dimensions, "sema.retrieval.top_k": top_k})

    def _note(self, span: Span, value: Any) -> None:
        capture = self.tracer.settings.capture
        found = (
            (document.id, content.text(_text_of(document.metadata)) if capture else "", score)
            for document, score in value
        )
        span.update(self.tracer.compat.found(found, capture))


def _text_of(metadata: Any) -> str:
    """What a document says: its :text or :content."""
    from sema_runtime.llm.jsonable import is_map

    texts = (metadata.get(name) for name in ("text", "content")) if is_map(metadata) else ()
    return next((text for text in texts if isinstance(text, str)), "")


class Own(Work):
    """A span of the program; kind: as compat.py has it."""

    def __init__(
        self, tracer: Tracer, name: str, kind: str, attributes: dict[str, Any], span_kind: str = INTERNAL
    ) -> None:
        super().__init__(tracer, name, attributes, span_kind)
        self.kind = kind
