"""What the tests of traces share: spans read back from the file sink, each line checked, and a collector to send to."""

from __future__ import annotations

import gzip
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sema_runtime import telemetry

VARIABLES = (
    *("SEMA_OTEL_FILE", "SEMA_OTEL_FILE_QUEUE", "SEMA_OTEL_COMPAT", "SEMA_OTEL_CAPTURE_CONTENT", "SEMA_OTEL_RELEASE"),
    *("SEMA_OTEL_ENVIRONMENT", "OTEL_SERVICE_NAME", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL"),
    *("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_SDK_DISABLED", "OTEL_METRICS_EXPORTER"),
    *("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"),
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
)
KEYS = ["name", "trace_id", "span_id", "parent_span_id", "kind", "start_unix_nano", "end_unix_nano", "status"]
NO_PARENT = "0" * 16


class Seen(dict[str, Any]):
    """A span as it stands in the file."""

    @property
    def attributes(self) -> dict[str, Any]:
        return self["attributes"]  # type: ignore[no-any-return]

    @property
    def name(self) -> str:
        return self["name"]  # type: ignore[no-any-return]

    def below(self, other: Seen) -> bool:
        return (self["parent_span_id"], self["trace_id"]) == (other["span_id"], other["trace_id"])

    @property
    def is_root(self) -> bool:
        return self["parent_span_id"] == NO_PARENT


def read(path: Path) -> list[Seen]:
    """The spans of a file, whose lines are checked."""
    found = [Seen(json.loads(line, parse_constant=_refuse)) for line in path.read_text().splitlines()]
    for span in found:
        _check(span)
    names = [span["span_id"] for span in found]
    assert len(set(names)) == len(names)
    return found


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


def _check(span: Seen) -> None:
    assert list(span) == [*KEYS, "attributes", *(["events"] if "events" in span else [])]
    assert re.fullmatch("[0-9a-f]{32}", span["trace_id"]) and re.fullmatch("[0-9a-f]{16}", span["span_id"])
    assert re.fullmatch("[0-9a-f]{16}", span["parent_span_id"]) and span["span_id"] != NO_PARENT
    assert span["kind"] in ("client", "internal")
    assert 10**18 < int(span["start_unix_nano"]) <= int(span["end_unix_nano"])
    assert span["status"] in ("unset", "ok") or span["status"].startswith("error: ")
    assert span["status"].startswith("error") == ("error.type" in span.attributes)


class Sink:
    """The file sink of the running process."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def spans(self) -> list[Seen]:
        tracer = telemetry.tracer()
        assert tracer is not None and tracer.file is not None
        tracer.file.close()
        return read(self.path)

    def one(self, name: str) -> Seen:
        (found,) = self.named(name)
        return found

    def named(self, name: str) -> list[Seen]:
        return [span for span in self.spans() if span.name == name]


@pytest.fixture
def otel(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is configured, and nothing is left of what a test configures."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    telemetry.reset()
    yield
    telemetry.reset()


@pytest.fixture
def sink(otel: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Sink:
    path = tmp_path / "spans.jsonl"
    monkeypatch.setenv("SEMA_OTEL_FILE", str(path))
    return Sink(path)


# A collector


@dataclass
class Collector:
    """url: of its OTLP endpoint. posts: (path, headers, body as it was before compression). arrived: set with each."""

    url: str = ""
    posts: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    status: int = 200
    release: threading.Event | None = None

    def bodies(self, path: str) -> list[bytes]:
        return [body for where, _, body in self.posts if where == path]


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            headers = {name.lower(): value for name, value in self.headers.items()}
            made.posts.append((self.path, headers, body))
            if made.release is not None:
                made.release.wait(20)
            self.send_response(made.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield made
    if made.release is not None:
        made.release.set()
    server.shutdown()
    server.server_close()
