"""The servers that a program has connected to, by handle, and the tape that may stand in for them.

Under a tape a server is only started or connected to for what isn't on it: in replay mode never. So the connection is
recorded too (`mcp-connect`), and the list of tools (`mcp-tools`), besides the calls of the reference (`mcp-call`).
"""

from __future__ import annotations

import asyncio
from typing import Any

from sema_runtime.llm.recordings import cassette as cassettes
from sema_runtime.mcp.client import Connection, Program, Remote
from sema_runtime.mcp.official import Given, OfficialConnection
from sema_runtime.mcp.protocol import Failure
from sema_runtime.support import compact_json, secrets
from sema_runtime.tasks import suspend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

MISS = "no cassette recording for this call (replay miss)"


class Server:
    """What a handle stands for. allowed: the names of the tools that may be used, None for all."""

    def __init__(self, target: Program | Remote | Given, allowed: list[str] | None, timeout_ms: float) -> None:
        self.target = target
        self.allowed = allowed
        self.timeout_ms = timeout_ms
        self.connection: Connection | OfficialConnection | None = None
        self.opening: asyncio.Lock | None = None
        self.closed = False

    # Which server

    def identity(self) -> str:
        """What keys of tapes know the server by. Its environment and headers, where secrets are, don't count."""
        if isinstance(self.target, Remote):
            return self.target.url
        if isinstance(self.target, Given):
            return compact_json.dumps({"t": "client", "name": self.target.name})
        command, *arguments = self.target.argv
        return compact_json.dumps({
            "t": "stdio", "command": command, "args": arguments, "cwd": self.target.settings.cwd,
        })  # fmt: skip

    def secrets(self) -> list[str]:
        """Values that no tape shows."""
        values = list(self.target.secrets) if isinstance(self.target, Program) else []
        if isinstance(self.target, Remote):
            for _, value in self.target.headers:
                values += [value, value.rpartition(" ")[2]]
            if self.connection is not None and self.connection.endpoint is not None:
                values.append(self.connection.endpoint.token or "")
        return [secret for secret in values if len(secret) >= secrets.SHORTEST]

    def allows(self, tool: str) -> bool:
        return self.allowed is None or tool in self.allowed

    # Asking the tape or the server, from Sema code: what is waited for, only the current task waits for

    def connect(self) -> None:
        """Connects now, unless a tape says that it isn't needed."""
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
        """The descriptions of the tools that may be used."""

        async def asked(connection: Connection | OfficialConnection) -> dict[str, Any]:
            return {"tools": await connection.list_tools()}

        listed = self._recorded(asked, "mcp-tools").get("tools")
        tools = listed if isinstance(listed, list) else []
        return [tool for tool in tools if isinstance(tool, dict) and self.allows(str(tool.get("name")))]

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result object of a tool. Raises Failure."""
        return self._recorded(lambda connection: connection.call_tool(tool, arguments), "mcp-call", tool, arguments)

    def _recorded(
        self, ask: Callable[[Connection | OfficialConnection], Awaitable[dict[str, Any]]], kind: str, *call: Any
    ) -> dict[str, Any]:
        """What asking gives, off the tape or noted there. kind, call: what an entry is found by."""
        result: dict[str, Any]

        async def asked() -> dict[str, Any]:
            return await ask(await self.connected())

        cassette = cassettes.current()
        if cassette is None:
            result = suspend(asked())
            return result
        key = cassettes.mcp_key(kind, self.identity(), *call)
        entry = cassette.entry(key)
        if entry is not None and isinstance(entry.get("mcp_result"), dict):
            result = entry["mcp_result"]
            return result
        if cassette.mode == "replay":
            raise Failure(MISS, f"record it in :auto or :record mode; {cassette.miss_hint()}")
        result = suspend(asked())
        cassette.record_mcp(kind, key, secrets.redacted_json(result, self.secrets()))
        return result

    # The connection

    async def connected(self) -> Connection | OfficialConnection:
        """The connection, made now if there is none yet. Raises Failure."""
        if self.opening is None:
            self.opening = asyncio.Lock()
        async with self.opening:
            if self.closed:
                raise Failure("the connection was closed", "reconnect with mcp/connect")
            if self.connection is None:
                connection: Connection | OfficialConnection
                if isinstance(self.target, Given):
                    connection = OfficialConnection(self.target, self.timeout_ms)
                else:
                    connection = Connection(self.target, self.timeout_ms)
                await connection.open()
                self.connection = connection
                if self.closed:  # meanwhile
                    await connection.close()
            return self.connection

    async def close(self) -> None:
        """Ends the connection, if there is one; what waits on it fails."""
        self.closed = True
        if self.connection is not None:
            await self.connection.close()

    def is_elsewhere(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether it is connected in another event loop than this one."""
        return self.connection is not None and self.connection.loop is not loop


_servers: dict[str, Server] = {}
_last = 0


def add(server: Server) -> str:
    """The handle of a new server."""
    global _last
    _last += 1
    handle = f"mcp-{_last}"
    _servers[handle] = server
    return handle


def find(handle: str) -> Server | None:
    return _servers.get(handle)


def forget(handle: str) -> None:
    _servers.pop(handle, None)
