"""A server made with the official package: python official.py stdio | http | json | sse.

Over HTTP it prints its port.
"""

import asyncio
import socket
import sys
from typing import Literal

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

server = MCPServer("official")


class Place(BaseModel):
    name: str
    floor: int = 0


@server.tool()
def add(a: int, b: int | None = None) -> int:
    """Adds two numbers."""
    return a + (b or 0)


@server.tool()
def paint(color: Literal["red", "green"], places: list[Place], note: str = "") -> str:
    """Paints places."""
    return f"{color}: {', '.join(place.name for place in places)}{note}"


@server.tool()
def crash() -> str:
    raise ToolError("out of paint")


@server.tool()
def picture() -> Image:
    return Image(data=b"\x89PNG\r\n\x1a\n", format="png")


@server.tool()
async def meet(count: int, context: Context) -> str:
    """Answers when as many calls are under way at once."""
    global waiting
    waiting += 1
    if waiting == count:
        together.set()
    await context.report_progress(1, 2)
    await together.wait()
    return str(count)


waiting = 0
together = asyncio.Event()

if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run()
    else:
        import uvicorn

        app = (
            server.sse_app()
            if sys.argv[1] == "sse"
            else server.streamable_http_app(json_response=sys.argv[1] == "json")
        )
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        print(listener.getsockname()[1], flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
