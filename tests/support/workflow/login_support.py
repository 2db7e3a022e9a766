"""Workflows that ask an MCP server, and the stores of logins that they find."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp_logins import Guarded
from mcp_logins import authority as authority
from mcp_logins import browser as browser
from mcp_logins import guarded as guarded
from mcp_logins import server_url as server_url
from mcp_support import mcp as mcp
from workflow_support import Ran, run

from sema_runtime.mcp.scoped import ScopedStore
from sema_runtime.mcp.tokens import Credentials, FileStore
from sema_runtime.workflow.run import logins as mcp_auth

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
