"""Logging in to an MCP server from the workflow viewer, with the authorization server of the official package."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from mcp_support import mcp
from test_mcp_oauth import Guarded, browser, guarded, server_url, store_file, stored
from viewer_support import viewer
from workflow_journals import Segment, written

from sema_runtime.workflow.viewer.server import Viewer

pytestmark = pytest.mark.usefixtures("mcp")
__all__ = ["browser", "guarded", "mcp", "server_url", "viewer"]


def ended(client: httpx.Client) -> dict[str, Any]:
    """The row of the server when its login has come to an end."""
    while True:
        row: dict[str, Any] = client.get("/api/run/a/auth").json()[0]
        if row["status"] != "connecting":
            return row


def test_logging_in_and_forgetting(guarded: Guarded, viewer: Viewer) -> None:
    run = Segment("ask", "a")
    run.add("auth.required", server="who", persist="workflow")
    run.end("needs-auth", "authentication required")
    written(viewer.root, "a", run, meta={"meta": {"mcp": {"who": {"url": guarded.url, "auth": {}}}}})
    with httpx.Client(base_url=viewer.url) as client:
        found = re.search(r'content="([0-9a-f]{32})"', client.get("/").text)
        assert found
        token = {"X-Sema-View-Token": found[1]}
        assert client.post("/api/run/a/auth/who/connect", headers=token).status_code == 202
        row = ended(client)
        assert row["status"] == "authorized", row
        assert row["expires_at"] == stored(guarded.url)["tokens"]["expires_at"]
        assert guarded.opened() == 1
        assert stored(guarded.url)["tokens"]["access_token"] not in client.get("/api/run/a/auth").text
        assert client.post("/api/run/a/auth/who/forget", headers=token).json() == {"status": "forgotten"}
        assert guarded.url not in store_file().read_text()
        assert ended(client)["status"] == "needs-consent"
