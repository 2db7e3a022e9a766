"""Blocking work in threads of its own, awaited by tasks. The threads are daemons: one that is stuck doesn't keep the
process from ending, and there is one for each piece of work, so that none waits for another's to end."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from threading import Thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


async def in_thread(work: Callable[[], Any]) -> Any:
    """The result of work, or what it raises. Cancelling leaves the thread alone."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def run(context: Any) -> None:
        value = error = None
        try:
            value = context.run(work)
        except BaseException as raised:
            error = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, value, error)

    Thread(target=run, args=(copy_context(),), daemon=True).start()
    return await future
