"""Logins of a workflow's MCP servers: where `:persist` keeps them, which one a run takes, and who is asked.

The server and its authorization server are those of the official package; its refresh tokens count once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp_logins import SEMA, Authority, Guarded, sema, store_file, stored
from mcp_logins import authority as authority
from mcp_logins import browser as browser
from mcp_logins import guarded as guarded
from mcp_logins import server_url as server_url
from mcp_support import http_server, mcp
from workflow_support import Ran, run

from sema_runtime.mcp.scoped import ScopedStore
from sema_runtime.mcp.tokens import Credentials, FileStore
from sema_runtime.workflow.run import logins as mcp_auth

pytest.importorskip("cryptography")
pytestmark = pytest.mark.usefixtures("mcp", "own_directory")
__all__ = ["authority", "browser", "guarded", "mcp", "server_url"]

RUNS = Path(".sema/runs")
SCOPES = ("workflow", "run", "none", "keyring")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_MCP_AUTH_KEY", "07" * 32)
    monkeypatch.setattr(mcp_auth, "_memory", {})
    for name in ("SEMA_WORKFLOW_RUN_DIR", "SEMA_WORKFLOW_RUN_ID", "SEMA_WORKFLOW_RESUME"):
        monkeypatch.delenv(name, raising=False)


def program(url: str, more: str = ":auth {}", body: str = '(mcp/call who "whoami" {})') -> str:
    return f'(defworkflow ask "" {{:mcp {{who {{:url "{url}" {more}}}}}}} {body})'


def ask(url: str, more: str = ":auth {}", run_id: str = "one", **settings: Any) -> Ran:
    """A run that asks the server who we are."""
    return run(RUNS, program(url, more), run_id=run_id, **settings)


def events(run_id: str = "one", segment: str = "events.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (RUNS / run_id / segment).read_text().splitlines()]


def auth(run_id: str = "one", segment: str = "events.jsonl") -> dict[str, Any]:
    """The one event about a login, without seq and ts."""
    (found,) = (one for one in events(run_id, segment) if one["event"].startswith("auth."))
    return {name: value for name, value in found.items() if name not in ("seq", "ts")}


def source(run_id: str = "one") -> str:
    found: str = auth(run_id)["source"]
    return found


def result(run_id: str = "one") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RUNS / run_id / "result.json").read_text())
    return found


def workflow_store() -> ScopedStore:
    return mcp_auth.workflow_store("ask")


def known(store: Any, url: str) -> Credentials:
    found = store.load(url)
    assert found is not None
    return found


def log_in(guarded: Guarded, persist: str = "keyring") -> Credentials:
    """A login of the default store, or of the workflow's; the browser is not counted."""
    run_id = f"login-{len(list(RUNS.glob('login-*')))}"
    assert ask(guarded.url, f":auth {{}} :persist :{persist}", run_id, may_ask=True).value
    guarded.notes.unlink()
    return known(FileStore() if persist == "keyring" else workflow_store(), guarded.url)


def age(store: Any, url: str, **changes: Any) -> None:
    store.save(replace(known(store, url), expires_at=5, **changes))


def refreshes(guarded: Guarded) -> int:
    return guarded.admin("log").count("refresh")


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


# Runs


def test_a_run_keeps_its_login_for_its_resumes(guarded: Guarded) -> None:
    ask(guarded.url, ":auth {} :persist :run", may_ask=True)
    ask(guarded.url, ":auth {} :persist :run", resume=True)
    assert auth("one", "events.resume-1.jsonl")["source"] == "cached"
    ask(guarded.url, ":auth {} :persist :run", "two")
    assert auth("two") == {"event": "auth.required", "server": "who", "persist": "run"}


