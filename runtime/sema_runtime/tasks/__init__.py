"""Tasks: greenlets over one run queue. Compiled functions stay plain Python and still wait concurrently.

`suspend(awaitable)` waits for a Python awaitable from Sema code: only the current task stops; outside a task, the tasks
run meanwhile. `finish(awaitable)` does the same for cleaning up. `await call(function, *args)` runs a Sema function
from a Python coroutine. `drain()` gives unfinished tasks a moment to finish; it costs nothing when there are none.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

NAP = 1.0  # seconds at most in which a signal may go unnoticed


def suspend(awaitable: Awaitable[Any]) -> Any:
    """The result of an awaitable; while it is pending, other tasks run. Raises what it raises, or Cancelled."""
    from sema_runtime.tasks.scheduler import scheduler

    return scheduler().suspend(awaitable)


def finish(awaitable: Awaitable[Any]) -> Any:
    """As `suspend`, for work that must be completed: when the task is cancelled, the work continues without it."""
    from asyncio import shield

    from sema_runtime.tasks.scheduler import scheduler

    queue = scheduler()
    return queue.suspend(shield(queue.start(awaitable, bool)))


def sleep(milliseconds: float) -> None:
    """Stops the current task (the program, outside of tasks) for that long."""
    module = sys.modules.get("sema_runtime.tasks.scheduler")
    if module is not None:
        module.scheduler().sleep(milliseconds)
    else:
        from time import monotonic
        from time import sleep as block

        end = monotonic() + milliseconds / 1000
        while (seconds := end - monotonic()) > NAP:  # a signal that comes just before a wait begins doesn't end it
            block(NAP)
        block(max(seconds, 0))


def cancelled() -> bool:
    """Whether the running task was cancelled and has caught that: it ends when it waits again."""
    module = sys.modules.get("sema_runtime.tasks.scheduler")
    if module is None:
        return False
    return bool(module.scheduler().current().doomed)


async def call(function: Callable[..., Any], /, *args: Any, **keywords: Any) -> Any:
    """Runs a Sema function as a task of the running asyncio loop. Its waits don't block that loop."""
    from sema_runtime.tasks.hosted import call_in_loop

    return await call_in_loop(function, args, keywords)


def drain() -> None:
    """Runs unfinished tasks for a moment at most; those left are dropped when the process ends."""
    module = sys.modules.get("sema_runtime.tasks.scheduler")
    if module is not None:
        module.scheduler().drain()
