"""Logins of a workflow's MCP servers: with a browser, and which login a run takes."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from login_support import (
    RUNS,
    SCOPES,
    age,
    ask,
    auth,
    events,
    known,
    log_in,
    program,
    refreshes,
    result,
    source,
    workflow_store,
)
from login_support import key as key
from mcp_logins import SEMA, Authority, Guarded, store_file
from mcp_logins import authority as authority
from mcp_logins import browser as browser
from mcp_logins import guarded as guarded
from mcp_logins import server_url as server_url
from mcp_support import http_server
from mcp_support import mcp as mcp
from workflow_support import run

from sema_runtime.mcp.tokens import Credentials, FileStore

pytest.importorskip("cryptography")
pytestmark = pytest.mark.usefixtures("mcp", "own_directory")


# With a browser


@pytest.mark.parametrize("persist", SCOPES)
def test_a_login_in_the_browser_is_kept_where_it_belongs(
    persist: str, guarded: Guarded, capfd: pytest.CaptureFixture[str]
) -> None:
    ask(guarded.url, f":auth {{}} :persist :{persist}", may_ask=True)
    assert result() == {"status": "success", "value": "ada"}
    granted = auth()
    assert list(granted) == ["event", "server", "scopes", "expires_at", "source"]
    assert (granted["event"], granted["server"], granted["source"]) == ("auth.granted", "who", "consented")
    assert granted["scopes"] == ["read"]
    errors = capfd.readouterr().err
    assert errors.startswith("who: authentication required — opening browser…\n")
    kept = sorted(str(one) for one in Path(".").rglob("127.0.0.1-*.json"))
    (name,) = {Path(one).name for one in kept} or {""}
    assert kept == {"workflow": [f".sema/auth/ask/{name}"], "run": [f".sema/runs/one/auth/{name}"]}.get(persist, [])
    assert store_file().exists() == (persist == "keyring")
    ask(guarded.url, f":auth {{}} :persist :{persist}", "two", may_ask=True)
    assert source("two") == ("consented" if persist == "run" else "cached")
    assert guarded.opened() == (2 if persist == "run" else 1)


def test_no_token_stands_anywhere_else(guarded: Guarded, capfd: pytest.CaptureFixture[str]) -> None:
    login = log_in(guarded, "workflow")
    ask(guarded.url)
    everything = [one.read_bytes() for one in Path(".sema").rglob("*") if one.is_file()]
    everything.append("".join(capfd.readouterr()).encode())
    for secret in (login.access_token, login.refresh_token or ""):
        assert not any(secret.encode() in text for text in everything)


def test_a_login_that_is_refused(authority: Authority, capfd: pytest.CaptureFixture[str]) -> None:
    authority.redirected = lambda query: {"error": "access_denied", "state": query["state"]}  # type: ignore[method-assign]
    url = f"{authority.root}/mcp"
    ask(url, ":auth {}", may_ask=True)
    assert auth() == {"event": "auth.required", "server": "who", "persist": "workflow"}
    assert result()["status"] == "needs-auth"
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == "who: authentication required — opening browser…"
    assert lines[-1] == "who: authentication failed — authorization server returned error `access_denied`"
    assert not Path(".sema/auth").exists()


def test_a_fresh_token_that_the_server_refuses(authority: Authority) -> None:
    from mcp_support import Told

    authority.answers = [Told(body={"access_token": "worthless-token-1"})]
    ask(f"{authority.root}/mcp", may_ask=True)
    assert auth()["event"] == "auth.required"
    assert "worthless" not in json.dumps(result()) + json.dumps(events())


def test_a_sandbox_without_processes_opens_no_browser(guarded: Guarded) -> None:
    from sema_runtime import capabilities

    capabilities.denied.add("process")
    try:
        ask(guarded.url, may_ask=True)
    finally:
        capabilities.denied.discard("process")
    assert auth()["event"] == "auth.required"
    assert guarded.opened() == 0


def test_a_terminal_is_asked(guarded: Guarded, tmp_path: Path) -> None:
    """stdin and stderr are a terminal, CI is empty: a browser opens; with --no-auth-prompt or CI it doesn't."""
    pytest.importorskip("pyte")
    from terminal_support import Terminal

    file = tmp_path / "ask.sema"
    file.write_text(program(guarded.url))
    command = [*SEMA, "workflow", "run", str(file)]
    for more, settings, status in (
        (["--no-auth-prompt"], {"CI": ""}, 2),
        ([], {"CI": "1"}, 2),
        ([], {"CI": ""}, 0),
    ):
        with Terminal([*command, *more], **settings) as terminal:
            assert terminal.end() == status, terminal.shown()
            asked = "who: authentication required — opening browser…" in terminal.shown()
        assert asked == (status == 0)
        assert guarded.opened() == asked


# Which login a run takes


def test_a_login_of_the_workflow(guarded: Guarded) -> None:
    kept = log_in(guarded, "workflow")
    before = refreshes(guarded)
    ask(guarded.url)
    assert auth() == {
        "event": "auth.granted", "server": "who", "scopes": ["read"], "expires_at": kept.expires_at, "source": "cached",
    }  # fmt: skip
    assert (refreshes(guarded), guarded.opened()) == (before, 0)
    assert not store_file().exists()


@pytest.mark.parametrize("persist", SCOPES)
def test_a_login_of_the_default_store(persist: str, guarded: Guarded) -> None:
    login = log_in(guarded)
    ask(guarded.url, f":auth {{}} :persist :{persist}")
    assert source() == "cached"
    kept = list(Path(".sema").rglob("127.0.0.1-*.json"))
    assert len(kept) == (1 if persist in ("workflow", "run") else 0)
    if persist == "workflow":
        assert known(workflow_store(), guarded.url) == replace(login, copied=True)
    assert known(FileStore(), guarded.url) == login


