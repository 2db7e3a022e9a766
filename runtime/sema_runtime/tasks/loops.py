"""Runs an asyncio loop for a while, also below another one (a notebook's) that runs in the same thread."""

from __future__ import annotations

import asyncio
import atexit
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from greenlet import getcurrent  # type: ignore[import-untyped]

from sema_runtime.tasks import interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


BLOCKED = (
    "a Sema function waits in the thread of a running asyncio loop, which stands still meanwhile; "
    "await it instead: await run(function, ...), from sema_runtime.interop"
)


def new_loop() -> asyncio.AbstractEventLoop:
    """A loop that is closed, its tasks cancelled, when the process ends."""
    loop = asyncio.new_event_loop()
    atexit.register(_close_at_exit, loop)
    return loop


def run(loop: asyncio.AbstractEventLoop) -> None:
    """Runs the loop until it is stopped. Raises KeyboardInterrupt after Ctrl-C."""
    outer = asyncio._get_running_loop()
    with _interrupts(loop):
        if outer is None:
            loop.run_forever()
        else:  # a synchronous call below a running loop blocks it anyway
            if outer is not loop and "ipykernel" not in sys.modules:  # where cells run below the loop of the kernel
                warnings.warn(BLOCKED, RuntimeWarning, stacklevel=2)
            with Hiding(outer):
                loop.run_forever()


@contextmanager
def _interrupts(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Makes Ctrl-C stop the loop between two callbacks. Raised inside of one, it would leave connections half handled,
    or be lost, since libraries catch what callbacks raise.

    In a task, which runs the program's code, it is raised at once, too. Signals wake the loop; otherwise one that comes
    in the moment before the loop begins to wait would be noticed after the wait.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    hub = getcurrent()
    stops: list[asyncio.Handle] = []

    def stop(number: int, frame: Any) -> None:
        stops.append(loop.call_soon_threadsafe(loop.stop))
        if getcurrent() is not hub:
            interrupts.raised(number, frame)

    socket = getattr(loop, "_csock", None)  # the end of asyncio's own pipe that wakes the loop
    with interrupts.handled():
        interrupts.stops.append(stop)
        woken = -1 if socket is None else signal.set_wakeup_fd(socket.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            with interrupts.held():
                if socket is not None:
                    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
                interrupts.stops.remove(stop)
                for handle in stops:
                    handle.cancel()  # it would stop the loop's next run
    if stops:
        raise KeyboardInterrupt


class Hiding:
    """Hides the running loop and its current task from the code inside a `with`."""

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


def _close_at_exit(loop: asyncio.AbstractEventLoop) -> None:
    """Closes the loop. Ctrl-C from now on ends the process at once: raised here, it would be shown as an error."""
    with suppress(KeyboardInterrupt):
        if threading.current_thread() is threading.main_thread() and interrupts.is_unhandled(signal.SIGINT):
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    close(loop)


def close(loop: asyncio.AbstractEventLoop) -> None:
    """Cancels the tasks that are left and closes the loop."""
    if loop.is_closed():
        return
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
