"""OTLP as JSON, through the exporter for protobuf: the bodies are translated before they are sent.

The JSON form of OTLP is that of protobuf except for ids, which are hexadecimal, and enumerations, which are numbers.
(The official exporter is a pre-release that can't be installed with other versions of its parts.)
"""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from typing import TYPE_CHECKING

import requests
from requests.adapters import HTTPAdapter

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

IDS = frozenset(("traceId", "spanId", "parentSpanId"))
UNPACKED: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.decompress, "deflate": zlib.decompress}


def session(signal: str) -> requests.Session:
    """Returns a session for the exporter of a signal: traces or metrics."""
    http_session = requests.Session()
    for scheme in ("http://", "https://"):
        http_session.mount(scheme, _Translating(signal))
    return http_session


class _Translating(HTTPAdapter):
    def __init__(self, signal: str) -> None:
        super().__init__()
        self.message: Any = _message_of(signal)

    def send(self, request: requests.PreparedRequest, *args: Any, **options: Any) -> requests.Response:
        body = request.body
        assert isinstance(body, bytes)
        unpack = UNPACKED.get(str(request.headers.pop("Content-Encoding", "")))
        request.body = to_json(self.message.FromString(unpack(body) if unpack is not None else body))
        request.headers["Content-Type"] = "application/json"
        request.headers["Content-Length"] = str(len(request.body))
        return super().send(request, *args, **options)


def _message_of(signal: str) -> Any:
    if signal == "traces":
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        return ExportTraceServiceRequest
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    return ExportMetricsServiceRequest


def to_json(message: Any) -> bytes:
    from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]

    return json.dumps(_with_hex_ids(MessageToDict(message, use_integers_for_enums=True))).encode()


def _with_hex_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_hex_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64decode(item).hex() if key in IDS and isinstance(item, str) else _with_hex_ids(item)
        for key, item in value.items()
    }
