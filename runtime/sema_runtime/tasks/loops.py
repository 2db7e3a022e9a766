"""Running an asyncio loop for a while, also underneath another one (a notebook's) that runs in the same thread."""

from __future__ import annotations

import asyncio
import atexit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def new_loop() -> asyncio.AbstractEventLoop:
    """A loop that is closed, its tasks cancelled, when the process ends."""
    loop = asyncio.new_event_loop()
    atexit.register(close, loop)
    return loop


def run(loop: asyncio.AbstractEventLoop) -> None:
    """Runs the loop until somebody stops it."""
    outer = asyncio._get_running_loop()
    if outer is None:
        loop.run_forever()
    else:  # a synchronous call below a running loop blocks it anyway
        with Hiding(outer):
            loop.run_forever()


class Hiding:
    """Hides the running loop and its current task from the code inside a `with`, which is not theirs."""

    __slots__ = ("loop", "task")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop

    def __enter__(self) -> None:
        self.task = None if _swap_task is None else _current_task(self.loop)
        if self.task is not None:  # Python 3.12 can't take away a task that isn't there
            _swap_task(self.loop, None)
        _set_running_loop(None)

    def __exit__(self, *_: object) -> None:
        _set_running_loop(self.loop)
        if self.task is not None:
            _swap_task(self.loop, self.task)


_set_running_loop = asyncio._set_running_loop
_current_task = asyncio.current_task
_swap_task: Any = getattr(asyncio.tasks, "_swap_current_task", None)  # since Python 3.12


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