def test_a_tape_needs_no_login(guarded: Guarded) -> None:
    log_in(guarded)
    taped = '(llm/with-cassette "tape.ndjson" {{:mode :{}}} (fn () {}))'
    run(RUNS, taped.format("record", program(guarded.url)), run_id="one")
    FileStore().delete(guarded.url)
    workflow_store().delete(guarded.url)
    run(RUNS, taped.format("replay", program(guarded.url)), run_id="two")
    assert result("two") == {"status": "success", "value": "ada"}
    assert [one["event"] for one in events("two")] == ["run.started", "run.ended"]


# Servers without :auth


def test_an_unexpected_401(guarded: Guarded) -> None:
    ask(guarded.url, ':tools ["whoami"]')
    assert auth() == {"event": "auth.required", "server": "who", "tools": ["whoami"], "persist": "workflow"}
    log_in(guarded)
    ask(guarded.url, "", "two")
    assert source("two") == "cached"
    workflow_store().delete(guarded.url)
    FileStore().delete(guarded.url)
    ask(guarded.url, "", "three", may_ask=True)
    assert source("three") == "consented"


def test_a_header_that_does_not_count(guarded: Guarded) -> None:
    more = ':headers {"Authorization" "Bearer old"}'
    ask(guarded.url, more)
    assert auth()["event"] == "auth.required"
    log_in(guarded)
    ask(guarded.url, more, "two")
    assert source("two") == "cached"


def test_an_open_server() -> None:
    from mcp_support import peaceful

    with http_server(peaceful) as server:
        run(RUNS, program(server.url, "", body='(mcp/call who "echo" {})'), run_id="one")
        ask(server.url, run_id="two")
    assert [one["event"] for one in events()] == ["run.started", "run.ended"]
    assert auth("two")["event"] == "auth.required"  # :auth says that it wants a login; it was not asked
    assert len(server.asked) == 3


# What goes wrong


def test_a_damaged_file(guarded: Guarded, capfd: pytest.CaptureFixture[str]) -> None:
    log_in(guarded, "workflow")
    (path,) = Path(".sema/auth/ask").glob("*.json")
    path.write_text("{")
    capfd.readouterr()
    ask(guarded.url)
    assert auth()["event"] == "auth.required"
    assert capfd.readouterr().err == f"sema: {path} is damaged; it counts as no login\n"
    ask(guarded.url, run_id="two", may_ask=True)
    ask(guarded.url, run_id="three")
    assert source("three") == "cached"


