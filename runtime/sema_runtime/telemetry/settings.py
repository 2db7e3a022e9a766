"""What telemetry records and where it goes, as the environment or a program says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sema_runtime.telemetry.compat import modes
from sema_runtime.values.digits import small

if TYPE_CHECKING:
    from collections.abc import Mapping

LARGEST_QUEUE = 1 << 30
QUEUE = 4096  # spans that may wait for the file
PROTOCOL = "http/protobuf"


@dataclass(slots=True)
class Settings:
    """file: path of the file sink. otlp: whether to send over the network. endpoint, headers: from the program; without
    them, OpenTelemetry's exporters read their own variables. service, environment, release: of the program. capture:
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
    """Returns the settings in environment variables; an empty variable counts as absent."""
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
