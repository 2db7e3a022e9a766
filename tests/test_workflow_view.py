"""The server of the workflow viewer: its routes with a real server, and its reading of journals as they grow."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from viewer_support import asked, signing_key, viewer
from workflow_journals import GOLDEN, Segment, review, wide, written

from sema_runtime.values.errors import SemaError
from sema_runtime.workflow.viewer import answers
from sema_runtime.workflow.viewer.guard import host_allowed, safe_segment
from sema_runtime.workflow.viewer.journal import Journal
from sema_runtime.workflow.viewer.server import Viewer

__all__ = ["signing_key", "viewer"]  # fixtures

MCP = {
    "asana": {"url": "https://mcp.asana.com/sse", "auth": {"scopes": ["default"]}, "tools": ["create_task"]},
    "files": {"command": "fileserver", "args": ["--root", "."], "env": {"KEY": "<redacted>"}},
    "linear": {"url": "https://mcp.linear.app/sse", "auth": {"scopes": ["read"]}, "persist": "run"},
}


@pytest.fixture
def client(viewer: Viewer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=viewer.url, timeout=20) as made:
        yield made


def token(client: httpx.Client) -> str:
    found = re.search(r'name="sema-view-token" content="([0-9a-f]{32})"', client.get("/").text)
    assert found
    return found[1]


def whole(folder: Path) -> Journal:
    """A journal that has been read to its end."""
    journal = Journal(folder)
    journal.unread()
    while journal.read():
        pass
    return journal


# The table of the format


def test_every_answer_closes_and_is_not_kept(client: httpx.Client, viewer: Viewer) -> None:
    written(viewer.root, "a", GOLDEN)
    for path in ("/", "/api/runs", "/api/run/a/events.jsonl", "/nowhere", "/assets/main.js", "/api/run/a/summary"):
        answer = client.get(path)
        assert answer.headers["connection"] == "close"
        assert answer.headers["cache-control"] == "no-store"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_page_has_a_token_of_this_process(client: httpx.Client) -> None:
    page = client.get("/?run=x")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "__SEMA_VIEW_TOKEN__" not in page.text
    assert token(client) == token(client)


def test_page_needs_nothing_from_elsewhere(client: httpx.Client) -> None:
    page = client.get("/").text
    assets = re.findall(r'(?:src|href)="(/assets/[^"]+)"', page)
    assert len(assets) == 4
    assert "//" not in "".join(re.findall(r'(?:src|href)="([^"]*)"', page))
    assert "<style" not in page
    assert not re.search(r"\son\w+=|style=", page)
    for asset in [*assets, "/alpine.min.js"]:
        assert client.get(asset).status_code == 200


def test_runs_newest_first(client: httpx.Client, viewer: Viewer) -> None:
    assert client.get("/api/runs").json() == []
    for at, name in enumerate(("old", "new run", "newest")):
        os.utime(written(viewer.root, name, GOLDEN) / "events.jsonl", (at, at))
    (viewer.root / "no journal").mkdir()
    assert client.get("/api/runs").json() == ["newest", "new run", "old"]
    assert client.get("/api/run/new%20run/events.jsonl").text == GOLDEN


def test_files_of_a_run(client: httpx.Client, viewer: Viewer) -> None:
    folder = written(viewer.root, "a", GOLDEN, meta={"meta": {}}, result={"status": "success"})
    journal = client.get("/api/run/a/events.jsonl?x=1")
    assert (journal.text, journal.headers["content-type"]) == (GOLDEN, "application/x-ndjson")
    assert client.get("/api/run/a/result.json").json() == {"status": "success"}
    assert client.get("/api/run/a/metadata.json").headers["content-type"] == "application/json"
    missing = client.get("/api/run/a/args.json")
    assert (missing.status_code, missing.text) == (404, "no such run/file")
    (folder / "args.json").write_text("{}")
    assert client.get("/api/run/a/args.json").json() == {}
    assert client.get("/api/run/a/secret.txt").status_code == 404


@pytest.mark.parametrize("run", ["..", "%2e%2e", "..%2fx", "a%5cb", "a%00b", "a..b", "", "."])
def test_unsafe_ids_are_no_runs(run: str, viewer: Viewer) -> None:
    (viewer.root.parent / "events.jsonl").write_text("secret")
    for what in ("events.jsonl", "summary", "auth", "stream"):
        assert b"404" in raw(viewer, f"GET /api/run/{run}/{what} HTTP/1.1\r\nHost: localhost\r\n\r\n").split(b"\r\n")[0]


def raw(viewer: Viewer, request: str) -> bytes:
    """What the server answers to these very bytes."""
    with socket.create_connection(("127.0.0.1", viewer.port), timeout=10) as made:
        made.sendall(request.encode())
        found = b""
        while part := made.recv(65536):
            found += part
        return found


def test_links_that_lead_out_are_not_followed(client: httpx.Client, viewer: Viewer) -> None:
    folder = written(viewer.root, "a", GOLDEN)
    (viewer.root.parent / "secret.json").write_text('"secret"')
    (folder / "result.json").symlink_to(viewer.root.parent / "secret.json")
    assert client.get("/api/run/a/result.json").status_code == 404


def test_other_paths_and_methods(client: httpx.Client, viewer: Viewer) -> None:
    written(viewer.root, "a", GOLDEN)
    for method, path in (
        ("GET", "/x"),
        ("POST", "/"),
        ("DELETE", "/api/run/a/events.jsonl"),
        ("GET", "/assets/../app.py"),
    ):
        answer = client.request(method, path)
        assert answer.status_code == 404
        assert answer.headers["content-type"].startswith("text/plain")


# Who may ask


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "192.168.0.4", ""])
def test_names_that_resolve_to_us_are_refused(host: str, client: httpx.Client) -> None:
    assert client.get("/api/runs", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("host", ["localhost", "localhost:8899", "127.0.0.1:1", "[::1]:80", "LOCALHOST"])
def test_loopback_names_are_served(host: str, client: httpx.Client) -> None:
    assert client.get("/api/runs", headers={"host": host}).status_code == 200


def test_hosts_of_other_listeners() -> None:
    assert host_allowed("10.0.0.7:8899", "0.0.0.0")
    assert not host_allowed("evil.example", "0.0.0.0")
    assert host_allowed("box.lan", "box.lan")
    assert not safe_segment("a/b")


def test_pages_of_other_sites_are_refused(client: httpx.Client) -> None:
    assert client.get("/api/runs", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert client.get("/api/runs", headers={"sec-fetch-site": "same-origin"}).status_code == 200


# MCP servers


def auth_run(root: Path) -> None:
    run = Segment("mcp-auth", "wf_auth")
    run.add("auth.required", server="asana", scopes=["default"], persist="workflow")
    run.add("auth.granted", server="linear", expires_at=4102444800, source="consented")
    run.end("needs-auth", "authentication required")
    written(root, "a", run, meta={"workflow": "mcp-auth", "meta": {"mcp": MCP}})


def test_servers_of_a_run(client: httpx.Client, viewer: Viewer) -> None:
    auth_run(viewer.root)
    assert client.get("/api/run/a/auth").json() == [
        {
            "alias": "asana", "needs_auth": True, "status": "needs-consent", "scopes": ["default"],
            "tools": ["create_task"], "persist": "workflow", "url": "https://mcp.asana.com/sse",
        },
        {
            "alias": "files", "needs_auth": False, "status": "open", "tools": [], "persist": "workflow",
            "command": "fileserver",
        },
        {
            "alias": "linear", "needs_auth": True, "status": "authorized", "scopes": ["read"], "tools": [],
            "persist": "run", "url": "https://mcp.linear.app/sse", "expires_at": 4102444800,
        },
    ]  # fmt: skip


def test_damaged_metadata_has_no_servers(client: httpx.Client, viewer: Viewer) -> None:
    folder = written(viewer.root, "a", GOLDEN)
    assert client.get("/api/run/a/auth").json() == []
    for text in ("{not json", "[]", '{"meta": 3}', '{"meta": {"mcp": [1]}}', '{"meta": {"mcp": {"a": 1}}}'):
        (folder / "metadata.json").write_text(text)
        assert client.get("/api/run/a/auth").json() == []


@pytest.mark.parametrize("action", ["connect", "forget"])
def test_writing_needs_the_token_before_anything_else(action: str, client: httpx.Client, viewer: Viewer) -> None:
    auth_run(viewer.root)
    for run, given in (
        ("a", {}),
        ("a", {"X-Sema-View-Token": "0" * 32}),
        ("missing", {}),
        ("a", {"X-Sema-View-Token": ""}),
    ):
        answer = client.post(f"/api/run/{run}/auth/asana/{action}", headers=given)
        assert answer.status_code == 403
        assert answer.text == '{"error":"missing or invalid X-Sema-View-Token"}'
    right = {"X-Sema-View-Token": token(client)}
    assert client.post(f"/api/run/missing/auth/asana/{action}", headers=right).status_code == 404
    assert client.post(f"/api/run/a/auth/nobody/{action}", headers=right).status_code == 404
    assert client.post(f"/api/run/a/auth/files/{action}", headers=right).status_code == 400
    assert client.get(f"/api/run/a/auth/asana/{action}").status_code == 404


def test_a_login_that_fails_says_why(client: httpx.Client, viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    from sema_runtime.workflow.viewer import auth

    def login(folder: Path, workflow: str, alias: str, spec: Any) -> int:
        assert (folder.name, workflow, alias, spec["url"]) == ("a", "mcp-auth", "asana", MCP["asana"]["url"])
        raise SemaError("the browser was closed")

    monkeypatch.setattr(auth, "seam", lambda name: login)
    auth_run(viewer.root)
    answer = client.post("/api/run/a/auth/asana/connect", headers={"X-Sema-View-Token": token(client)})
    assert (answer.status_code, answer.json()) == (202, {"status": "connecting"})
    row: dict[str, Any] = {"status": "connecting"}
    while row["status"] == "connecting":
        row = client.get("/api/run/a/auth").json()[0]
    assert (row["status"], row["reason"]) == ("failed", "the browser was closed")


def test_forgetting(client: httpx.Client, viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    from sema_runtime.workflow.viewer import auth

    forgotten: list[str] = []
    monkeypatch.setattr(auth, "seam", lambda name: lambda folder, workflow, alias, spec: forgotten.append(alias))
    auth_run(viewer.root)
    answer = client.post("/api/run/a/auth/linear/forget", headers={"X-Sema-View-Token": token(client)})
    assert (answer.status_code, answer.json(), forgotten) == (200, {"status": "forgotten"}, ["linear"])


# Approvals


def test_approvals_are_shown_and_decided(tmp_path: Path, signing_key: Any) -> None:
    viewer = Viewer(tmp_path, port=0, signing_key=signing_key, actor="ann")
    approval = asked(tmp_path, signing_key)
    viewer.start()
    try:
        with httpx.Client(base_url=viewer.url) as client:
            shown = client.get("/api/run/a/approvals").json()
            assert shown["can_decide"]
            assert [(one["approval_id"], one["status"], one["preview"]) for one in shown["approvals"]] == [
                (approval, "pending", "version 3")
            ]
            path = f"/api/run/a/approvals/{approval}"
            assert client.post(f"{path}/approve").status_code == 403
            right = {"X-Sema-View-Token": token(client)}
            refused = client.post(f"{path}/reject", headers=right)
            assert (refused.status_code, refused.json()) == (409, {"error": "a rejection needs a reason"})
            assert client.post(f"{path}/reject", headers=right, content="[").status_code == 400
            assert client.post(f"{path}/reject", headers=right, json={"reason": 3}).status_code == 400
            assert client.post(f"{path}/reject", headers=right, content=b"x" * 70_000).status_code == 413
            done = client.post(f"{path}/approve", headers=right, json={"comment": "fine"})
            assert (done.status_code, done.json()) == (200, {"status": "approved"})
            decision = client.get("/api/run/a/approvals").json()["approvals"][0]["decision"]
            assert (decision["actor"], decision["provenance"], decision["comment"]) == ("ann", "viewer", "fine")
            assert client.post(f"{path}/reject", headers=right, json={"reason": "no"}).status_code == 409
            unknown = client.post("/api/run/a/approvals/apr_0/approve", headers=right)
            assert unknown.status_code == 409
    finally:
        viewer.stop()


def test_without_a_key_nothing_is_decided(client: httpx.Client, viewer: Viewer, signing_key: Any) -> None:
    approval = asked(viewer.root, signing_key)
    assert not client.get("/api/run/a/approvals").json()["can_decide"]
    right = {"X-Sema-View-Token": token(client)}
    assert client.post(f"/api/run/a/approvals/{approval}/approve", headers=right).status_code == 403


def test_who_decides_listens_on_loopback(tmp_path: Path, signing_key: Any) -> None:
    with pytest.raises(SemaError, match=r"listens on loopback only, not at 0\.0\.0\.0"):
        Viewer(tmp_path, "0.0.0.0", 0, signing_key=signing_key).start()


# What the page asks


def test_summary_of_the_golden_run(client: httpx.Client, viewer: Viewer) -> None:
    written(viewer.root, "a", GOLDEN)
    found = client.get("/api/run/a/summary").json()
    assert (found["workflow"], found["status"], found["events"], found["unread"]) == ("hello-wf", "success", 8, 0)
    assert found["cost_usd"] is None
    assert [(phase["name"], phase["status"], phase["checkpoints"]) for phase in found["phases"]] == [
        ("Inventory", "success", 1),
        ("Audit", "success", 1),
    ]
    value = client.get("/api/run/a/checkpoint/0").json()
    assert (value["key"], value["value"], value["phase_name"]) == ("files", '("a.php" "b.php" "c.php")', "Inventory")
    assert client.get("/api/run/a/checkpoint/2").status_code == 404


def test_declared_phases_are_pending_then_skipped(client: httpx.Client, viewer: Viewer) -> None:
    written(viewer.root, "running", review(until="running"))
    written(viewer.root, "failed", review(until="failed"))
    statuses = [
        [phase["status"] for phase in client.get(f"/api/run/{run}/summary").json()["phases"]]
        for run in ("running", "failed")
    ]
    assert statuses == [["success", "running", "pending"], ["success", "failed", "skipped"]]


def test_rows_and_details_of_agents(client: httpx.Client, viewer: Viewer) -> None:
    written(viewer.root, "a", review(until="failed"))
    rows = client.get("/api/run/a/rows?phase=1").json()
    assert rows["total"] == 6
    second = rows["rows"][1]
    assert (second["id"], second["model"], second["duration"], second["tools"]) == ("reader_2", "gpt-5.4-mini", 2500, 2)
    assert (second["cost_usd"], second["unpriced"]) == (None, 1)
    agent = client.get(f"/api/run/a/agent/{rows['rows'][5]['agent']}").json()
    assert (agent["status"], agent["output"]) == ("failed", "error: llm: 529 overloaded")
    assert agent["prompt"].startswith("Review src/part5.py.")
    assert [call["name"] for call in agent["calls"]] == ["file/read", "grep"]
    assert client.get("/api/run/a/agent/99").status_code == 404
    total = client.get("/api/run/a/summary").json()
    assert (total["failed"], total["unpriced"], total["parallel"]) == (1, 1, 6)


def test_filters(client: httpx.Client, viewer: Viewer) -> None:
    written(viewer.root, "a", review(until="failed"))
    assert client.get("/api/run/a/counts?status=failed").json()["phases"] == [0, 1, 0]
    assert client.get("/api/run/a/counts?text=GEMINI").json()["phases"] == [0, 2, 0]
    rows = client.get("/api/run/a/rows?phase=1&status=failed").json()["rows"]
    assert [row["id"] for row in rows] == ["reader_6"]
    assert client.get("/api/run/a/place/5").json() == {"phase": 1, "row": 5}


def test_events_by_page_kind_and_text(client: httpx.Client, viewer: Viewer) -> None:
    written(viewer.root, "a", review())
    total = client.get("/api/run/a/events?many=0").json()["total"]
    last = client.get("/api/run/a/events?first=-1").json()["events"]
    assert [(event["number"], event["event"]) for event in last] == [(total - 1, "run.ended")]
    calls = client.get("/api/run/a/events?kind=agent.tool_call").json()
    assert calls["total"] == 9
    found = client.get("/api/run/a/events?text=PART3&kind=agent.started").json()
    assert [event["title"] for event in found["events"]] == ["reader_4"]
    line = client.get(f"/api/run/a/event/{found['events'][0]['number']}").json()
    assert json.loads(line["raw"])["agent_id"] == "reader_4"
    assert line["agent"] == 3


@pytest.mark.parametrize(
    "query",
    ["first=x", "first=1e400", "phase=-1", "phase=99", "many=-5", "first=99999999999999999999", "width=nan&begin=inf"],
)
def test_nonsense_in_queries(query: str, client: httpx.Client, viewer: Viewer) -> None:
    written(viewer.root, "a", review())
    for what in ("rows", "events", "timeline", "counts"):
        assert client.get(f"/api/run/a/{what}?{query}").status_code == 200


def test_timeline_has_a_lane_for_each_that_ran_at_once(client: httpx.Client, viewer: Viewer) -> None:
    written(viewer.root, "a", review())
    found = client.get("/api/run/a/timeline?width=400").json()
    readers = found["bars"][:6]
    assert sorted(bar[1] for bar in readers) == list(range(6))
    assert [bar[3] - bar[2] for bar in readers] == [2100 + 400 * n for n in range(6)]
    assert max(found["load"]) == 6
    assert found["bars"][6][1] == 0
    assert found["bars"][6][2] >= max(bar[3] for bar in readers)


def test_runs_with_their_status(client: httpx.Client, viewer: Viewer) -> None:
    written(viewer.root, "a", review(until="failed"))
    written(viewer.root, "b", review(until="running"), review())
    written(viewer.root, "c", "")
    rows = {row["run"]: row for row in client.get("/api/list").json()["runs"]}
    assert (rows["a"]["status"], rows["a"]["workflow"]) == ("failed", "review")
    assert (rows["b"]["status"], rows["b"]["resumed"]) == ("success", 1)
    assert rows["c"]["status"] == "running"


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
