"""Logging in to an MCP server from the workflow viewer, with the authorization server of the official package."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from mcp_logins import Guarded, store_file
from mcp_logins import browser as browser
from mcp_logins import guarded as guarded
from mcp_logins import server_url as server_url
from mcp_support import mcp as mcp
from viewer_support import viewer as viewer
from workflow_journals import Segment, written

from sema_runtime.mcp.scoped import file_name
from sema_runtime.mcp.tokens import Credentials, FileStore
from sema_runtime.workflow.run import logins as mcp_auth
from sema_runtime.workflow.viewer.server import Viewer

pytest.importorskip("cryptography")
pytestmark = pytest.mark.usefixtures("mcp", "own_directory")


def ended(client: httpx.Client) -> dict[str, Any]:
    """The row of the server when its login has come to an end."""
    while True:
        row: dict[str, Any] = client.get("/api/run/a/auth").json()[0]
        if row["status"] != "connecting":
            return row


def declaring(viewer: Viewer, url: str, **more: str) -> None:
    """A run whose server wants a login."""
    run = Segment("ask", "a")
    run.add("auth.required", server="who", persist=more.get("persist", "workflow"))
    run.end("needs-auth", "authentication required")
    meta = {"mcp": {"who": {"url": url, "auth": {"scopes": ["read"]}, **more}}}
    written(viewer.root, "a", run, meta={"workflow": "ask", "meta": meta})


def token_of(client: httpx.Client) -> dict[str, str]:
    """What the page sends with a POST."""
    found = re.search(r'content="([0-9a-f]{32})"', client.get("/").text)
    assert found
    return {"X-Sema-View-Token": found[1]}


@pytest.mark.parametrize("persist", ["workflow", "run", "none", "keyring"])
def test_logging_in_and_forgetting(persist: str, guarded: Guarded, viewer: Viewer) -> None:
    declaring(viewer, guarded.url, persist=persist)
    folder = str(viewer.root / "a")
    with httpx.Client(base_url=viewer.url) as client:
        token = token_of(client)
        assert client.get("/api/run/a/auth").json() == [{
            "alias": "who", "needs_auth": True, "status": "needs-consent", "scopes": ["read"], "tools": [],
            "persist": persist, "url": guarded.url,
        }]  # fmt: skip
        assert client.post("/api/run/a/auth/who/connect", headers=token).status_code == 202
        row = ended(client)
        assert row["status"] == "authorized", row
        store = mcp_auth.own_store(persist, "ask", folder)
        kept = store.load(guarded.url)
        assert kept is not None
        assert row["expires_at"] == kept.expires_at
        assert guarded.opened() == 1
        assert store_file().exists() == (persist == "keyring")
        assert kept.access_token not in client.get("/api/run/a/auth").text
        FileStore().save(Credentials(guarded.url, "a login that a run would copy"))
        assert client.post("/api/run/a/auth/who/forget", headers=token).json() == {"status": "forgotten"}
        assert (store.load(guarded.url), FileStore().load(guarded.url)) == (None, None)
        assert ended(client)["status"] == "needs-consent"
        assert client.post("/api/run/a/auth/who/forget", headers=token).json() == {"status": "forgotten"}


def test_a_store_that_cannot_be_used(guarded: Guarded, viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    declaring(viewer, guarded.url)
    monkeypatch.setenv("SEMA_MCP_AUTH_KEY", "short")
    with httpx.Client(base_url=viewer.url) as client:
        token = token_of(client)
        client.post("/api/run/a/auth/who/connect", headers=token)
        row = ended(client)
        assert (row["status"], row["reason"]) == (
            "failed", "SEMA_MCP_AUTH_KEY is not valid: it must be 64 hexadecimal digits (32 random bytes)",
        )  # fmt: skip
        assert guarded.opened() == 0
        store = mcp_auth.workflow_store("ask")
        (viewer.root / "elsewhere").mkdir()
        (viewer.root.parent / ".sema").mkdir()
        (viewer.root.parent / ".sema" / "auth").symlink_to(viewer.root / "elsewhere")
        answer = client.post("/api/run/a/auth/who/forget", headers=token)
        assert answer.status_code == 500
        assert "must be a directory" in answer.json()["error"]
        assert file_name(guarded.url) not in answer.text
        assert store.place == ".sema/auth/ask"
