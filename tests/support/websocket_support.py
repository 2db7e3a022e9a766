"""WebSocket servers on loopback, and programs that talk to them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

from net_support import background
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from sema_runtime.values.printer import to_text
from semac.session import Session

Conversation = Callable[[ServerConnection], Awaitable[Any]]


@contextmanager
def talking(conversation: Conversation, **settings: Any) -> Iterator[str]:
    """The URL of a WebSocket server that has this conversation with each client, for the time of a `with`."""

    async def quiet(socket: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            await conversation(socket)

    @asynccontextmanager
    async def listening() -> AsyncIterator[int]:
        async with serve(quiet, "127.0.0.1", 0, **settings) as server:
            yield next(iter(server.sockets)).getsockname()[1]

    with background.held(listening()) as port:
        yield f"ws://127.0.0.1:{port}/x"


async def echo(socket: ServerConnection) -> None:
    """Texts come back with `re:` before them, bytes as they are."""
    async for message in socket:
        await socket.send(message if isinstance(message, bytes) else f"re:{message}")


async def goodbye(socket: ServerConnection) -> None:
    await socket.send("a")
    await socket.send(b"b")
    await socket.close(4001, "bye")


def shown(url: str, body: str, options: str = "{}") -> str:
    """What a program gives that has opened a connection `c`, as it prints."""
    session = Session()
    session.run(f'(define c (ws/connect "{url}" {options}))')
    try:
        return to_text(session.run(body))
    finally:
        session.run("(ws/close c)")
