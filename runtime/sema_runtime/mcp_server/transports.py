"""A server on standard input and output, or over Streamable HTTP."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import anyio

from sema_runtime.values.errors import SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

LOOPBACK = ("127.0.0.1", "::1", "localhost")
SHORTEST_TOKEN = 32
MOST_BODY = 8 << 20


class Address(NamedTuple):
    """Where HTTP is served. port 0: any that is free. token: what clients must send, None for nothing. hosts: further
    names by which clients reach it."""

    host: str
    port: int
    token: str | None = None
    hosts: tuple[str, ...] = ()


async def serve_stdio(server: Server[Any]) -> None:
    """Serves the client that started this process, until it closes the input."""
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def listener(address: Address) -> socket.socket:
    """The socket of an address. Raises SemaError, also where strangers could call."""
    host, port, token, _ = address
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise SemaError(f"the token has {len(token)} characters, at least {SHORTEST_TOKEN} are needed")
    if token is None and host not in LOOPBACK:
        raise SemaError(f"serving on {host} needs a token", "pass --token-file FILE, or serve on 127.0.0.1")
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as problem:
        raise SemaError(f"can't listen on {host}:{port}: {problem.strerror or problem}") from None


async def serve_http(server: Server[Any], address: Address, on_start: Callable[[str], None]) -> None:
    """Serves until a signal. on_start: gets the URL. Raises SemaError."""
    import uvicorn

    opened = listener(address)
    host, port = address.host, opened.getsockname()[1]
    app = application(server, address._replace(port=port))
    on_start(f"http://{f'[{host}]' if ':' in host else host}:{port}/mcp")
    await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve(sockets=[opened])


def application(server: Server[Any], address: Address) -> Any:
    """The ASGI application: MCP at /mcp, for those who have the token and use a known name."""
    from mcp.server.transport_security import TransportSecuritySettings

    from sema_runtime.box.serve.http import guarded

    names = [f"{name}:{address.port}" for name in (*LOOPBACK, "[::1]", address.host)] + list(address.hosts)
    security = TransportSecuritySettings(
        allowed_hosts=names, allowed_origins=[f"{scheme}://{name}" for name in names for scheme in ("http", "https")]
    )
    app = server.streamable_http_app(host=address.host, max_request_body_size=MOST_BODY, transport_security=security)
    return guarded(app, address.token)


def run(work: Callable[[], Awaitable[int]]) -> int:
    """Runs a server's coroutine; the exit status."""
    try:
        return anyio.run(work)
    except KeyboardInterrupt:
        return 130
