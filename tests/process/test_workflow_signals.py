"""Workflows that are interrupted, by Ctrl-C and other signals, at every kind of wait."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from workflow_schema import journals_fit_their_schema as journals_fit_their_schema
from workflow_trouble import ENV, IN_SHELL, PROVIDER, SEMA, SPLIT, Ended, calls, events, only_run, readable, sema

SILENT = """
import socket, sys, time
socket.create_connection(("127.0.0.1", int(sys.argv[1])))
time.sleep(100)
"""  # a server that tells us that it runs, and then never says a word
OPENAI = '(llm/configure :openai {:api-key "sk-x" :base-url BASE :default-model "m"})'
SLEEP = '(workflow/step "s" (fn () (begun) (async/sleep ms)))'
CALLS = {
    "a call to a model": OPENAI + '(step "x")',
    "calls side by side": OPENAI + "(pipeline (range 5) (fn (n) (step (str n))))",
}
WAITS = {
    "async/sleep": SLEEP,
    "sleep": '(workflow/step "s" (fn () (begun) (sleep ms)))',
    "sleeping side by side": f"(parallel (map (fn (n) (fn () {SLEEP})) (range 5)))",
    "standard input": '(workflow/step "s" (fn () (begun) (read-line)))',
    "a command": '(workflow/step "s" (fn () (begun) (shell "sleep" (str ms))))',
    "a loop": """(workflow/step "s" (fn ()
        (begun) (let loop ((i 0)) (if (= i 1000) 1 (loop (if (= ms 0) (+ i 1) 0))))))""",
    "between attempts": """(with-retry {:base-ms ms :on (fn (e n) (begun))}
        (fn () (workflow/step "s" (fn () (if (= ms 0) 1 (error "x"))))))""",
    "where errors are caught": f"(try {SLEEP} (catch e :caught))",
    "a checkpoint": "(checkpoint :k (begin (begun) (async/sleep ms)))",
    "a run inside of the run": f'(defworkflow inner "" {{}} {SLEEP})',
}
"""ms: 0 where QUICK is set."""
SERVERS = {
    "a server that is a program": '{a {:command PYTHON :args ["silent.py" "PORT"]}}',
    "a server of the network": '{a {:url "http://127.0.0.1:PORT/mcp"}}',
}
HEAD = PROVIDER + '(define ms (if (env "QUICK") 0 60000)) (define (begun) (println-error "begun"))'


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield server


def interrupted(
    folder: Path, text: str, *signals: int, ready: Callable[[Any], None] | None = None, more: Sequence[str] = ()
) -> Ended:
    """Runs w.sema, with more options, and sends it signals. ready: waits until it is time; without it that is when the
    program has written `begun` to stderr."""
    (folder / "w.sema").write_text(text)
    command = [*SEMA, "workflow", "run", "w.sema", "--run-dir", "runs", *more]
    with subprocess.Popen(
        command,
        cwd=folder,
        env=ENV | {"BROWSER": "true"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        lines = []
        if ready is not None:
            ready(process)
        while ready is None and (not lines or not lines[-1].endswith("begun\n")):
            lines.append(process.stderr.readline())
            assert lines[-1], "".join(lines)
        for number in signals:
            process.send_signal(number)
        try:
            out, rest = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:  # it came in the moment before a read or a wait of Python's own began
            process.send_signal(signals[0])
            out, rest = process.communicate(timeout=20)
    return Ended(process.returncode, out, "".join(lines) + rest)


def check_interrupted(folder: Path, ended: Ended, status: int = 1) -> Path:
    """The directory of the run, when all is as it should be after Ctrl-C."""
    assert ended.status == status, ended.err
    root = folder / "runs"
    readable(root, folder / "out")
    (outer,) = (run for run in root.glob("*/") if not ended.err.find(f"--resume {run.name} --run-dir runs") < 0)
    assert "w was interrupted; what was finished is kept. Go on with:" in ended.err
    for run in root.glob("*/events.jsonl"):
        found = events(run.parent)
        last = found[-1]
        assert (last["event"], last["status"], last["reason"]) == ("run.ended", "failed", "interrupted")
        started = [event["agent_id"] for event in found if event["event"] == "agent.started"]
        results = [event["agent_id"] for event in found if event["event"] == "agent.result"]
        assert {*started} <= {*results}  # every step that was begun has an end
        assert len(results) == len({*results})
        assert json.loads((run.parent / "result.json").read_text()) == {"error": "interrupted", "status": "failed"}
    return outer


@pytest.mark.parametrize("wait", WAITS)
def test_ctrl_c_at_every_kind_of_wait(wait: str, tmp_path: Path) -> None:
    """Then the run is resumed, and doesn't wait any more: what was finished is not done again."""
    text = HEAD + f'(defworkflow w "" {{}} (step "one") {WAITS[wait]} (step "two"))'
    run = check_interrupted(tmp_path, interrupted(tmp_path, text, signal.SIGINT))
    assert calls(tmp_path) == ["one"]
    again = sema(tmp_path, "workflow", "run", "w.sema", "--run-dir", "runs", "--resume", run.name, QUICK="1")
    assert (again.status, calls(tmp_path)) == (0, ["one", "two"]), again.err


