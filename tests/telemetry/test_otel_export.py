"""Traces and metrics over the network, judged by what official packages decode of them; and the OpenTelemetry of a
Python program around us."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from llm_support import closed_port, run
from llm_support import llm as llm
from otel_support import Collector, read
from otel_support import collector as collector
from otel_support import otel as otel

from sema_runtime import telemetry
from sema_runtime.values.errors import SemaError

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the extra otel")
pytestmark = pytest.mark.usefixtures("llm", "otel")

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest  # noqa: E402
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest  # noqa: E402

PROGRAM = """
(llm/define-provider :echo {:complete (fn (req) {:content "hi" :usage {:prompt-tokens 3 :completion-tokens 2}})
                            :default-model "m-1"})
(with-span "work" {:rows 3 :ratio 0.5 :ok #t}
  (otel/event "half" {:n 1})
  (llm/complete "question" {:conversation-id "c-1"})
  (try (with-span "bad" {} (error "boom")) (catch e nil)))
"""


def value(message: Any) -> Any:
    """An attribute's value."""
    kind = message.WhichOneof("value")
    if kind == "array_value":
        return [value(item) for item in message.array_value.values]
    return getattr(message, kind)


def values(attributes: Any) -> dict[str, Any]:
    return {one.key: value(one.value) for one in attributes}


def spans_in(request: Any) -> dict[str, Any]:
    """The spans of an export request by their names; what is said of the program is checked."""
    (resource,) = request.resource_spans
    (scope,) = resource.scope_spans
    assert scope.scope.name == "sema" and scope.schema_url.startswith("https://opentelemetry.io/schemas/")
    return {span.name: span for span in scope.spans}


def check_trace(request: Any) -> None:
    found = spans_in(request)
    assert set(found) == {"work", "chat m-1", "bad"}
    work, chat, bad = found["work"], found["chat m-1"], found["bad"]
    assert chat.parent_span_id == bad.parent_span_id == work.span_id and work.parent_span_id == b""
    assert len({span.trace_id for span in found.values()}) == 1 and len(work.trace_id) == 16 and len(work.span_id) == 8
    assert (chat.kind, work.kind) == (3, 1)  # client, internal
    assert values(work.attributes) == {"rows": 3, "ratio": 0.5, "ok": True}
    assert values(chat.attributes)["gen_ai.usage.input_tokens"] == 3
    assert values(chat.attributes)["gen_ai.response.finish_reasons"] == ["end_turn"]
    assert values(chat.attributes)["gen_ai.conversation.id"] == "c-1"
    assert (bad.status.code, bad.status.message) == (2, "boom") and work.status.code == 0
    assert work.start_time_unix_nano <= chat.start_time_unix_nano < chat.end_time_unix_nano <= work.end_time_unix_nano
    (event,) = work.events
    assert event.name == "half" and values(event.attributes) == {"n": 1}


def check_metrics(request: Any) -> None:
    (resource,) = request.resource_metrics
    metrics = {one.name: one for scope in resource.scope_metrics for one in scope.metrics}
    assert set(metrics) == {"gen_ai.client.token.usage", "gen_ai.client.operation.duration"}
    tokens, seconds = metrics["gen_ai.client.token.usage"], metrics["gen_ai.client.operation.duration"]
    assert (tokens.unit, seconds.unit) == ("{token}", "s")
    counts = {values(point.attributes)["gen_ai.token.type"]: point.sum for point in tokens.histogram.data_points}
    assert counts == {"input": 3, "output": 2}
    assert list(tokens.histogram.data_points[0].explicit_bounds) == [4.0**n for n in range(14)]
    (point,) = seconds.histogram.data_points
    assert point.count == 1 and values(point.attributes) == {
        **{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "echo", "gen_ai.request.model": "m-1"}
    }
    assert list(point.explicit_bounds)[:3] == [0.01, 0.02, 0.04] and len(point.explicit_bounds) == 14


def from_json(body: bytes, message: Any) -> Any:
    """The message that an OTLP JSON body stands for. Ids are hexadecimal there; protobuf's own JSON has base64."""
    from base64 import b64encode

    from google.protobuf.json_format import ParseDict

    def translated(node: Any) -> Any:
        if isinstance(node, list):
            return [translated(item) for item in node]
        if not isinstance(node, dict):
            return node
        ids = {"traceId", "spanId", "parentSpanId"}
        return {k: b64encode(bytes.fromhex(v)).decode() if k in ids else translated(v) for k, v in node.items()}

    return ParseDict(translated(json.loads(body)), message)


# Protocols


def test_protobuf_is_the_default(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer abc,x-project=p%201")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "digest")
    monkeypatch.setenv("SEMA_OTEL_ENVIRONMENT", "staging")
    monkeypatch.setenv("SEMA_OTEL_RELEASE", "1.2")
    run(PROGRAM)
    telemetry.reset()
    (body,) = collector.bodies("/v1/traces")
    request = ExportTraceServiceRequest.FromString(body)
    check_trace(request)
    resource = values(request.resource_spans[0].resource.attributes)
    assert (resource["service.name"], resource["service.version"]) == ("digest", "1.2")
    assert resource["deployment.environment.name"] == "staging"
    (body,) = collector.bodies("/v1/metrics")
    check_metrics(ExportMetricsServiceRequest.FromString(body))
    headers = collector.posts[0][1]
    assert headers["content-type"] == "application/x-protobuf"
    assert (headers["authorization"], headers["x-project"]) == ("Bearer abc", "p 1")


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_json(collector: Collector, monkeypatch: pytest.MonkeyPatch, compression: str) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", compression)
    run(PROGRAM)
    telemetry.reset()
    (body,) = collector.bodies("/v1/traces")
    (span, *_) = json.loads(body)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert len(span["traceId"]) == 32 and span["kind"] in (1, 3) and isinstance(span["startTimeUnixNano"], str)
    check_trace(from_json(body, ExportTraceServiceRequest()))
    (body,) = collector.bodies("/v1/metrics")
    check_metrics(from_json(body, ExportMetricsServiceRequest()))
    assert {headers["content-type"] for _, headers, _ in collector.posts} == {"application/json"}


def test_grpc(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.grpc", reason="needs the extra otel-grpc")
    import grpc
    from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

    received: dict[str, list[Any]] = {"traces": [], "metrics": []}

    class Traces(trace_service_pb2_grpc.TraceServiceServicer):
        def Export(self, request: Any, context: Any) -> Any:
            received["traces"].append((request, dict(context.invocation_metadata())))
            return trace_service_pb2.ExportTraceServiceResponse()

    class Metrics(metrics_service_pb2_grpc.MetricsServiceServicer):
        def Export(self, request: Any, context: Any) -> Any:
            received["metrics"].append(request)
            return metrics_service_pb2.ExportMetricsServiceResponse()

    server = grpc.server(ThreadPoolExecutor(2))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(Traces(), server)
    metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(Metrics(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        given = f'{{:endpoint "http://127.0.0.1:{port}" :protocol "grpc" :headers {{"X-Project" "p"}}}}'
        assert run(f"(otel/configure {given})") is True
        run(PROGRAM)
        telemetry.reset()
    finally:
        server.stop(0)
    ((request, metadata),) = received["traces"]
    check_trace(request)
    check_metrics(received["metrics"][0])
    assert metadata["x-project"] == "p"


def test_configured_by_the_program(collector: Collector) -> None:
    given = f'{{:endpoint "{collector.url}/" :key "k-1" :headers {{:x-tenant "acme"}} :service-name "bot" :env "test"}}'
    assert run(f"(otel/configure {given})") is True
    run(PROGRAM)
    telemetry.reset()
    assert {where for where, _, _ in collector.posts} == {"/v1/traces", "/v1/metrics"}
    headers = collector.posts[0][1]
    assert (headers["authorization"], headers["x-tenant"]) == ("Bearer k-1", "acme")
    traces = ExportTraceServiceRequest.FromString(collector.bodies("/v1/traces")[0])
    resource = values(traces.resource_spans[0].resource.attributes)
    assert (resource["service.name"], resource["deployment.environment.name"]) == ("bot", "test")


def test_headers_as_text_and_headers_that_can_not_be_sent(collector: Collector) -> None:
    for bad in ('{:x "a\\nb"}', '{:x "é"}', '"=secret"'):
        with pytest.raises(SemaError, match="can't be sent") as raised:
            run(f'(otel/configure {{:endpoint "{collector.url}" :headers {bad}}})')
        assert "secret" not in str(raised.value)
    run(f'(otel/configure {{:endpoint "{collector.url}" :headers "a=b=c, d=e"}})')
    run(PROGRAM)
    telemetry.reset()
    assert (collector.posts[0][1]["a"], collector.posts[0][1]["d"]) == ("b=c", "e")


def test_the_file_and_the_network_agree(collector: Collector, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("SEMA_OTEL_FILE", str(tmp_path / "spans.jsonl"))
    run(PROGRAM)
    telemetry.reset()
    sent = spans_in(ExportTraceServiceRequest.FromString(collector.bodies("/v1/traces")[0]))
    for span in read(tmp_path / "spans.jsonl"):
        other = sent[span.name]
        assert (span["trace_id"], span["span_id"]) == (other.trace_id.hex(), other.span_id.hex())
        assert span["parent_span_id"] == (other.parent_span_id.hex() or "0" * 16)
        assert int(span["start_unix_nano"]) == other.start_time_unix_nano
        assert span.attributes == values(other.attributes)


def test_an_endpoint_for_traces_alone(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{collector.url}/custom")
    run(PROGRAM)
    telemetry.reset()
    ((path, _, body),) = collector.posts
    assert path == "/custom"
    check_trace(ExportTraceServiceRequest.FromString(body))


def test_retries_are_children(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    from llm_support import Answer, chat_reply, serving

    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    with serving(Answer(500, "{}"), Answer(body=chat_reply("ok"))) as server:
        run(f'(llm/configure :openai {{:api-key "k" :base-url "{server.url}"}}) (llm/complete "hi")')
    telemetry.reset()
    sent = spans_in(ExportTraceServiceRequest.FromString(collector.bodies("/v1/traces")[0]))
    assert sent["llm.retry_attempt"].parent_span_id == sent["chat gpt-5.5"].span_id
    assert values(sent["llm.retry_attempt"].attributes)["sema.retry.attempt"] == 1


# Collectors that don't work


HASTE = {"OTEL_EXPORTER_OTLP_TIMEOUT": "300"}  # milliseconds


def program(tmp_path: Path, text: str = PROGRAM + '(println "done")') -> str:
    path = tmp_path / "program.sema"
    path.write_text(text)
    return str(path)


def sema(path: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "SEMA_OTEL"))}
    return subprocess.run(
        [sys.executable, "-m", "semac.cli.entry", path],
        capture_output=True,
        text=True,
        env=kept | environment,
        timeout=60,
    )


@pytest.mark.parametrize("protocol", ["http/protobuf", "http/json", "grpc"])
def test_nobody_listens(tmp_path: Path, protocol: str) -> None:
    url = f"http://127.0.0.1:{closed_port()}"
    done = sema(program(tmp_path), OTEL_EXPORTER_OTLP_ENDPOINT=url, OTEL_EXPORTER_OTLP_PROTOCOL=protocol, **HASTE)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert 1 <= done.stderr.count("\n") <= 2
    assert all(line.startswith("warning: telemetry: ") for line in done.stderr.splitlines())


def test_a_collector_that_refuses(tmp_path: Path, collector: Collector) -> None:
    collector.status = 401
    headers = "authorization=Bearer secret-token-1234"
    done = sema(program(tmp_path), OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OTEL_EXPORTER_OTLP_HEADERS=headers)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr.count("\n") == 1 and "401" in done.stderr and "secret" not in done.stderr


def test_a_collector_that_never_answers(tmp_path: Path, collector: Collector) -> None:
    collector.release = threading.Event()
    done = sema(program(tmp_path), OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    assert (done.returncode, done.stdout) == (0, "done\n") and collector.posts
    assert "the collector does not answer" in done.stderr


@pytest.mark.parametrize("url", ["not a url", "http://", "ftp://x", "http://user:hunter2secret@127.0.0.1:1"])
def test_odd_endpoints(tmp_path: Path, url: str) -> None:
    done = sema(program(tmp_path), OTEL_EXPORTER_OTLP_ENDPOINT=url, **HASTE)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr.startswith("warning: telemetry: ") and done.stderr.count("\n") <= 2
    assert "hunter2secret" not in done.stderr


def test_an_unknown_protocol(collector: Collector, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "carrier/pigeon")
    run(PROGRAM)
    telemetry.reset()
    assert collector.bodies("/v1/traces")
    assert capsys.readouterr().err == (
        "warning: telemetry: there is no OTLP protocol 'carrier/pigeon'; http/protobuf is used instead\n"
    )


def test_without_the_exporters(tmp_path: Path) -> None:
    """One line says what to install; the file sink needs none of it."""
    (tmp_path / "opentelemetry").mkdir()
    (tmp_path / "opentelemetry" / "__init__.py").write_text("raise ImportError('not installed')")
    done = sema(
        program(tmp_path),
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:4318",
        SEMA_OTEL_FILE=str(tmp_path / "spans.jsonl"),
        PYTHONPATH=str(tmp_path),
    )
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr.count("\n") == 1 and "pip install 'semac[otel]'" in done.stderr
    assert len(read(tmp_path / "spans.jsonl")) == 3


def test_interrupted(tmp_path: Path, collector: Collector) -> None:
    """What was open says so; what a task was doing is there too."""
    path = program(
        tmp_path,
        '(async (with-span "task" {} (println "waiting") (async/sleep 60000)))\n'
        '(with-span "main" {} (with-span "begun" {} 1) (async/sleep 60000))',
    )
    environment = os.environ | {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_METRICS_EXPORTER": "none"}
    process = subprocess.Popen(
        [sys.executable, "-m", "semac.cli.entry", path],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 1
    requests = map(ExportTraceServiceRequest.FromString, collector.bodies("/v1/traces"))
    sent = {name: span for request in requests for name, span in spans_in(request).items()}
    assert set(sent) == {"task", "main", "begun"}
    assert sent["main"].status.message == "interrupted" and sent["task"].status.code == 2


# The OpenTelemetry of the program around us


def python(script: str, **environment: str) -> dict[str, Any]:
    """What a Python program prints as JSON."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "SEMA_OTEL"))}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, env=kept | environment, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


HOST = """
import json
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from semac.session import Session

kept, reader = InMemorySpanExporter(), InMemoryMetricReader()

def configure():
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider([reader]))

def shown():
    names = {span.context.span_id: span.name for span in kept.get_finished_spans()}
    parents = {span.name: names.get(span.parent.span_id) if span.parent else None for span in kept.get_finished_spans()}
    data = reader.get_metrics_data()
    found = [one.name for r in data.resource_metrics for s in r.scope_metrics for one in s.metrics] if data else []
    print(json.dumps({"parents": parents, "metrics": sorted(found)}))
"""
ECHO = """
    (llm/define-provider :echo {:complete (fn (req) (with-span "inside" {} "hi")) :default-model "m"})
    (llm/complete "hi")
"""


def test_a_host_gets_our_spans_below_its_own() -> None:
    shown = python(HOST + f"""
configure()
tracer = trace.get_tracer("host")
def handler():
    with tracer.start_as_current_span("deep"):
        Session().run('''{ECHO}''')
ours = Session().run('(fn (f) (with-span "ours" {{}} (f)))')
with tracer.start_as_current_span("request"):
    ours(handler)
with tracer.start_as_current_span("next"):
    pass
shown()
""")  # fmt: skip
    assert shown["parents"] == {
        **{"inside": "chat m", "chat m": "deep", "deep": "ours", "ours": "request", "request": None, "next": None}
    }
    assert shown["metrics"] == ["gen_ai.client.operation.duration", "gen_ai.client.token.usage"]


def test_a_host_may_configure_later() -> None:
    shown = python(HOST + f"""
session = Session()
session.run('''{ECHO}''')
configure()
session.run('(llm/complete "again")')
shown()
""")  # fmt: skip
    assert shown["parents"] == {"inside": "chat m", "chat m": None}


def test_a_host_goes_before_an_endpoint(collector: Collector) -> None:
    shown = python(HOST + f"""
configure()
Session().run('''{ECHO}''')
shown()
""", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)  # fmt: skip
    assert "chat m" in shown["parents"] and not collector.posts


def test_a_host_that_has_only_imported_it_gets_nothing() -> None:
    shown = python(f"""
import json, opentelemetry.trace
from semac.session import Session
Session().run('''{ECHO}''')
from sema_runtime import telemetry
print(json.dumps({{"on": telemetry.tracer() is not None}}))
""")
    assert shown == {"on": False}


def test_side_by_side_tasks_of_a_host() -> None:
    """Coroutines that await Sema functions keep their own spans."""
    shown = python(HOST + f"""
import asyncio
from sema_runtime import tasks
configure()
session = Session()
session.run('''{ECHO.replace('(llm/complete "hi")', '')}
(define (work n) (with-span (str "w" n) {{}} (async/sleep n) (llm/complete "hi" {{:model (str "m" n)}})))''')
tracer = trace.get_tracer("host")
async def one(n):
    with tracer.start_as_current_span(f"h{{n}}"):
        await tasks.call(session.globals["work"], n)
async def main():
    await asyncio.gather(*(one(n) for n in range(5)))
asyncio.run(main())
shown()
""")  # fmt: skip
    for n in range(5):
        assert shown["parents"][f"chat m{n}"] == f"w{n}" and shown["parents"][f"w{n}"] == f"h{n}"
