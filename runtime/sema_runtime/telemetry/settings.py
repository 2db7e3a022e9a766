"""What is recorded and where it goes: from the environment, from a program, from the Python program around us."""

from __future__ import annotations

import atexit
import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sema_runtime.telemetry.compat import Compat, modes
from sema_runtime.telemetry.spans import Tracer
from sema_runtime.values.digits import small

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sema_runtime.telemetry.bridge import Bridge

LARGEST_QUEUE = 1 << 30
QUEUE = 4096  # spans that may wait for the file
PROTOCOL = "http/protobuf"


@dataclass(slots=True)
class Settings:
    """file: path of the file sink. otlp: whether to send over the network. endpoint, headers: as the program gave them;
    without, OpenTelemetry's exporters read their own variables. service, environment, release: of what runs. capture:
    record prompts, replies, arguments and results. compat: modes of compat.py. queue: spans waiting for the file."""

    file: str = ""
    otlp: bool = False
    endpoint: str = ""
    protocol: str = PROTOCOL
    headers: dict[str, str] = field(default_factory=dict)
    service: str = ""
    environment: str = ""
    release: str = ""
    capture: bool = False
    compat: frozenset[str] = frozenset()
    queue: int = QUEUE


def read(environment: Mapping[str, str]) -> Settings:
    """The settings that environment variables give; an empty variable counts as absent."""
    get = environment.get
    endpoints = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    capture = get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT") or get("SEMA_OTEL_CAPTURE_CONTENT") or ""
    queue = get("SEMA_OTEL_FILE_QUEUE") or ""
    return Settings(
        file=get("SEMA_OTEL_FILE") or "",
        otlp=any(get(name) for name in (*endpoints, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")),
        protocol=(get("OTEL_EXPORTER_OTLP_PROTOCOL") or PROTOCOL).strip(),
        service=get("OTEL_SERVICE_NAME") or "",
        environment=get("SEMA_OTEL_ENVIRONMENT") or get("DEPLOYMENT_ENVIRONMENT") or "",
        release=get("SEMA_OTEL_RELEASE") or "",
        capture=capture.strip().lower() in ("true", "1"),
        compat=modes(get("SEMA_OTEL_COMPAT") or ""),
        queue=max(1, small(queue, LARGEST_QUEUE)) if queue.isdecimal() else QUEUE,
    )


def is_disabled() -> bool:
    """Whether the user has switched all of OpenTelemetry off."""
    return os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"


def from_environment() -> Tracer | None:
    """As the environment says. A host's OpenTelemetry goes before an endpoint: it has one of its own."""
    return opened(read(os.environ))


def from_host() -> Tracer | None:
    """The spans go to the OpenTelemetry that the Python program around us has configured; None when it hasn't."""
    bridge = _hosts()
    if bridge is None:
        return None
    settings = read(os.environ)
    return Tracer(settings, Compat(settings.compat, settings.release), None, bridge)


def _hosts() -> Bridge | None:
    if "opentelemetry.trace" not in sys.modules:
        return None
    from sema_runtime.telemetry import bridge

    return bridge.of_host()


def opened(settings: Settings) -> Tracer | None:
    """A tracer for these settings; None when they name no place, or none that works (a warning says why)."""
    if is_disabled():
        return None
    file = None
    if settings.file:
        from sema_runtime.telemetry import file_sink

        file = file_sink.opened(settings.file, settings.queue)
    bridge = _hosts()
    if bridge is None and settings.otlp:
        from sema_runtime.telemetry import otlp

        bridge = otlp.opened(settings)
    if file is None and bridge is None:
        return None
    tracer = Tracer(settings, Compat(settings.compat, settings.release), file, bridge)
    atexit.register(tracer.finish)
    return tracer
