"""Traces and metrics over the network, by the official exporters (extra `otel`): http/protobuf, http/json, grpc.

They read OpenTelemetry's own variables (headers, certificates, compression, batching, sampling) themselves; the
settings of `otel/configure` take precedence. The providers are private: the process-wide ones are left to hosts."""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING

from sema_runtime.telemetry.spans import warn
from sema_runtime.values.digits import small

if TYPE_CHECKING:
    from typing import Any

    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    from sema_runtime.telemetry.bridge import Bridge
    from sema_runtime.telemetry.settings import Settings

LARGEST_MS = 1 << 31
PATIENCE = 3.0  # seconds that the end of the program waits for a collector
MOST_ATTRIBUTES = 1024  # of a span; long prompts in several modes of compat.py exceed the default of 128
GRPC = "opentelemetry-exporter-otlp-proto-grpc"


def opened(settings: Settings) -> Bridge | None:
    """Returns a bridge to private exporters; None, with a warning, when they aren't installed or can't be set up."""
    try:
        from sema_runtime.telemetry.bridge import Bridge

        _tame_logging(settings)
        spans, measures = _providers(settings)
    except ImportError as error:
        from sema_runtime.support.missing_packages import install

        warn(f"to send traces, install the exporters: {install('otel')} ({error})")
        return None
    except Exception as error:
        warn(f"can't send traces: {type(error).__name__}: {error}")
        return None
    return Bridge(spans, measures, _Closing(spans, measures))


def _providers(settings: Settings) -> tuple[TracerProvider, MeterProvider | None]:
    from opentelemetry.sdk.trace import SpanLimits, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    limits = (
        None if os.environ.get("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT") else SpanLimits(max_span_attributes=MOST_ATTRIBUTES)
    )
    resource = _resource(settings)
    spans = TracerProvider(resource=resource, span_limits=limits, shutdown_on_exit=False)
    traces, metrics = _exporters(settings)
    if _is_wanted(settings, "TRACES"):
        spans.add_span_processor(BatchSpanProcessor(traces))
    if not _is_wanted(settings, "METRICS"):
        return spans, None
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    return spans, MeterProvider([PeriodicExportingMetricReader(metrics)], resource, shutdown_on_exit=False)


def _is_wanted(settings: Settings, signal: str) -> bool:
    """Whether a signal, TRACES or METRICS, has a destination and is not switched off."""
    places = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
    endpoint = settings.endpoint or any(os.environ.get(name) for name in places)
    return bool(endpoint) and os.environ.get(f"OTEL_{signal}_EXPORTER") != "none"


def _resource(settings: Settings) -> Resource:
    """Returns the attributes of the program; OTEL_RESOURCE_ATTRIBUTES adds to them."""
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource

    detected = OTELResourceDetector().detect().attributes
    own = {
        "service.name": settings.service or detected.get("service.name") or "sema",
        "service.version": settings.release,
        "deployment.environment.name": settings.environment,
        "telemetry.distro.name": "semac",
    }
    return Resource.create({name: value for name, value in own.items() if value})


def _exporters(settings: Settings) -> tuple[Any, Any]:
    """Returns the exporters of traces and metrics for the configured protocol."""
    protocol = settings.protocol
    if protocol == "grpc":
        try:
            return _grpc(settings)
        except ImportError:
            warn(f"OTLP over grpc needs the package {GRPC}; http/protobuf is used instead")
    elif protocol not in ("http/protobuf", "http/json"):
        warn(f"there is no OTLP protocol {protocol!r}; http/protobuf is used instead")
    return _http(settings, protocol == "http/json")


def _grpc(settings: Settings) -> tuple[Any, Any]:
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    options: dict[str, Any] = {"endpoint": settings.endpoint or None, "timeout": _timeout()}
    if settings.headers:  # names of gRPC are lower-case
        options["headers"] = {name.lower(): value for name, value in settings.headers.items()}
    return OTLPSpanExporter(**options), OTLPMetricExporter(**options)


def _http(settings: Settings, as_json: bool) -> tuple[Any, Any]:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    exporters = []
    for signal, exporter in (("traces", OTLPSpanExporter), ("metrics", OTLPMetricExporter)):
        options: dict[str, Any] = {"headers": settings.headers or None, "timeout": _timeout()}
        if settings.endpoint:
            options["endpoint"] = f"{settings.endpoint.rstrip('/')}/v1/{signal}"
        if as_json:
            from sema_runtime.telemetry import otlp_json

            options["session"] = otlp_json.session(signal)
        exporters.append(exporter(**options))
    return exporters[0], exporters[1]


def _timeout() -> float | None:
    """Returns the seconds that one request may take. The variable has milliseconds, as OpenTelemetry's specification
    says; the exporters for Python would read them as seconds."""
    text = os.environ.get("OTEL_EXPORTER_OTLP_TIMEOUT", "").strip()
    milliseconds = small(text, LARGEST_MS) if text.isdecimal() else 0
    return milliseconds / 1000 if milliseconds else None


class _Closing:
    """Sends what is left when the program ends; a collector that doesn't answer delays the end by PATIENCE at most.

    Its thread waits from the start: some versions of Python can't start one at the end."""

    def __init__(self, spans: TracerProvider, measures: MeterProvider | None) -> None:
        self.spans = spans
        self.measures = measures
        self._start()

    def _start(self) -> None:
        self.process = os.getpid()
        self.ending, self.ended = threading.Event(), threading.Event()
        threading.Thread(target=self._work, name="sema-telemetry-end", daemon=True).start()

    def _work(self) -> None:
        self.ending.wait()
        self.spans.shutdown()
        if self.measures is not None:
            self.measures.shutdown(timeout_millis=PATIENCE * 1000)
        self.ended.set()

    def __call__(self) -> None:
        if self.process != os.getpid():  # a forked process has no such thread
            try:
                self._start()
            except RuntimeError:
                return
        self.ending.set()
        if not self.ended.wait(PATIENCE):
            warn("the collector does not answer; the last spans are lost")


class _FirstFailure(logging.Handler):
    """Writes the first failure of the exporters to stderr as one line; the others would repeat it."""

    def __init__(self, secrets: list[str]) -> None:
        super().__init__(logging.ERROR)
        self.secrets = secrets
        self.has_reported = False

    def emit(self, record: logging.LogRecord) -> None:
        if not self.has_reported:
            self.has_reported = True
            from sema_runtime.support.redaction import hidden

            warn(hidden(record.getMessage(), self.secrets))


def _tame_logging(settings: Settings) -> None:
    """Limits the exporters' logging if the program has not set up any: they would report every failure on stderr."""
    logger = logging.getLogger("opentelemetry")
    if not logger.hasHandlers():
        logger.addHandler(_FirstFailure(_secrets(settings)))
        logger.propagate = False


def _secrets(settings: Settings) -> list[str]:
    """Returns what must not be shown: values of headers, a name and password in the URL."""
    names = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS")
    pairs = ",".join(os.environ.get(name, "") for name in names).split(",")
    values = [*settings.headers.values(), *(pair.partition("=")[2].strip() for pair in pairs)]
    for url in (settings.endpoint, os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")):
        if "@" in url:
            values.append(url.partition("//")[2].rpartition("@")[0])
    return [value for value in values if value]
