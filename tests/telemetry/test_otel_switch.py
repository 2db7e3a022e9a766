"""Turning traces on and off, the sandbox, and the files that spans are written to."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from llm_support import llm as llm
from llm_support import run
from otel_programs import ECHO
from otel_support import Sink, read
from otel_support import otel as otel
from otel_support import sink as sink

from sema_runtime import capabilities, sandbox, telemetry
from sema_runtime.values.errors import PermissionDenied, SemaError

pytestmark = pytest.mark.usefixtures("llm", "otel")


# Turning it on and off


def test_off_loads_nothing(tmp_path: Path) -> None:
    (tmp_path / "off.sema").write_text(ECHO + '(with-span "a" {} (llm/complete "hi"))')
    script = (
        "import sys; from semac.cli.running import run_file; status = run_file(sys.argv[1]);"
        "print(status, [name for name in sys.modules if 'opentelemetry' in name or 'sema_runtime.telemetry.' in name])"
    )
    done = child([sys.executable, "-c", script, str(tmp_path / "off.sema")])
    assert done.stdout.strip() == "0 []", done.stderr


def child(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "SEMA_OTEL"))}
    return subprocess.run(command, capture_output=True, text=True, env=kept | environment, timeout=60)


def test_configure(tmp_path: Path) -> None:
    assert run("(otel/configure {})") is False and run("(otel/configure {:file 1})") is False
    path = tmp_path / "spans.jsonl"
    assert run(f"(otel/configure {{:file {json.dumps(str(path))} :capture-content #t}})") is True
    assert run(f"(otel/configure {{:file {json.dumps(str(tmp_path / 'other'))}}})") is False
    run(ECHO + '(llm/complete "what?")')
    assert "what?" in Sink(path).one("chat m-1").attributes["gen_ai.input.messages"]
    assert not (tmp_path / "other").exists()


def test_the_environment_goes_first(sink: Sink, tmp_path: Path) -> None:
    assert run(f"(otel/configure {{:file {json.dumps(str(tmp_path / 'other'))} :capture-content #t}})") is False
    run(ECHO + '(llm/complete "what?")')
    assert "gen_ai.input.messages" not in sink.one("chat m-1").attributes


def test_otel_sdk_disabled_turns_all_off(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "TRUE")
    assert run('(with-span "a" {} 1)') == 1 and telemetry.tracer() is None


@pytest.fixture
def restricted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "denied", set())
    monkeypatch.setattr(capabilities, "allowed", None)


@pytest.mark.usefixtures("restricted")
def test_a_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    sandbox.enter(["network"], [str(inside)])
    with pytest.raises(PermissionDenied):
        run(f"(otel/configure {{:file {json.dumps(str(tmp_path / 'out.jsonl'))}}})")
    with pytest.raises(PermissionDenied):
        run('(otel/configure {:endpoint "https://example.com"})')
    monkeypatch.setenv("SEMA_OTEL_FILE", str(tmp_path / "sneaked.jsonl"))  # as a program could set it
    run('(with-span "a" {} 1)')
    assert list(tmp_path.iterdir()) == [inside]
    assert run(f"(otel/configure {{:file {json.dumps(str(inside / 'in.jsonl'))}}})") is True


@pytest.mark.usefixtures("restricted")
def test_a_sandbox_with_network_keeps_to_the_outside() -> None:
    capabilities.restrict(["shell"])
    with pytest.raises(SemaError, match="internal/loopback host"):
        run('(otel/configure {:endpoint "http://127.0.0.1:4318"})')


# Files


def test_a_file_that_can_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    for path in (tmp_path / "missing" / "spans.jsonl", tmp_path):
        telemetry.reset()
        monkeypatch.setenv("SEMA_OTEL_FILE", str(path))
        assert run('(with-span "a" {} (with-span "b" {} 1))') == 1
        shown = capsys.readouterr().err
        assert shown.count("\n") == 1 and shown.startswith(f"warning: telemetry: can't write spans to {path}: ")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_nobody_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setenv("SEMA_OTEL_FILE", str(tmp_path / "pipe"))
    assert run('(with-span "a" {} 1)') == 1
    assert "can't write spans" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_that_is_read_too_slowly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """The program goes on; what doesn't fit into the queue is lost, and counted."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    monkeypatch.setenv("SEMA_OTEL_FILE", str(pipe))
    monkeypatch.setenv("SEMA_OTEL_FILE_QUEUE", "10")
    monkeypatch.setattr("sema_runtime.telemetry.file_sink.PATIENCE", 0.2)
    assert run('(for-each (fn (n) (with-span "a" {:text (string/repeat "x" 10000)} n)) (range 500))') is None
    tracer = telemetry.tracer()
    assert tracer is not None and tracer.file is not None
    telemetry.reset()
    shown = capsys.readouterr().err
    tracer.file.failed = True  # what follows is no news
    os.close(reader)
    assert "gave up writing spans" in shown and re.search(r"\d+ spans did not reach", shown)


def test_two_processes_on_one_file(tmp_path: Path) -> None:
    program = tmp_path / "many.sema"
    program.write_text('(for-each (fn (n) (with-span "a" {:n n :text (string/repeat "x" (* 7 n))} n)) (range 500))')
    environment = os.environ | {"SEMA_OTEL_FILE": str(tmp_path / "spans.jsonl")}
    both = [
        subprocess.Popen([sys.executable, "-m", "semac.cli.entry", str(program)], env=environment) for _ in range(2)
    ]
    assert [process.wait(60) for process in both] == [0, 0]
    assert sorted(span.attributes["n"] for span in read(tmp_path / "spans.jsonl")) == sorted([*range(500)] * 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_writes_its_own_spans(tmp_path: Path) -> None:
    script = """
import os, sys
from sema_runtime import telemetry
from sema_runtime.telemetry.work import ProgramSpan
def span(name): return ProgramSpan(telemetry.tracer(), name, "chain", {})
with span("parent"):
    with span("before"): pass
    child = os.fork()
    if child == 0:
        with span("child"): pass
        sys.exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    done = child([sys.executable, "-c", script], SEMA_OTEL_FILE=str(tmp_path / "spans.jsonl"))
    assert done.returncode == 0, done.stderr
    spans = read(tmp_path / "spans.jsonl")
    assert sorted(span.name for span in spans) == ["before", "child", "parent"]


@pytest.mark.parametrize(("end", "status"), [("(exit 3)", 3), ('(error "boom")', 1), ("(async/sleep 1)", 0)])
def test_the_end_of_the_program_writes_everything(tmp_path: Path, end: str, status: int) -> None:
    program = tmp_path / "end.sema"
    program.write_text(f'(async (with-span "waits" {{}} (async/sleep 0.01) 1))\n(with-span "last" {{}} {end})')
    done = child([sys.executable, "-m", "semac.cli.entry", str(program)], SEMA_OTEL_FILE=str(tmp_path / "spans.jsonl"))
    assert done.returncode == status
    assert "last" in [span.name for span in read(tmp_path / "spans.jsonl")]
