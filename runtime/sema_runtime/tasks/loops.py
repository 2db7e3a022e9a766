"""Running an asyncio loop for a while, also underneath another one (a notebook's) that runs in the same thread."""

from __future__ import annotations

import asyncio
import atexit
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from greenlet import getcurrent  # type: ignore[import-untyped]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def new_loop() -> asyncio.AbstractEventLoop:
    """A loop that is closed, its tasks cancelled, when the process ends."""
    loop = asyncio.new_event_loop()
    atexit.register(close, loop)
    return loop


def run(loop: asyncio.AbstractEventLoop) -> None:
    """Runs the loop until somebody stops it. Raises KeyboardInterrupt after Ctrl-C."""
    outer = asyncio._get_running_loop()
    with _interrupts(loop):
        if outer is None:
            loop.run_forever()
        else:  # a synchronous call below a running loop blocks it anyway
            with Hiding(outer):
                loop.run_forever()


@contextmanager
def _interrupts(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Has Ctrl-C stop the loop between two callbacks: raised inside of one, it would leave connections half handled.

    In a task, which runs code of the program, it is raised at once. A handler of the program's own is left alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if not is_unhandled(signal.SIGINT):
        yield
        return
    hub, came = getcurrent(), False

    def interrupt(number: int, frame: Any) -> None:
        nonlocal came
        if getcurrent() is not hub:
            signal.default_int_handler(number, frame)
        came = True
        loop.call_soon_threadsafe(loop.stop)

    before = signal.signal(signal.SIGINT, interrupt)
    _ours.add(interrupt)
    try:
        yield
    finally:
        _ours.discard(interrupt)
        if signal.getsignal(signal.SIGINT) is interrupt:
            signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


_ours: set[Any] = set()  # handlers that stop a loop


def is_unhandled(number: int) -> bool:
    """Whether nothing but Python, or a running loop of ours, handles a signal."""
    handler = signal.getsignal(number)
    return handler is signal.default_int_handler or handler is signal.SIG_DFL or handler in _ours


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
