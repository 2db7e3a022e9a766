"""Traces and metrics: spans and where they go. llm/spans/ has the spans of models, agents and tools.

Telemetry is off unless the environment names a destination (settings.py), the program does (`otel/configure`), or the
host Python program has configured OpenTelemetry. The rest of the runtime uses this file alone; while telemetry is off,
it loads nothing else. Telemetry never blocks the program and never makes it fail.

    settings.py  what is recorded and where it goes; setup.py makes a tracer of it
    tracing.py   the tracer: begins and ends spans
    spans.py     a span, the current span, the conversation it belongs to
    work.py      a span as a context manager, as `otel/span` makes them
    names.py     providers and error texts as the conventions have them
    compat.py    attribute names of other tools (SEMA_OTEL_COMPAT)
    file_sink.py spans as lines of a file
    bridge.py    spans as OpenTelemetry's own, for its exporters and for a host's provider
    otlp.py      exporters over the network
"""

from __future__ import annotations

import sys
from _thread import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from sema_runtime.telemetry.settings import Settings
    from sema_runtime.telemetry.tracing import Tracer

_tracer: Tracer | None = None
_looked = False  # whether the environment was read
_lock = RLock()


def tracer() -> Tracer | None:
    """Returns where spans go; None while telemetry is off. A host may configure OpenTelemetry at any time."""
    if _tracer is not None:
        return _tracer
    if _looked and "opentelemetry.trace" not in sys.modules:
        return None
    return _look()


def _look() -> Tracer | None:
    global _tracer, _looked
    with _lock:
        if _tracer is None:
            is_first, _looked = not _looked, True
            import os

            if is_first and any(os.environ.get(name) for name in SWITCHES):
                from sema_runtime.telemetry.setup import from_environment

                _tracer = from_environment()
            elif "opentelemetry.trace" in sys.modules:
                from sema_runtime.telemetry.setup import from_host

                _tracer = from_host()
        return _tracer


SWITCHES = (
    "SEMA_OTEL_FILE",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)


def configure(settings: Settings) -> bool:
    """Turns telemetry on with these settings, unless it is on already. Returns whether this call did."""
    global _tracer
    with _lock:
        if tracer() is not None:
            return False
        from sema_runtime.telemetry.setup import opened

        _tracer = opened(settings)
        return _tracer is not None


def reset() -> None:
    """Sends what is left, then returns to the state at the start of the process."""
    global _tracer, _looked
    with _lock:
        if _tracer is not None:
            import atexit

            atexit.unregister(_tracer.finish)
            _tracer.finish()
        _tracer, _looked = None, False


class NoSpan:
    """Stands for a span while telemetry is off: a `with` block without effect. It is false."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def __enter__(self) -> NoSpan:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def returned(self, value: Any) -> None:
        pass


NO_SPAN = NoSpan()
