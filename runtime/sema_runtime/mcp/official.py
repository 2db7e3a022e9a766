"""A client of the official `mcp` package as a connection (extra `mcp`): for servers in the Python process, and for
transports that only that package has.

The task that enters its cancel scopes must leave them, so a separate task opens and closes the client.
"""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from sema_runtime.mcp.protocol import Failure, all_tools


class OfficialClient(NamedTuple):
    """client: an `mcp.Client` that isn't open yet. name: identifies it in cassettes."""

    client: Any
    name: str


class OfficialConnection:
    """The interface of `Connection` (client.py) over that client. Errors are Failures."""

    endpoint = None  # it has no secrets that a cassette must hide

    def __init__(self, target: OfficialClient, timeout_ms: float) -> None:
        self.loop = asyncio.get_running_loop()
        self.server: dict[str, Any] = {}
        self._client = target.client
        self._seconds = timeout_ms / 1000
        self._open = self.loop.create_future()
        self._closing = asyncio.Event()
        self._owner: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._owner = asyncio.ensure_future(self._own())
        try:
            async with asyncio.timeout(self._seconds):
                await asyncio.shield(self._open)
        except TimeoutError:
            await self.close()
            raise Failure(f"the client did not connect within {self._seconds:g} s") from None

    async def _own(self) -> None:
        try:
            async with self._client as client:
                self.server = {"serverInfo": _dumped(client.server_info) if client.server_info else {}}
                self._open.set_result(None)
                await self._closing.wait()
        except BaseException as error:
            if not self._open.done():
                self._open.set_exception(_failure(error))
            elif not isinstance(error, Exception):
                raise

    async def list_tools(self) -> list[dict[str, Any]]:
        return await all_tools(lambda cursor: self._ask(self._client.list_tools(cursor=cursor)))

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self._ask(self._client.call_tool(name, arguments))

    async def _ask(self, request: Any) -> dict[str, Any]:
        try:
            async with asyncio.timeout(self._seconds):
                return _dumped(await request)
        except TimeoutError:
            raise Failure(f"no answer within {self._seconds:g} s") from None
        except Exception as error:
            raise _failure(error) from error

    async def close(self) -> None:
        self._closing.set()
        owner = self._owner
        if owner is None or owner.get_loop() is not asyncio.get_running_loop():
            return  # the task ended with its loop
        await asyncio.wait([owner])  # it may have been cancelled with its loop
        if not owner.cancelled():
            owner.exception()


def _dumped(model: Any) -> dict[str, Any]:
    """Returns a model as JSON of the protocol."""
    dumped: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dumped


def _failure(error: BaseException) -> Failure:
    return error if isinstance(error, Failure) else Failure(str(error) or type(error).__name__)
