"""The server over Streamable HTTP: who may call, from where, and whether it works."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from sema_runtime.box.pool import Pool
from sema_runtime.values.errors import SemaError

LOOPBACK = ("127.0.0.1", "::1", "localhost")
SHORTEST_TOKEN = 32
MOST_BODY = 8 << 20
OPEN_PATHS = ("/health", "/ready")
Scope = MutableMapping[str, Any]
App = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]


def check_token(host: str, token: str | None) -> None:
    """Raises SemaError for a server that strangers could call."""
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise SemaError(f"box: the token has {len(token)} characters, at least {SHORTEST_TOKEN} are needed")
    if token is None and host not in LOOPBACK:
        raise SemaError(f"box: serving on {host} needs a token", "pass --token-file FILE, or serve on 127.0.0.1")


def make_app(server: MCPServer, pool: Pool, host: str, port: int, token: str | None, hosts: tuple[str, ...]) -> App:
    """The application: MCP at /mcp, /health says that it runs, /ready that programs run."""

    async def health(request: Request) -> Response:
        return PlainTextResponse("ok")

    async def ready(request: Request) -> Response:
        works = (await pool.run_async("(+ 1 1)")).value == 2
        return PlainTextResponse("ok" if works else "programs don't run", 200 if works else 503)

    server.custom_route("/health", methods=["GET"])(health)
    server.custom_route("/ready", methods=["GET"])(ready)
    names = [f"{name}:{port}" for name in (*LOOPBACK, "[::1]", host)] + list(hosts)
    security = TransportSecuritySettings(
        allowed_hosts=names, allowed_origins=[f"{scheme}://{name}" for name in names for scheme in ("http", "https")]
    )
    app = server.streamable_http_app(host=host, max_request_body_size=MOST_BODY, transport_security=security)
    return guarded(app, token)


def guarded(app: Any, token: str | None) -> App:
    """The application for those who have the token."""

    async def call(scope: Scope, receive: Any, send: Any) -> None:
        if token is None or scope["type"] != "http" or scope["path"] in OPEN_PATHS:
            await app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(b"authorization", b"")
        if hmac.compare_digest(given, f"Bearer {token}".encode()):
            await app(scope, receive, send)
        else:
            refusal = PlainTextResponse("a bearer token is needed", 401, {"WWW-Authenticate": "Bearer"})
            await refusal(scope, receive, send)

    return call


async def serve(
    server: MCPServer, pool: Pool, host: str, port: int, token: str | None, hosts: tuple[str, ...],
    on_start: Callable[[str], None],
) -> None:  # fmt: skip
    """Serves until a signal. port 0: any that is free. on_start: gets the URL. Raises SemaError."""
    check_token(host, token)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as problem:
        raise SemaError(f"box: can't listen on {host}:{port}: {problem.strerror or problem}") from None
    port = listener.getsockname()[1]
    app = make_app(server, pool, host, port, token, hosts)
    on_start(f"http://{f'[{host}]' if ':' in host else host}:{port}/mcp")
    await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve(sockets=[listener])
