"""Logins of a workflow's MCP servers: resumed runs, servers without `:auth`, what goes wrong, where stores are."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from login_support import RUNS, ask, auth, events, log_in, program, result, source, workflow_store
from login_support import key as key
from mcp_logins import Guarded, sema, store_file, stored
from mcp_logins import authority as authority
from mcp_logins import browser as browser
from mcp_logins import guarded as guarded
from mcp_logins import server_url as server_url
from mcp_support import http_server
from mcp_support import mcp as mcp
from workflow_support import run

from sema_runtime.mcp.tokens import FileStore
from sema_runtime.workflow.run import logins as mcp_auth

pytestmark = pytest.mark.usefixtures("mcp", "own_directory")


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
