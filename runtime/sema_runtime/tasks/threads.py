"""Work that may wait for ever (a process, a device), in a thread of its own, so that tasks go on meanwhile.

The threads are daemons: one that is stuck doesn't keep the process from ending. There is one for each piece of work,
so that none waits for another's to end. Work that computes or reads files, and can look whether it is still wanted,
belongs in the pool of `background.py`.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def in_background(work: Callable[[], Any], stop: Callable[[], Any] | None = None) -> Any:
    """The result of blocking work; when there are tasks, it is done in a thread so that they go on.

    stop: ends the work early. Called when it fails or the wait for it is broken off, by cancelling the task or Ctrl-C;
    without it the thread is left alone then.
    """
    try:
        if "sema_runtime.tasks.scheduler" not in sys.modules:
            return work()
        from sema_runtime.tasks import suspend

        return suspend(_in_thread(work))
    except BaseException:
        if stop is not None:
            stop()
        raise


async def _in_thread(work: Callable[[], Any]) -> Any:
    """The result of work, or what it raises. Cancelling leaves the thread alone."""
    import asyncio
    from contextvars import copy_context
    from threading import Thread

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
