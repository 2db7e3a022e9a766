"""Calls to scripted MCP servers: programs that connect, what they print, and their errors."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from mcp_support import (
    literal,
    program,
    run,
)
from mcp_support import mcp as mcp

from sema_runtime.conditions.describe import describe
from sema_runtime.mcp import servers
from sema_runtime.mcp.client import Connection
from sema_runtime.values.printer import to_text
from semac.session import Session

SEMA = [sys.executable, "-m", "semac.cli.entry"]
SPAWN = "mcp/connect: failed to spawn MCP server process"
CONNECT = "(define s (mcp/connect config))"


def shown(source: str, **names: Any) -> str:
    return to_text(run(source, **names))


def error(source: str, **names: Any) -> Any:
    """The error that a program ends with."""
    with pytest.raises(Exception) as caught:
        run(source, **names)
    return describe(caught.value)


def scripted(*mode: str, **more: Any) -> dict[str, Any]:
    return {**program("scripted.py", *mode), **more}


def hurried(source: str, milliseconds: float) -> Any:
    """The value of a program whose server has so much time for its answers; for beginning it has had what it wanted."""
    session = Session()
    session.run(f"(define config {literal(scripted())}) {CONNECT}")
    (server,) = servers._servers.values()
    assert isinstance(server.connection, Connection)
    server.connection.peer.timeout_ms = milliseconds
    return session.run(source)