def test_an_expired_login_is_refreshed(guarded: Guarded) -> None:
    before = log_in(guarded, "workflow")
    age(workflow_store(), guarded.url)
    ask(guarded.url)
    assert source() == "refreshed"
    after = known(workflow_store(), guarded.url)
    assert after.access_token != before.access_token
    assert auth()["expires_at"] == after.expires_at
    assert not store_file().exists()
    ask(guarded.url, run_id="two")
    assert source("two") == "cached"


def test_almost_expired_is_expired(guarded: Guarded) -> None:
    import time

    log_in(guarded, "workflow")
    store = workflow_store()
    store.save(replace(known(store, guarded.url), expires_at=int(time.time()) + 50))
    ask(guarded.url)
    assert source() == "refreshed"


@pytest.mark.parametrize("persist", ["workflow", "none"])
def test_a_copy_and_its_original_are_refreshed_together(persist: str, guarded: Guarded) -> None:
    log_in(guarded)
    more = f":auth {{}} :persist :{persist}"
    ask(guarded.url, more)
    age(FileStore(), guarded.url)
    if persist == "workflow":
        age(workflow_store(), guarded.url)
    ask(guarded.url, more, "two")
    assert source("two") == "refreshed"
    ask(guarded.url, ":auth {} :persist :keyring", "three")
    assert source("three") == "cached"
    ask(guarded.url, more, "four")
    assert source("four") == "cached"


def test_a_copy_follows_its_original(guarded: Guarded) -> None:
    """Another program has refreshed that: the refresh token of the copy doesn't count any more."""
    log_in(guarded)
    ask(guarded.url)
    age(workflow_store(), guarded.url)
    age(FileStore(), guarded.url)
    ask(guarded.url, ":auth {} :persist :keyring", "other")
    before = refreshes(guarded)
    ask(guarded.url, run_id="two")
    assert (source("two"), refreshes(guarded)) == ("cached", before)


def test_a_copy_outlives_its_original(guarded: Guarded) -> None:
    log_in(guarded)
    ask(guarded.url)
    age(workflow_store(), guarded.url)
    FileStore().delete(guarded.url)
    ask(guarded.url, run_id="two")
    assert source("two") == "refreshed"
    ask(guarded.url, run_id="three")
    assert source("three") == "cached"


def test_a_login_that_has_ended_for_good(guarded: Guarded, capfd: pytest.CaptureFixture[str]) -> None:
    log_in(guarded, "workflow")
    age(workflow_store(), guarded.url)
    guarded.admin("forget")
    ask(guarded.url)
    assert auth()["event"] == "auth.required"
    age(workflow_store(), guarded.url, refresh_token=None)
    ask(guarded.url, run_id="two")
    assert auth("two")["event"] == "auth.required"
    assert result("two") == {
        "status": "needs-auth",
        "servers": ["who"],
        "auth": [{"server": "who", "url": guarded.url, "persist": "workflow"}],
    }
    assert [one["event"] for one in events("two")] == ["run.started", "auth.required", "run.ended"]
    log_in(guarded)  # what the guidance says
    ask(guarded.url, run_id="three")
    assert source("three") == "cached"


def test_a_login_that_was_withdrawn(guarded: Guarded) -> None:
    log_in(guarded, "workflow")
    guarded.admin("revoke")
    ask(guarded.url)
    assert source() == "refreshed"
    guarded.admin("revoke")
    guarded.admin("forget")
    ask(guarded.url, run_id="two")
    assert auth("two")["event"] == "auth.required"
    ask(guarded.url, run_id="three", may_ask=True)
    assert source("three") == "consented"


def test_an_authorization_server_that_is_down(capfd: pytest.CaptureFixture[str]) -> None:
    from mcp_support import Told

    with http_server(lambda asked: Told(503, "later")) as server:
        url = f"{server.url}/mcp"
        workflow_store().save(Credentials(url, "access-1", "refresh-1", 5, None, {"client_id": "c"}))
        ask(url)
    assert auth()["event"] == "auth.required"
    assert capfd.readouterr().err == (
        f"who: the login could not be renewed — failed to discover protected resource metadata for {url}\n"
    )
    assert known(workflow_store(), url).refresh_token == "refresh-1"


def test_a_login_ends_while_the_run_goes_on(guarded: Guarded) -> None:
    log_in(guarded, "workflow")
    before = known(workflow_store(), guarded.url)
    body = f'(begin (http/get "{guarded.root}/admin/revoke") (mcp/call who "whoami" {{}}))'
    ran = run(RUNS, program(guarded.url, body=body), run_id="one")
    assert ran.value is not None
    assert result() == {"status": "success", "value": "ada"}
    assert known(workflow_store(), guarded.url).access_token != before.access_token
    assert not store_file().exists()
    body = f'(begin (http/get "{guarded.root}/admin/forget") {body})'
    run(RUNS, program(guarded.url, body=body), run_id="two")
    assert result("two")["error"].startswith("mcp/call: OAuth login failed: the server wants a login")
    assert guarded.opened() == 0


def test_processes_refresh_once(guarded: Guarded, tmp_path: Path) -> None:
    log_in(guarded, "workflow")
    age(workflow_store(), guarded.url)
    before = refreshes(guarded)
    (tmp_path / "ask.sema").write_text(program(guarded.url))
    command = [*SEMA, "workflow", "run", "ask.sema", "-q"]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    assert [(one.communicate(timeout=60)[1], one.returncode) for one in running] == [("", 0)] * 3
    assert refreshes(guarded) == before + 1
    assert list(store_file().parent.glob("*.lock")) == []
