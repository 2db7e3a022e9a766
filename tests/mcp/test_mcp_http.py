"""MCP over HTTP: sessions, broken streams, answers that are none, time limits, other addresses."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from mcp_calls import CONNECT, error
from mcp_support import (
    Asked,
    Told,
    greeting,
    http_server,
    peaceful,
    result,
    run,
    said,
)
from mcp_support import mcp as mcp

pytestmark = pytest.mark.usefixtures("mcp")


# Over HTTP


def test_sessions_and_versions_are_sent_along() -> None:
    def behave(asked: Asked) -> Told:
        return (
            greeting(asked, "s-1") if "initialize" in json.dumps(asked.body) and "id" in asked.body else peaceful(asked)
        )

    with http_server(behave) as server:
        config = {"url": f"{server.url}/mcp", "headers": {"X-Team": "blue"}}
        run(f'{CONNECT} (mcp/call s "echo" {{}}) (mcp/close s)', config=config)
        first, *others = server.asked
    assert [one.method for one in others] == ["POST", "POST", "DELETE"]
    assert "mcp-session-id" not in first.headers
    assert first.headers["accept"] == "application/json, text/event-stream"
    for one in others:
        assert one.headers["mcp-session-id"] == "s-1"
        assert one.headers["mcp-protocol-version"] == "2025-11-25"
        assert one.headers["x-team"] == "blue"


def test_a_session_that_has_ended_is_begun_anew() -> None:
    sessions = iter(["s-1", "s-2"])
    ended = set()

    def behave(asked: Asked) -> Told:
        if asked.method == "POST" and asked.body.get("method") == "initialize":
            return greeting(asked, next(sessions))
        if asked.headers.get("mcp-session-id") in ended:
            return Told(404, "no such session")
        return peaceful(asked)

    with http_server(behave) as server:
        handle = run("(mcp/connect config)", config={"url": server.url})
        ended.add("s-1")
        calls = run('(async/all (map (fn (i) (async (mcp/call s "echo" {:i i}))) (range 3)))', s=handle)
        assert list(calls) == ['{"i": 0}', '{"i": 1}', '{"i": 2}']
        ended.add("s-2")
        sessions = iter(["s-2"])
        lost = error('(mcp/call s "echo" {})', s=handle)
    assert lost.message == (
        "mcp/call: MCP session expired (HTTP 404) on `tools/call`; reconnect required"
        " (MCP server returned HTTP 404 on `notifications/initialized`: no such session)"
    )


def test_a_stream_that_breaks_off_is_taken_up_again() -> None:
    def behave(asked: Asked) -> Told:
        if asked.method == "GET":
            assert asked.headers["last-event-id"] == "e-1"
            return Told(events=[("e-2", {"jsonrpc": "2.0", "id": 2, "result": said("at last")})])
        if asked.body.get("method") == "tools/call":
            return Told(events=[("e-1", "")], headers={"retry": "1"})
        return peaceful(asked)

    import sema_runtime.mcp.http as http

    with http_server(behave) as server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(http, "RESUME_SECONDS", 0.01)
        assert run(f'{CONNECT} (mcp/call s "echo" {{}})', config={"url": server.url}) == "at last"


def call_answered(told: Any) -> Any:
    """What a call makes of an answer."""

    def behave(asked: Asked) -> Told:
        is_call = isinstance(asked.body, dict) and asked.body.get("method") == "tools/call"
        return (told(asked) if callable(told) else told) if is_call else peaceful(asked)

    with http_server(behave) as server:
        return error(f'{CONNECT} (mcp/call s "echo" {{}})', config={"url": server.url}).message


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (Told(500, "database down"), "MCP server returned HTTP 500 on `tools/call`: database down"),
        (Told(400, {"jsonrpc": "2.0", "id": 2, "error": {"code": -32600, "message": "bad"}}),
         "MCP server returned HTTP 400 on `tools/call`: bad"),
        (Told(500, "x" * 9000), "MCP server returned HTTP 500 on `tools/call`: " + "x" * 500 + "..."),
        (Told(200, "<html>hello</html>"),
         "failed to decode MCP response: no JSON-RPC message in the reply (text/plain)"),
        (Told(200, {"jsonrpc": "2.0", "id": 99, "result": {}}),
         "MCP response id mismatch on `tools/call` (expected 2)"),
        (Told(200, {"jsonrpc": "2.0", "id": 2, "result": []}),
         "MCP server answered `tools/call` with a result that is no object"),
        (Told(events=[]), "MCP SSE stream ended before the response arrived"),
        (Told(events=[("", "not json"), ("", [1, 2])]), "MCP SSE stream ended before the response arrived"),
        (Told(302, headers={"location": "http://example.invalid/mcp?key=1"}),
         "MCP server redirects to another server, http://example.invalid/mcp"),
        (Told(403, "no"), "MCP server returned HTTP 403 on `tools/call`: no"),
    ],
)  # fmt: skip
def test_answers_that_are_none(told: Told, message: str) -> None:
    assert call_answered(told) == f"mcp/call: {message}"


def test_an_event_stream_may_carry_more_than_the_answer() -> None:
    def behave(asked: Asked) -> Told:
        if asked.method == "POST" and asked.body.get("method") == "tools/call":
            news = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}
            ping = {"jsonrpc": "2.0", "id": "p", "method": "ping"}
            return Told(events=[("", news), ("", ping), ("", result(asked, said("here")))])
        return peaceful(asked)

    with http_server(behave) as server:
        twice = f'{CONNECT} (mcp/call s "echo" {{}}) (async/sleep 50) (mcp/call s "echo" {{}})'
        assert run(twice, config={"url": server.url}) == "here"
        calls = [
            one.port for one in server.asked if isinstance(one.body, dict) and one.body.get("method") == "tools/call"
        ]
        assert calls[0] == calls[1]  # the connection is used again
        assert {"jsonrpc": "2.0", "id": "p", "result": {}} in [one.body for one in server.asked]


def test_a_server_over_http_that_does_not_answer(tmp_path: Path) -> None:
    release = threading.Event()

    def behave(asked: Asked) -> Told:
        method = asked.body.get("method", "") if isinstance(asked.body, dict) else ""
        if method in ("tools/call", "notifications/cancelled"):
            (tmp_path / method.replace("/", "-")).touch()
        if method == "tools/call":
            release.wait(20)
        return peaceful(asked)

    def awaited(method: str) -> str:
        """Waits until the server has got that, once more."""
        file = json.dumps(str(tmp_path / method.replace("/", "-")))
        return f"(while (not (file/exists? {file})) (async/sleep 1)) (file/delete {file})"

    with http_server(behave) as server:
        config = {"url": server.url}
        waiting = f"""(define hanging (async (try (mcp/call s "echo" {{}}) (catch e (:message e)))))
                     (async (mcp/tools s)) {awaited("tools/call")}"""
        tools = error(f'{CONNECT} (mcp/call s "echo" {{}})', config={**config, "timeout": 1500})
        run(f"{awaited('tools/call')} {awaited('notifications/cancelled')}")
        closed = run(f"{CONNECT} {waiting} (mcp/close s) (await hanging)", config=config)
        run(
            f"{CONNECT} {waiting} (async/cancel hanging) {awaited('notifications/cancelled')} (mcp/close s)",
            config=config,
        )
        release.set()
    assert tools.message == "mcp/call: MCP server did not respond to `tools/call` within 1.5s"
    assert closed == "mcp/call: the connection was closed"
    taken_back = [one.body["params"]["reason"] for one in server.asked if "cancelled" in json.dumps(one.body)]
    assert taken_back == ["the answer took too long", "the task that waited was cancelled"]


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("http://[", "which is no URL"),
        ("//example.invalid:99999/x", "which is no URL"),
        ("http://example.invalid:8080/messages?key=1", "http://example.invalid:8080/messages"),
    ],
)
def test_places_that_servers_name_elsewhere(place: str, shown: str) -> None:
    def behave(asked: Asked) -> Told:
        if asked.method == "POST":
            return Told(405)
        return Told(body=f"event: endpoint\ndata: {place}\n\n", headers={"content-type": "text/event-stream"})

    with http_server(behave) as server:
        message = error("(mcp/connect config)", config={"url": server.url}).message
    assert message == f"mcp/connect: MCP server names an endpoint on another server, {shown}"


def test_an_authorization_that_was_given_is_not_replaced() -> None:
    with http_server(lambda asked: Told(401, "", {"www-authenticate": "Bearer"})) as server:
        config = {"url": server.url, "headers": {"Authorization": "Bearer abcdefghijklmnop"}}
        refused = error("(mcp/connect config)", config=config)
        assert refused.message == "mcp/connect: MCP server requires authorization (HTTP 401) on `initialize`"
        assert refused.hint == "the server does not take the Authorization header that was given in :headers"
        assert len(server.asked) == 1