@pytest.mark.parametrize("wait", CALLS)
def test_ctrl_c_while_a_model_answers(wait: str, tmp_path: Path, silent: socket.socket) -> None:
    call = CALLS[wait].replace("BASE", f'"http://127.0.0.1:{silent.getsockname()[1]}/v1"')
    text = HEAD + f'(defworkflow w "" {{}} (checkpoint :k 1) {call})'
    run = check_interrupted(tmp_path, interrupted(tmp_path, text, signal.SIGINT, ready=lambda _: silent.accept()))
    results = [event["status"] for event in events(run) if event["event"] == "agent.result"]
    assert set(results) == {"failed"}


@pytest.mark.parametrize("server", SERVERS)
def test_ctrl_c_while_servers_are_connected(server: str, tmp_path: Path, silent: socket.socket) -> None:
    (tmp_path / "silent.py").write_text(SILENT)
    spec = SERVERS[server].replace("PORT", str(silent.getsockname()[1])).replace("PYTHON", json.dumps(sys.executable))
    text = f'(defworkflow w "" {{:mcp {spec}}} 1)'
    check_interrupted(tmp_path, interrupted(tmp_path, text, signal.SIGINT, ready=lambda _: silent.accept()))


@pytest.mark.parametrize("wait", ["async/sleep", "a command"])
def test_ctrl_c_twice(wait: str, tmp_path: Path) -> None:
    """The second comes while the run is being ended: at worst its end is missing, and it can be resumed."""
    text = HEAD + f'(defworkflow w "" {{}} (step "one") {WAITS[wait]})'
    ended = interrupted(tmp_path, text, signal.SIGINT, signal.SIGINT)
    assert ended.status in (1, 130, -signal.SIGINT)
    readable(tmp_path / "runs", tmp_path / "out")
    run = only_run(tmp_path / "runs")
    again = sema(tmp_path, "workflow", "run", "w.sema", "--run-dir", "runs", "--resume", run.name, QUICK="1")
    assert (again.status, calls(tmp_path)) == (0, ["one"])


def test_ctrl_c_when_nothing_runs_any_more(tmp_path: Path) -> None:
    """Behind the run, in the same program: its result stands, and there is nothing to go on with."""
    text = HEAD + '(defworkflow w "" {} (step "one") 1) (begun) (async/sleep ms)'
    ended = interrupted(tmp_path, text, signal.SIGINT)
    assert ended.status == 1
    assert "Go on with" not in ended.err
    assert events(only_run(tmp_path / "runs"))[-1]["status"] == "success"


@pytest.mark.parametrize(
    ("number", "wait"),
    [
        *((signal.SIGTERM, wait) for wait in ("async/sleep", "sleeping side by side", "standard input", "a loop")),
        *((signal.SIGHUP, wait) for wait in ("async/sleep", "a command")),
    ],
)
def test_other_signals_that_end_a_program(number: signal.Signals, wait: str, tmp_path: Path) -> None:
    """`docker stop`, a cancelled job, a terminal that is closed: as Ctrl-C, with the signal's own status."""
    text = HEAD + f'(defworkflow w "" {{}} (step "one") {WAITS[wait]})'
    run = check_interrupted(tmp_path, interrupted(tmp_path, text, number), 128 + number)
    again = sema(tmp_path, "workflow", "run", "w.sema", "--run-dir", "runs", "--resume", run.name, QUICK="1")
    assert (again.status, calls(tmp_path)) == (0, ["one"])


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 1), (signal.SIGTERM, 143)])
def test_a_viewer_beside_the_run_ends_with_it(number: int, status: int, tmp_path: Path) -> None:
    text = HEAD + f'(defworkflow w "" {{}} (step "one") {SLEEP})'
    ended = interrupted(tmp_path, text, number, more=["--view", "--port", "0"])
    check_interrupted(tmp_path, ended, status)
    assert ended.out.startswith("Live viewer: http://127.0.0.1:")


def test_a_run_that_shall_outlive_its_terminal(tmp_path: Path) -> None:
    """`nohup` has it ignore SIGHUP; so it does."""
    text = HEAD + '(defworkflow w "" {} (workflow/step "a" (fn () (begun) (async/sleep 50) 1)))'
    (tmp_path / "w.sema").write_text(text)
    script = "trap '' HUP; $SEMA workflow run w.sema --run-dir runs -q 2> >(read line; kill -HUP 0; cat >&2) & wait $!"
    with subprocess.Popen(
        ["bash", "-c", SPLIT + script], cwd=tmp_path, env=ENV | IN_SHELL, start_new_session=True
    ) as process:
        assert process.wait(60) == 0
    assert events(only_run(tmp_path / "runs"))[-1]["status"] == "success"
