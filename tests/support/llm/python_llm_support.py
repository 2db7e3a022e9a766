"""Servers for Python programs that ask models, and a model that plays a list of replies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from llm_support import Server
from llm_support import llm as llm

from sema_runtime import ai


def use(server: Server, name: str = "openai") -> None:
    ai.configure(name, api_key="k", base_url=f"{server.url}/v1", default_model="gpt-5.5")


def playing(*replies: Any) -> list[dict[str, Any]]:
    """A provider that gives these replies in turn, the last one again and again; the requests it got."""
    asked: list[dict[str, Any]] = []

    async def answer(request: dict[str, Any]) -> Any:
        asked.append(request)
        await asyncio.sleep(0)
        return replies[min(len(asked), len(replies)) - 1]

    ai.configure("player", complete=answer, default_model="m")
    return asked


def used(content: str, prompt: int = 3, completion: int = 2) -> dict[str, Any]:
    return {"content": content, "usage": {"prompt_tokens": prompt, "completion_tokens": completion}}


# A server in the loop of the test, which sees when its client goes away


class Peer:
    """gone: set when the client has hung up. waiting: set when a request has come."""

    def __init__(self, pieces: list[str]) -> None:
        self.pieces = pieces
        self.waiting = asyncio.Event()
        self.gone = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line[15:]) for line in head.decode().lower().split("\r\n") if line.startswith("content-length")
        )
        await reader.readexactly(length)
        if self.pieces:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            for piece in self.pieces:
                line = f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': piece}}]})}\n\n".encode()
                writer.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.waiting.set()
        await reader.read()
        self.gone.set()
        writer.close()


@asynccontextmanager
async def hanging(*pieces: str) -> AsyncIterator[Peer]:
    """A server that answers with these pieces of a stream, or not at all, and then waits for its client to leave."""
    peer = Peer(list(pieces))
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    ai.configure("openai", api_key="k", base_url=f"http://{host}:{port}/v1", default_model="gpt-5.5")
    try:
        yield peer
    finally:
        server.close()


def within_seconds(main: Callable[[], Awaitable[Any]]) -> Any:
    async def limited() -> Any:
        return await asyncio.wait_for(main(), 20)

    return asyncio.run(limited())
