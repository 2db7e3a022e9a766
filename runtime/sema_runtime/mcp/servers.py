"""The servers that a program has connected to, by handle, and the cassette that may answer for them.

With a cassette, a server is started or connected to only for calls that the cassette lacks, in replay mode never. So
the connection is recorded too (`mcp-connect`), and the list of tools (`mcp-tools`), besides the reference's `mcp-call`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from sema_runtime.llm.recordings import cassette as cassettes
from sema_runtime.mcp.client import Connection, Program, Remote
from sema_runtime.mcp.official import OfficialClient, OfficialConnection
from sema_runtime.mcp.protocol import Failure
from sema_runtime.support import compact_json, secrets
from sema_runtime.tasks import suspend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

MISS = "no cassette recording for this call (replay miss)"


class Server:
    """A server with a handle. allowed: the names of the tools that may be used, None for all."""

    def __init__(self, target: Program | Remote | OfficialClient, allowed: list[str] | None, timeout_ms: float) -> None:
        self.target = target
        self.allowed = allowed
        self.timeout_ms = timeout_ms
        self.connection: Connection | OfficialConnection | None = None
        self.opening: asyncio.Lock | None = None
        self.closed = False

    # Which server

    def identity(self) -> str:
        """Returns what identifies the server in keys of cassettes, without environment and headers (secrets)."""
        if isinstance(self.target, Remote):
            return self.target.url
        if isinstance(self.target, OfficialClient):
            return compact_json.dumps({"t": "client", "name": self.target.name})
        command, *arguments = self.target.argv
        return compact_json.dumps({
            "t": "stdio", "command": command, "args": arguments, "cwd": self.target.settings.cwd,
        })  # fmt: skip

    def secrets(self) -> list[str]:
        """Returns the values that no cassette may contain."""
        values = list(self.target.secrets) if isinstance(self.target, Program) else []
        if isinstance(self.target, Remote):
            for _, value in self.target.headers:
                values += [value, value.rpartition(" ")[2]]
            if self.connection is not None and self.connection.endpoint is not None:
                values.append(self.connection.endpoint.token or "")
        return [secret for secret in values if len(secret) >= secrets.SHORTEST]

    def allows(self, tool: str) -> bool:
        return self.allowed is None or tool in self.allowed

    # Asking the cassette or the server, from Sema code: only the current task waits

    def connect(self) -> None:
        """Connects now, unless the cassette makes that unnecessary."""
        cassette = cassettes.current()
        if cassette is None:
            suspend(self.connected())
            return
        key = cassettes.mcp_key("mcp-connect", self.identity())
        if cassette.mode == "replay" or cassette.entry(key) is not None:
            return
        connection: Connection | OfficialConnection = suspend(self.connected())
        cassette.record_mcp("mcp-connect", key, secrets.redacted_json(connection.server, self.secrets()))

    def tools(self) -> list[dict[str, Any]]:
        """Returns the descriptions of the tools that may be used."""

        async def list_tools(connection: Connection | OfficialConnection) -> dict[str, Any]:
            return {"tools": await connection.list_tools()}

        listed = self._recorded(list_tools, "mcp-tools").get("tools")
        tools = listed if isinstance(listed, list) else []
        return [tool for tool in tools if isinstance(tool, dict) and self.allows(str(tool.get("name")))]

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Returns the result object of a tool. Raises Failure."""
        return self._recorded(lambda connection: connection.call_tool(tool, arguments), "mcp-call", tool, arguments)

    def _recorded(
        self, ask: Callable[[Connection | OfficialConnection], Awaitable[dict[str, Any]]], kind: str, *call: Any
    ) -> dict[str, Any]:
        """Returns the recorded result of ask, else asks and records it. kind, call: the key of the entry."""
        result: dict[str, Any]

        async def ask_server() -> dict[str, Any]:
            return await ask(await self.connected())

        cassette = cassettes.current()
        if cassette is None:
            result = suspend(ask_server())
            return result
        key = cassettes.mcp_key(kind, self.identity(), *call)
        entry = cassette.entry(key)
        if entry is not None and isinstance(entry.get("mcp_result"), dict):
            result = entry["mcp_result"]
            return result
        if cassette.mode == "replay":
            raise Failure(MISS, f"record it in :auto or :record mode; {cassette.miss_hint()}")
        result = suspend(ask_server())
        cassette.record_mcp(kind, key, secrets.redacted_json(result, self.secrets()))
        return result

    # The connection

    async def connected(self) -> Connection | OfficialConnection:
        """Returns the connection, opened on first use. Raises Failure."""
        if self.opening is None:
            self.opening = asyncio.Lock()
        async with self.opening:
            if self.closed:
                raise Failure("the connection was closed", "reconnect with mcp/connect")
            if self.connection is None:
                connection: Connection | OfficialConnection
                if isinstance(self.target, OfficialClient):
                    connection = OfficialConnection(self.target, self.timeout_ms)
                else:
                    connection = Connection(self.target, self.timeout_ms)
                await connection.open()
                self.connection = connection
                if self.closed:  # closed meanwhile
                    await connection.close()
            return self.connection

    async def close(self) -> None:
        """Ends the connection, if there is one; requests that wait on it fail."""
        self.closed = True
        if self.connection is not None:
            await self.connection.close()

    def is_elsewhere(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether it is connected in another event loop."""
        return self.connection is not None and self.connection.loop is not loop


_servers: dict[str, Server] = {}
_last = 0


def add(server: Server) -> str:
    """Registers a server and returns its handle."""
    global _last
    _last += 1
    handle = f"mcp-{_last}"
    _servers[handle] = server
    return handle


def find(handle: str) -> Server | None:
    return _servers.get(handle)


def forget(handle: str) -> None:
    _servers.pop(handle, None)
