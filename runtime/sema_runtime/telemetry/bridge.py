"""Sema's spans as live spans of OpenTelemetry, so that its samplers, processors and exporters see them, and other code
of this process too: a span of the host is the parent of Sema's, and Sema's of what the host's code does inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry import context, metrics, trace

from sema_runtime.telemetry.spans import CLIENT, NO_SPAN_ID, Span

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from opentelemetry.metrics import Histogram, MeterProvider
    from opentelemetry.trace import TracerProvider

SCOPE = "sema"
SCHEMA = "https://opentelemetry.io/schemas/1.37.0"
TOKENS = ("gen_ai.client.token.usage", "{token}", [4.0**power for power in range(14)])
SECONDS = ("gen_ai.client.operation.duration", "s", [0.01 * 2**power for power in range(14)])
KINDS = {CLIENT: trace.SpanKind.CLIENT}


def of_host() -> Bridge | None:
    """Returns a bridge to the providers that the host program has set; None when it has set none."""
    spans = trace.get_tracer_provider()
    if isinstance(spans, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return None
    return Bridge(spans, metrics.get_meter_provider())


class Bridge:
    """spans, measures: OpenTelemetry's providers. close: called at the end of the program."""

    def __init__(
        self, spans: TracerProvider, measures: MeterProvider | None, close: Callable[[], None] | None = None
    ) -> None:
        attributes = {"sema.otel.instrumentation": "gen_ai"}
        self.tracer = spans.get_tracer(SCOPE, _version(), SCHEMA, attributes)
        self.tokens: Histogram | None = None
        self.seconds: Histogram | None = None
        if measures is not None:
            meter = measures.get_meter(SCOPE, _version(), SCHEMA)
            self.tokens, self.seconds = (
                meter.create_histogram(name, unit, explicit_bucket_boundaries_advisory=bounds)
                for name, unit, bounds in (TOKENS, SECONDS)
            )
        self._close = close

    def begin(self, span: Span, parent: Span | None) -> None:
        """Starts the span in OpenTelemetry, which also decides its ids and its parent."""
        above = (
            trace.set_span_in_context(parent.otel_span) if parent is not None and parent.otel_span is not None else None
        )
        otel_span = self.tracer.start_span(
            span.name, above, KINDS.get(span.kind, trace.SpanKind.INTERNAL), span.attributes, start_time=span.start
        )
        span.otel_span = otel_span
        ids = otel_span.get_span_context()
        if ids.is_valid:
            span.trace_id = trace.format_trace_id(ids.trace_id)
            span.span_id = trace.format_span_id(ids.span_id)
            outer = getattr(otel_span, "parent", None)
            span.parent_id = trace.format_span_id(outer.span_id) if outer is not None else NO_SPAN_ID
        if parent is None:
            span.otel_context = context.get_current()
            context.attach(trace.set_span_in_context(otel_span))

    def end(self, span: Span) -> None:
        otel_span = span.otel_span
        if otel_span is None:
            return
        if span.otel_context is not None and trace.get_current_span() is otel_span:
            context.attach(span.otel_context)
        otel_span.update_name(span.name)
        otel_span.set_attributes(span.attributes)
        for name, time, attributes in span.events:
            otel_span.add_event(name, attributes, time)
        if span.status == "ok":
            otel_span.set_status(trace.StatusCode.OK)
        elif span.status is not None:
            otel_span.set_status(trace.StatusCode.ERROR, span.status.removeprefix("error: "))
        otel_span.end(span.end)

    def measure_tokens(self, count: int, attributes: dict[str, Any]) -> None:
        if self.tokens is not None:
            self.tokens.record(count, attributes)

    def measure_duration(self, seconds: float, attributes: dict[str, Any]) -> None:
        if self.seconds is not None:
            self.seconds.record(seconds, attributes)

    def close(self) -> None:
        if self._close is not None:
            self._close()


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("semac")
    except PackageNotFoundError:
        return ""
