"""A span as a context manager around the work that it times."""

from __future__ import annotations

from sema_runtime.telemetry.names import CANCELLED, error_message, is_cancellation
from sema_runtime.telemetry.spans import INTERNAL, Span
from sema_runtime.telemetry.tracing import Tracer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

FAILED = "error"  # the error.type of a program's own spans


class Work:
    """A span that is current inside a `with`, and failed when an error leaves that. kind: as in compat.py."""

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
            failure = CANCELLED if is_cancellation(error) else self.failure(error)
            self.span.fail(failure, error_message(error))
        self.tracer.end(self.span)

    def failure(self, error: BaseException) -> str:
        """Returns the error.type of an error that ends the work."""
        return self.error_type

    def returned(self, value: Any) -> None:
        """Records the result of the work."""
        if self.span is not None:
            self.tracer.safely(self._note, self.span, value)

    def _note(self, span: Span, value: Any) -> None:
        """Records nothing: the default."""


class ProgramSpan(Work):
    """A span that the program makes itself. kind: as in compat.py."""

    def __init__(
        self, tracer: Tracer, name: str, kind: str, attributes: dict[str, Any], span_kind: str = INTERNAL
    ) -> None:
        super().__init__(tracer, name, attributes, span_kind)
        self.kind = kind
