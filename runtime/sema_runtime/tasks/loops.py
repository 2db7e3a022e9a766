"""Running an asyncio loop in slices, also underneath another one (a notebook's) that is running in the same thread."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Iterator
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def new_loop() -> asyncio.AbstractEventLoop:
    """A loop that is closed, its tasks cancelled, when the process ends."""
    loop = asyncio.new_event_loop()
    atexit.register(close, loop)
    return loop


def run_slice(loop: asyncio.AbstractEventLoop, seconds: float | None) -> None:
    """Runs the loop until somebody stops it, at most for that long."""
    timer = None if seconds is None else loop.call_later(seconds, loop.stop)
    try:
        with _no_running_loop():
            loop.run_forever()
    finally:
        if timer is not None:
            timer.cancel()


@contextmanager
def _no_running_loop() -> Iterator[None]:
    """Hides the loop that is running in this thread, if any: a synchronous call below it blocks it anyway."""
    outer = asyncio._get_running_loop()
    if outer is None:
        yield
        return
    swap: Any = getattr(asyncio.tasks, "_swap_current_task", None)  # since Python 3.12
    task = swap(outer, None) if swap else None
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(outer)
        if swap:
            swap(outer, task)


def close(loop: asyncio.AbstractEventLoop) -> None:
    """Cancels what is left and closes the loop."""
    if loop.is_closed():
        return
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
