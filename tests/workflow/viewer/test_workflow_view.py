"""The server of the workflow viewer: its routes, who may ask, MCP servers, approvals, and what the page asks."""

from __future__ import annotations

import json
import os
import re
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest
from view_client import client as client
from view_client import token
from viewer_support import asked
from viewer_support import signing_key as signing_key
from viewer_support import viewer as viewer
from workflow_journals import GOLDEN, Segment, review, written

from sema_runtime.values.errors import SemaError
from sema_runtime.workflow.run import logins
from sema_runtime.workflow.viewer.answers import shown_arguments
from sema_runtime.workflow.viewer.guard import host_allowed, safe_segment
from sema_runtime.workflow.viewer.server import Viewer

pytestmark = pytest.mark.journals_by_hand


MCP = {
    "asana": {"url": "https://mcp.asana.com/sse", "auth": {"scopes": ["default"]}, "tools": ["create_task"]},
    "files": {"command": "fileserver", "args": ["--root", "."], "env": {"KEY": "<redacted>"}},
    "linear": {"url": "https://mcp.linear.app/sse", "auth": {"scopes": ["read"]}, "persist": "run"},
}


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
    def login(folder: Path, workflow: str, alias: str, spec: Any) -> int:
        assert (folder.name, workflow, alias, spec["url"]) == ("a", "mcp-auth", "asana", MCP["asana"]["url"])
        raise SemaError("the browser was closed")

    monkeypatch.setattr(logins, "login", login)
    auth_run(viewer.root)
    answer = client.post("/api/run/a/auth/asana/connect", headers={"X-Sema-View-Token": token(client)})
    assert (answer.status_code, answer.json()) == (202, {"status": "connecting"})
    row: dict[str, Any] = {"status": "connecting"}
    while row["status"] == "connecting":
        row = client.get("/api/run/a/auth").json()[0]
    assert (row["status"], row["reason"]) == ("failed", "the browser was closed")


def test_forgetting(client: httpx.Client, viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    forgotten: list[str] = []
    monkeypatch.setattr(logins, "forget", lambda folder, workflow, alias, spec: forgotten.append(alias))
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


@pytest.mark.parametrize(
    ("name", "arguments", "shown"),
    [
        ("run_program", '{"program": "(define x 1)\\n(return x)"}', "(define x 1)\n(return x)"),
        ("run_program", "as it is", "as it is"),
        ("run_program", '{"program": 5}', '{"program": 5}'),
        ("grep", '{"program": "x"}', '{"program": "x"}'),
    ],
)
def test_programs_of_agents_are_shown_with_their_lines(name: str, arguments: str, shown: str) -> None:
    assert shown_arguments({"tool_name": name, "args_json": arguments}) == shown


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
