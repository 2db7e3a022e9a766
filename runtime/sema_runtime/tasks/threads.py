"""Work that may wait for ever (on a process, a device), in a thread of its own, while tasks continue.

The threads are daemons, so a stuck one doesn't keep the process from ending. Each piece of work has its own thread, so
none waits for another. Work that computes or reads files, and can check whether it is still wanted, belongs in the pool
of `background.py`.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def in_background(work: Callable[[], Any], stop: Callable[[], Any] | None = None) -> Any:
    """The result of blocking work. When there are tasks, the work runs in a thread while they continue.

    stop: ends the work early. Called when the work fails, when the task is cancelled and after Ctrl-C; without it the
    thread is left running then.
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
