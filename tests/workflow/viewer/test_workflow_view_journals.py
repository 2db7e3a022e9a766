"""The viewer's server: journals as they are and as they grow, the stream of events, `sema workflow view`."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from view_client import client as client
from viewer_support import signing_key as signing_key
from viewer_support import viewer as viewer
from workflow_journals import GOLDEN, Segment, review, wide, written

from sema_runtime.values.errors import SemaError
from sema_runtime.workflow.viewer import answers
from sema_runtime.workflow.viewer.journal import Journal
from sema_runtime.workflow.viewer.server import Viewer

pytestmark = pytest.mark.journals_by_hand


def whole(folder: Path) -> Journal:
    """A journal that has been read to its end."""
    journal = Journal(folder)
    journal.unread()
    while journal.read():
        pass
    return journal


# Journals as they are


def test_resumed_runs_are_one_tree(tmp_path: Path) -> None:
    journal = whole(written(tmp_path, "a", review(until="running"), review()))
    assert [(row["name"], row["agents"], row["status"]) for row in answers.summary(journal, 0)["phases"]] == [
        ("Read", 0, "success"),
        ("Judge", 12, "success"),
        ("Report", 1, "success"),
    ]
    assert [int(status) for status in journal.state.agents.status[:6]] == [1, 1, 3, 3, 3, 3]
    assert journal.state.status == "success"


def test_a_phase_opened_again_is_another_one(tmp_path: Path) -> None:
    run = Segment(phases=["a", "b"])
    for name in ("a", "b", "a", "c", "a"):
        run.open_phase(name)
        run.checkpoint("x", "1")
    run.end()
    found = answers.summary(whole(written(tmp_path, "a", run, run)), 0)
    assert [(row["name"], row["checkpoints"]) for row in found["phases"]] == [
        ("a", 2), ("b", 2), ("a", 2), ("c", 2), ("a", 2),
    ]  # fmt: skip


def test_damaged_lines_are_counted_and_passed_over(tmp_path: Path) -> None:
    lines = review().lines
    damage = ["{", "[1]", "null", '{"event":3}', "\x00\xff", '{"a":1},{"b":2}', "[" * 100_000]
    state = whole(written(tmp_path, "a", [*lines[:5], *damage, "", *lines[5:]])).state
    assert state.damaged == len(damage)
    assert state.status == "success"
    assert len(state.agents) == 7


def test_hostile_values_are_taken_for_unknown(tmp_path: Path) -> None:
    run = Segment(phases=["a", 3])
    run.add("phase.started", phase={"x": 1})
    run.add("agent.started", agent_id="a_1", agent_name=[1], model=5)
    run.add("agent.result", agent_id="a_1", status=[], dur_ms=-5, output=None, model={})
    run.add("budget", agent_id="a_1", input_tokens=10**40, output_tokens="9", cost_usd="1", budget_limit="x")
    run.add("budget", agent_id="a_1", input_tokens=5, output_tokens=1.5, cost_usd=True)
    run.add("agent.result", agent_id=7, status="ok")
    run.add("agent.result", agent_id="a_1", status="ok", dur_ms=5)
    run.add("checkpoint", key=None)
    run.add("something.new", agent_id="a_1", x=1)
    run.lines.append('{"event":"journal.overflow","reason":"queue-full","dropped":7}')
    run.lines.append('{"event":"budget","seq":1,"ts":"x","input_tokens":1,"output_tokens":1,"cost_usd":1e999}')
    run.add("run.ended", status=3, dur_ms="x")
    journal = whole(written(tmp_path, "a", run))
    state = journal.state
    usage = state.usage
    assert (usage.input_tokens, usage.output_tokens, usage.unpriced, usage.cost_usd) == (6, 2, 3, None)
    assert state.overflow == {"queue-full": 7}
    assert (state.status, state.damaged) == ("failed", 0)


def test_fields_in_another_order(tmp_path: Path) -> None:
    turned = [json.dumps(dict(sorted(json.loads(line).items(), reverse=True))) for line in review().lines]
    there, here = whole(written(tmp_path, "a", turned)).state, whole(written(tmp_path, "b", review())).state
    many = len(here.agents)
    assert there.agents.tools[:many] == here.agents.tools[:many]
    assert there.agents.start[:many] == here.agents.start[:many]
    assert there.usage.cost_usd == here.usage.cost_usd


def test_reading_goes_on_where_it_ended(tmp_path: Path) -> None:
    text = "".join(f"{line}\n" for line in review().lines).encode()
    folder = written(tmp_path, "a", "")
    journal = Journal(folder)
    for end in range(0, len(text), 777):
        (folder / "events.jsonl").write_bytes(text[:end])
        journal.unread()
        while journal.read():
            pass
        assert len(journal.state.kind) == text[:end].count(b"\n")
    (folder / "events.jsonl").write_bytes(text)
    journal.unread()
    while journal.read():
        pass
    assert journal.generation == 1
    assert journal.event(5).data["agent_id"] == "reader_1"
    assert journal.unread() == 0


def test_replaced_and_cut_journals_are_read_anew(tmp_path: Path) -> None:
    journal = whole(written(tmp_path, "a", review(), review()))
    (tmp_path / "a" / "events.resume-1.jsonl").unlink()
    assert journal.unread() > 0
    assert journal.generation == 2
    while journal.read():
        pass
    assert len(journal.state.segments) == 1
    written(tmp_path, "a", GOLDEN)
    assert journal.unread() == len(GOLDEN)
    assert journal.generation == 3


def test_a_line_without_end_is_no_burden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sema_runtime.workflow.journal import segments

    monkeypatch.setattr(segments, "LONGEST", 1 << 20)
    lines = review().lines
    state = whole(written(tmp_path, "a", [*lines[:4], '{"event":"' + "x" * (3 << 20), *lines[4:]])).state
    assert (state.damaged, state.status, len(state.agents)) == (1, "success", 7)


def test_ten_thousand_agents(client: httpx.Client, viewer: Viewer) -> None:
    written(viewer.root, "a", wide(10_000))
    while (found := client.get("/api/run/a/summary").json())["unread"]:
        assert found["status"] == "success"  # known from the end of the journal
    assert (found["agents"], found["finished"], found["parallel"]) == (10_000, 10_000, 50)
    assert len(client.get("/api/run/a/rows?phase=2&first=2400&many=1000").json()["rows"]) == 100
    timeline = client.get("/api/run/a/timeline?width=300").content
    assert len(timeline) < 1_000_000


# The stream


def messages(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """Events of a stream as (id, data)."""
    known = ""
    for line in lines:
        name, _, value = line.partition(": ")
        if name == "id":
            known = value
        elif name == "data":
            yield known, json.loads(value)


def test_stream_tells_what_is_added(client: httpx.Client, viewer: Viewer) -> None:
    lines = review().lines
    folder = written(viewer.root, "a", lines[:6])
    with client.stream("GET", "/api/run/a/stream") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        found = messages(stream.iter_lines())
        cursor, first = next(found)
        assert (first["events"], first["status"], first["running"]) == (6, "running", 1)
        with (folder / "events.jsonl").open("a") as file:
            file.writelines(f"{line}\n" for line in lines[6:])
        later, last = next(found)
        while last["status"] == "running":
            later, last = next(found)
        assert (last["events"], last["status"]) == (len(lines), "success")
    with client.stream("GET", "/api/run/a/stream", headers={"last-event-id": cursor}) as stream:
        assert next(messages(stream.iter_lines()))[0] == later


def test_stream_of_a_run_that_is_deleted_ends(client: httpx.Client, viewer: Viewer) -> None:
    folder = written(viewer.root, "a", GOLDEN)
    with client.stream("GET", "/api/run/a/stream") as stream:
        found = messages(stream.iter_lines())
        next(found)
        (folder / "events.jsonl").unlink()
        assert list(found) == []


def test_stopping_closes_streams(viewer: Viewer, client: httpx.Client) -> None:
    written(viewer.root, "a", GOLDEN)
    with client.stream("GET", "/api/run/a/stream") as stream:
        found = messages(stream.iter_lines())
        next(found)
        viewer.stop()
        assert list(found) == []
    assert viewer.ended.is_set()


# The command


VIEW = "import sys; from semac.cli.workflow.view import main; sys.exit(main(sys.argv[1:]))"


def view(*args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", VIEW, *args],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_command_serves_until_ctrl_c(tmp_path: Path) -> None:
    written(tmp_path, "a", GOLDEN)
    process = view("--run-dir", str(tmp_path), "-p", "0")
    try:
        assert process.stdout
        first, second = process.stdout.readline(), process.stdout.readline()
        url = first.removeprefix("Sema workflow viewer:  ").strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
        assert second == f"  runs: {tmp_path}\n"
        assert httpx.get(f"{url}/api/runs").json() == ["a"]
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.communicate()


def test_command_says_when_the_port_is_taken(tmp_path: Path, viewer: Viewer) -> None:
    process = view("--run-dir", str(tmp_path), "-p", str(viewer.port))
    out, error = process.communicate(timeout=20)
    assert (process.returncode, out) == (1, "")
    assert f"cannot listen at 127.0.0.1:{viewer.port}: Address already in use" in error
    assert "Traceback" not in error


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(SemaError, match=r"needs the package uvicorn: pip install 'semac\[web\]'"):
        Viewer(tmp_path, port=0).start()
