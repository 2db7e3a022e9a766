"""A server made with the official package: python official.py stdio, or http for a Streamable HTTP server, one that
answers in JSON, and one of the older event streams; their ports are printed."""

import asyncio
import socket
import sys
from typing import Literal

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel


class Place(BaseModel):
    name: str
    floor: int = 0


def add(a: int, b: int | None = None) -> int:
    """Adds two numbers."""
    return a + (b or 0)


def paint(color: Literal["red", "green"], places: list[Place], note: str = "") -> str:
    """Paints places."""
    return f"{color}: {', '.join(place.name for place in places)}{note}"


def crash() -> str:
    raise ToolError("out of paint")


def picture() -> Image:
    return Image(data=b"\x89PNG\r\n\x1a\n", format="png")


waiting: list[asyncio.Event] = []


async def meet(count: int, context: Context) -> str:
    """Answers when as many calls are under way at once."""
    here = asyncio.Event()
    waiting.append(here)
    if len(waiting) == count:
        for one in waiting:
            one.set()
        waiting.clear()
    await context.report_progress(1, 2)
    await here.wait()
    return str(count)


def made() -> MCPServer:
    server = MCPServer("official")
    for tool in (add, paint, crash, picture, meet):
        server.tool()(tool)
    return server


async def serve() -> None:
    import uvicorn

    apps = (made().streamable_http_app(), made().streamable_http_app(json_response=True), made().sse_app())
    running = []
    for app in apps:
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        running.append(uvicorn.Server(uvicorn.Config(app, log_level="error")).serve(sockets=[listener]))
        print(listener.getsockname()[1], flush=True)
    await asyncio.gather(*running)


if sys.argv[1] == "stdio":
    made().run()
else:
    asyncio.run(serve())
