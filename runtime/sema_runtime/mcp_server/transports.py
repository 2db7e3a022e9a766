"""A server on standard input and output, or over Streamable HTTP."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple

import anyio

from sema_runtime.values.errors import SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

LOOPBACK = ("127.0.0.1", "::1", "localhost")
SHORTEST_TOKEN = 32
MOST_BODY = 8 << 20
Scope = MutableMapping[str, Any]
App = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]


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

    async with stdio_server() as (read, write), anyio.create_task_group() as group:
        passed_on, messages = anyio.create_memory_object_stream[Any](0)
        group.start_soon(_pass_on, read, passed_on, write)
        await server.run(messages, write, server.create_initialization_options())
        group.cancel_scope.cancel()


async def _pass_on(read: Any, messages: Any, write: Any) -> None:
    """Passes messages on; answers lines that are none, which the package leaves unanswered."""
    from mcp.shared.message import SessionMessage
    from mcp.types import PARSE_ERROR, ErrorData, JSONRPCError

    async with messages:
        async for message in read:
            if not isinstance(message, Exception):
                await messages.send(message)
            elif not _is_blank(message):
                error = ErrorData(code=PARSE_ERROR, message="Parse error: the line is no JSON-RPC message")
                await write.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=None, error=error)))


def _is_blank(problem: Exception) -> bool:
    """Whether a line that could not be read was empty."""
    from pydantic import ValidationError

    return isinstance(problem, ValidationError) and not str(problem.errors()[0].get("input", "")).strip()


def check_token(host: str, token: str | None) -> None:
    """Raises SemaError for a server that strangers could call."""
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise SemaError(f"the token has {len(token)} characters, at least {SHORTEST_TOKEN} are needed")
    if token is None and host not in LOOPBACK:
        raise SemaError(f"serving on {host} needs a token", "pass --token-file FILE, or serve on 127.0.0.1")


async def serve_http(make_app: Callable[[Address], App], address: Address, on_start: Callable[[str], None]) -> None:
    """Serves an application until a signal. make_app: its argument has the port. on_start: gets the URL. Raises
    SemaError."""
    import uvicorn

    host = address.host
    check_token(host, address.token)
    try:
        opened = socket.create_server((host, address.port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as problem:
        raise SemaError(f"can't listen on {host}:{address.port}: {problem.strerror or problem}") from None
    port = opened.getsockname()[1]
    app = make_app(address._replace(port=port))
    on_start(f"http://{f'[{host}]' if ':' in host else host}:{port}/mcp")
    await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve(sockets=[opened])


def guarded_app(make_app: Callable[..., App], address: Address, open_paths: frozenset[str] = frozenset()) -> App:
    """The application of a server for those who have the token and use a known name; open_paths are for all.

    make_app: the method `streamable_http_app` of a server of the package.
    """
    from mcp.server.transport_security import TransportSecuritySettings

    names = [f"{name}:{address.port}" for name in (*LOOPBACK, "[::1]", address.host)] + list(address.hosts)
    security = TransportSecuritySettings(
        allowed_hosts=names, allowed_origins=[f"{scheme}://{name}" for name in names for scheme in ("http", "https")]
    )
    app = make_app(host=address.host, max_request_body_size=MOST_BODY, transport_security=security)
    return guarded(app, address.token, open_paths)


async def health(_: Any) -> Any:
    """Answers that the server runs."""
    from starlette.responses import PlainTextResponse

    return PlainTextResponse("ok")


def guarded(app: Any, token: str | None, open_paths: frozenset[str]) -> App:
    """The application for those who have the token."""

    async def call(scope: Scope, receive: Any, send: Any) -> None:
        if token is None or scope["type"] != "http" or scope["path"] in open_paths:
            await app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(b"authorization", b"")
        if hmac.compare_digest(given, f"Bearer {token}".encode()):
            await app(scope, receive, send)
        else:
            from starlette.responses import PlainTextResponse

            refusal = PlainTextResponse("a bearer token is needed", 401, {"WWW-Authenticate": "Bearer"})
            await refusal(scope, receive, send)

    return call


def run(work: Callable[[], Awaitable[int]]) -> int:
    """Runs a server's coroutine; the exit status."""
    try:
        return anyio.run(work)
    except KeyboardInterrupt:
        return 130
