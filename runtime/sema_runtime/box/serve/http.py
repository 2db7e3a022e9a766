"""The box over Streamable HTTP: /health says that the server runs, /ready that programs run."""

from __future__ import annotations

from collections.abc import Callable

from mcp.server.mcpserver import MCPServer
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from sema_runtime.box.pool import Pool
from sema_runtime.mcp_server.transports import Address, App, guarded_app, health, serve_http

OPEN_PATHS = frozenset(("/health", "/ready"))


async def serve(server: MCPServer, pool: Pool, address: Address, on_start: Callable[[str], None]) -> None:
    """Serves until a signal. on_start: gets the URL. Raises SemaError."""

    async def ready(request: Request) -> Response:
        works = (await pool.run_async("(+ 1 1)")).value == 2
        return PlainTextResponse("ok" if works else "programs don't run", 200 if works else 503)

    server.custom_route("/health", methods=["GET"])(health)
    server.custom_route("/ready", methods=["GET"])(ready)

    def make_app(served: Address) -> App:
        return guarded_app(server.streamable_http_app, served, OPEN_PATHS)

    await serve_http(make_app, address, on_start)
