"""The tracer for given settings: its file, its exporters, or the OpenTelemetry of the host Python program."""

from __future__ import annotations

import atexit
import os
import sys
from typing import TYPE_CHECKING

from sema_runtime.telemetry.compat import Compat
from sema_runtime.telemetry.settings import Settings, read
from sema_runtime.telemetry.tracing import Tracer

if TYPE_CHECKING:
    from sema_runtime.telemetry.bridge import Bridge


def is_disabled() -> bool:
    """Whether the user has switched OpenTelemetry off."""
    return os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"


def from_environment() -> Tracer | None:
    """Returns the tracer that the environment asks for, if any. A host's OpenTelemetry precedes an endpoint."""
    return opened(read(os.environ))


def from_host() -> Tracer | None:
    """Returns a tracer to the OpenTelemetry that the host Python program has configured; None when it has not."""
    bridge = _host_bridge()
    if bridge is None:
        return None
    settings = read(os.environ)
    return Tracer(settings, Compat(settings.compat, settings.release), None, bridge)


def _host_bridge() -> Bridge | None:
    if "opentelemetry.trace" not in sys.modules:
        return None
    from sema_runtime.telemetry import bridge

    return bridge.of_host()


def opened(settings: Settings) -> Tracer | None:
    """Returns a tracer for these settings; None without a destination that works (a warning says why)."""
    if is_disabled():
        return None
    file = None
    if settings.file:
        from sema_runtime.telemetry import file_sink

        file = file_sink.opened(settings.file, settings.queue)
    bridge = _host_bridge()
    if bridge is None and settings.otlp:
        from sema_runtime.telemetry import otlp

        bridge = otlp.opened(settings)
    if file is None and bridge is None:
        return None
    tracer = Tracer(settings, Compat(settings.compat, settings.release), file, bridge)
    atexit.register(tracer.finish)
    return tracer
