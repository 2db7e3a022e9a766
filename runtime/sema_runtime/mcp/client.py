"""A connection to an MCP server: `open`, then `list_tools`, `call_tool`, `close`, all in one asyncio loop.

Requests on one connection overlap: each task waits for its own only.
"""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from sema_runtime.mcp.protocol import TIMEOUT_MS, VERSION, Failure, HttpFailure, Peer, all_tools
from sema_runtime.support.visible import tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeVar

    from sema_runtime.mcp.access import Access
    from sema_runtime.mcp.discovery import Challenge
    from sema_runtime.mcp.http import Endpoint
    from sema_runtime.tasks.children import Settings

    T = TypeVar("T")

KNOWN_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
CLIENT = {"name": "sema-mcp-client", "version": "1.36"}  # the version of the language
LEGACY_STATUS = (400, 404, 405)  # to the first POST: the server may have the revision 2024-11-05
RECONNECT = "reconnect with mcp/connect"


class Program(NamedTuple):
    """A server that is started. settings: its directory and environment. secrets: values to hide in messages."""

    argv: list[str]
    settings: Settings
    secrets: tuple[str, ...] = ()


class Remote(NamedTuple):
    """A server behind a URL. client_id, scopes: for a login. access: how it gets tokens, None for the default."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    client_id: str | None = None
    scopes: tuple[str, ...] = ()
    access: Access | None = None


class Connection:
    """An open connection. peer: the conversation; over HTTP a login may replace it. server: its initialize result."""

    def __init__(self, target: Program | Remote, timeout_ms: float = TIMEOUT_MS) -> None:
        self.target = target
        self.timeout_ms = timeout_ms
        self.loop = asyncio.get_running_loop()
        self.peer = Peer(timeout_ms)
        self.endpoint: Endpoint | None = None
        self.legacy = False
        self.renewing = asyncio.Lock()  # held by the task that renews the session or the token
        self.server: dict[str, Any] = {}

    # Connecting

    async def open(self) -> None:
        """Connects and shakes hands. Raises Failure."""
        try:
            if isinstance(self.target, Program):
                from sema_runtime.mcp.stdio import Stdio

                program = self.target
                self.peer.transport = await Stdio.started(self.peer, program.argv, program.settings, program.secrets)
                await self._shake_hands()
            else:
                from sema_runtime.mcp.http import Endpoint

                self.endpoint = Endpoint(self.target.url, list(self.target.headers))
                await self._authorized("initialize", self._open_http, await self._first_token())
        except BaseException:
            await self.close()
            raise

    async def _open_http(self) -> None:
        """Connects by Streamable HTTP, or by the older transport if the server knows no other."""
        from sema_runtime.mcp.http import LegacySse, StreamableHttp

        assert self.endpoint is not None
        if not self.legacy:
            self.peer = Peer(self.timeout_ms)
            self.peer.transport = streamable = StreamableHttp(self.peer, self.endpoint)
            try:
                return await self._shake_hands()
            except HttpFailure as failure:
                if failure.status not in LEGACY_STATUS or streamable.version is not None:
                    raise
                refused = failure
        else:
            refused = None
        self.peer = Peer(self.timeout_ms)
        self.peer.transport = transport = LegacySse(self.peer, self.endpoint)
        try:
            await transport.connect()
        except HttpFailure as failure:
            if failure.status == 401 or refused is None:
                raise
            raise refused from None
        self.legacy = True
        await self._shake_hands()

    async def _shake_hands(self) -> None:
        params = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": CLIENT}
        self.server = await self.peer.request("initialize", params)
        version = self.server.get("protocolVersion")
        if version not in KNOWN_VERSIONS:
            raise Failure(f"MCP server speaks protocol version {version}, which is not known here")
        self.peer.transport.set_version(str(version))
        await self.peer.notify("notifications/initialized")

    # Asking

    async def list_tools(self) -> list[dict[str, Any]]:
        """Returns all tools of the server, which come page by page."""
        return await all_tools(lambda cursor: self.request("tools/list", {"cursor": cursor} if cursor else None))

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Returns the result object of a tool, which may report an error."""
        return await self.request("tools/call", {"name": name, "arguments": arguments})

    async def request(self, method: str, params: dict[str, Any] | None) -> dict[str, Any]:
        """Returns the result of a request; renews an ended session and an expired token."""
        peer = self.peer
        try:
            return await self._authorized(method, lambda: self.peer.request(method, params))
        except HttpFailure as failure:
            if failure.status != 404 or self.legacy or self.endpoint is None:
                raise
            ended = f"MCP session expired (HTTP 404) on `{method}`; reconnect required"
        async with self.renewing:
            if self.peer is peer:  # else another task has renewed it
                try:
                    await self._open_http()
                except Failure as failure:
                    raise Failure(f"{ended} ({failure.message})", RECONNECT) from None
        return await self.peer.request(method, params)

    async def _first_token(self) -> str:
        """Gets a token before the server asks for one, if the access is eager; returns its source."""
        from sema_runtime.mcp.discovery import Challenge

        return await self._get_token(Challenge(), frozenset(), "") if self.access().eager else ""

    async def _authorized(self, method: str, ask: Callable[[], Awaitable[T]], source: str = "") -> T:
        """Returns what ask returns; if the server requires a token or a different one, gets it and asks again. A stored
        token may be revoked and a refreshed one may not suffice; then a new login is needed. source: of the token in
        use."""
        refused: frozenset[str] = frozenset()
        while True:
            token = self.endpoint.token if self.endpoint is not None else None
            try:
                return await ask()
            except HttpFailure as failure:
                challenge = self._challenge(failure)
                if challenge is None:
                    raise
                if source == "consented":
                    self.access().needed = True
                    raise
            async with self.renewing:
                assert self.endpoint is not None
                if self.endpoint.token == token:  # else another task has replaced it
                    refused |= {token} if token is not None else frozenset()
                    source = await self._get_token(challenge, refused, source)
                    if self.legacy and method != "initialize":  # its stream was opened with the old token
                        await self.peer.close(Failure("the token of the connection has ended", "try again"))
                        await self._open_http()

    def access(self) -> Access:
        """Returns how to get tokens."""
        from sema_runtime.mcp.access import Access

        assert isinstance(self.target, Remote)
        return self.target.access or Access()

    def _challenge(self, failure: HttpFailure) -> Challenge | None:
        """Returns what the server requires; None if a login can't help."""
        if self.endpoint is None or failure.status not in (401, 403):
            return None
        from sema_runtime.mcp.discovery import challenge_of

        challenge = challenge_of(failure.challenge)
        if failure.status == 403 and challenge.error != "insufficient_scope":
            return None
        if self.endpoint.token is None and self.endpoint.has_authorization() and not self.access().over_headers:
            failure.hint = "the server does not take the Authorization header that was given in :headers"
            return None
        return challenge

    async def _get_token(self, challenge: Challenge, refused: frozenset[str], source: str) -> str:
        """Replaces the token; returns the source of the new one. refused: tokens that the server just refused. source:
        of the last of them."""
        from sema_runtime.mcp.access import RefusedTokens, token_for
        from sema_runtime.mcp.oauth import Login

        assert isinstance(self.target, Remote)
        assert self.endpoint is not None
        login = Login(self.target.url, _show, self.target.client_id, self.target.scopes, challenge)
        try:
            token = await token_for(login, self.access(), RefusedTokens(refused, source))
        except Failure as failure:
            hint = failure.hint or f"log in ahead with `sema mcp login {self.target.url}`"
            raise Failure(f"OAuth login failed: {failure.message}", hint) from None
        self.endpoint.token = token.token
        return token.source

    async def close(self) -> None:
        """Ends the connection; requests that wait on it fail."""
        if hasattr(self.peer, "transport"):
            await self.peer.close(Failure("the connection was closed", RECONNECT))


def _show(text: str) -> None:
    tell(text)