def test_another_key(guarded: Guarded, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    log_in(guarded, "workflow")
    monkeypatch.setenv("SEMA_MCP_AUTH_KEY", "11" * 32)
    capfd.readouterr()
    ask(guarded.url)
    assert auth()["event"] == "auth.required"
    assert "can't be decrypted: the key is another one" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"SEMA_MCP_AUTH_KEY": "short"}, "SEMA_MCP_AUTH_KEY is not valid: it must be 64 hexadecimal digits"),
        ({"SEMA_MCP_TOKEN_STORE": "cloud"}, "SEMA_MCP_TOKEN_STORE must be file or keychain, got cloud"),
    ],
)
def test_stores_that_cannot_be_used(
    settings: dict[str, str], reason: str, guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    ask(guarded.url, may_ask=True)
    assert auth()["reason"].startswith(f"OAuth login failed: {reason}")
    assert events()[-1]["reason"] == "mcp resolution failed"
    assert guarded.opened() == 0


def test_without_the_package(guarded: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cryptography", "cryptography.hazmat.primitives.ciphers.aead"):
        monkeypatch.setitem(sys.modules, name, None)
    ask(guarded.url, may_ask=True)
    assert "pip install 'semac[scoped-logins]'" in auth()["reason"]
    assert guarded.opened() == 0
    ask(guarded.url, ":auth {} :persist :keyring", "two", may_ask=True)
    assert source("two") == "consented"
    ask(guarded.url, ":auth {} :persist :none", "three")
    assert source("three") == "cached"


def test_a_login_that_cannot_be_kept(guarded: Guarded, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log_in(guarded)
    (tmp_path / "elsewhere").mkdir()
    Path(".sema/auth").mkdir()
    Path(".sema/auth/ask").write_text("a file is in the way")
    ask(guarded.url)
    assert ".sema/auth/ask must be a directory" in auth()["reason"]
    ask(guarded.url, ":auth {} :persist :none", "two")
    assert source("two") == "cached"


def test_what_the_sandbox_forbids(guarded: Guarded, tmp_path: Path) -> None:
    (tmp_path / "ask.sema").write_text(program(guarded.url))
    log_in(guarded)
    done = sema("--sandbox", "no-network", "workflow", "run", "ask.sema", "-q", SEMA_WORKFLOW_RUN_ID="one")
    assert done.returncode == 1
    assert auth()["event"] == "auth.failed"
    assert "requires 'network' capability" in auth()["reason"], auth()
    (tmp_path / "stdio.sema").write_text('(defworkflow ask "" {:mcp {who {:command "true"}}} 1)')
    done = sema("--sandbox", "no-process", "workflow", "run", "stdio.sema", "-q", SEMA_WORKFLOW_RUN_ID="two")
    assert done.returncode == 1
    assert "requires 'process' capability" in auth("two")["reason"]


def test_any_failure_beats_a_missing_login(guarded: Guarded) -> None:
    from mcp_support import Asked, Told, greeting, peaceful

    def behave(asked: Asked) -> Told:
        begins = isinstance(asked.body, dict) and asked.body["method"] == "initialize"
        return greeting(asked, "session") if begins else peaceful(asked)

    with http_server(behave) as fine:
        servers = (
            f'd {{:url "{guarded.url}" :auth {{:scopes ["read"]}}}} c {{:command "/no/such"}} '
            f'b {{:url "{guarded.url}" :auth {{}}}} a {{:url "{fine.url}"}}'
        )
        run(RUNS, f'(defworkflow ask "" {{:mcp {{{servers}}}}} (println "body"))', run_id="one")
        assert [asked.method for asked in fine.asked][-1] == "DELETE"  # it was connected, and is closed
    assert [(one["event"], one.get("server")) for one in events()] == [
        ("run.started", None),
        ("auth.required", "b"),
        ("auth.failed", "c"),
        ("auth.required", "d"),
        ("run.ended", None),
    ]
    assert events()[-1]["reason"] == "mcp resolution failed"
    assert result()["error"].startswith("c: ")


def test_every_missing_login_is_named(guarded: Guarded, tmp_path: Path) -> None:
    (tmp_path / "ask.sema").write_text(
        f'(defworkflow ask "" {{:mcp {{tickets {{:url "{guarded.url}" :auth {{}} :persist :run}} '
        f'a {{:url "https://a.example/mcp" :auth {{}}}}}}}} 1)'
    )
    done = sema("workflow", "run", "ask.sema", "-q", CI="1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "run needs authentication for 2 MCP server(s):\n"
        "  a        sema mcp login https://a.example/mcp\n"
        f"  tickets  sema mcp login {guarded.url}\n"
        "then re-run this workflow. (or authenticate from `sema workflow view`)\n"
    )


# Where the stores are


def test_the_store_lies_beside_the_runs(tmp_path: Path) -> None:
    root = str(tmp_path / "project" / ".sema" / "runs")
    assert mcp_auth.workflow_store("ask", root).folder == str(tmp_path / "project/.sema/auth/ask")
    for elsewhere in ("", "runs", ".sema/runs", str(tmp_path / "runs")):
        assert mcp_auth.workflow_store("ask", elsewhere).folder == os.path.join(".sema", "auth", "ask")


def test_a_default_store_that_is_damaged(guarded: Guarded) -> None:
    store_file().parent.mkdir(parents=True)
    store_file().write_text("{")
    ask(guarded.url)
    assert "is damaged; it is left as it is" in auth()["reason"]


def test_a_login_of_the_default_store_stays_as_it_was(guarded: Guarded) -> None:
    log_in(guarded)
    before = stored(guarded.url)
    ask(guarded.url)
    assert stored(guarded.url) == before
