"""Sema functions called from Python coroutines: tasks whose queue is run by the host's asyncio loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from weakref import WeakKeyDictionary

from greenlet import getcurrent  # type: ignore[import-untyped]

from sema_runtime.tasks.promises import AsyncPromise
from sema_runtime.tasks.scheduler import Scheduler, Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_schedulers: WeakKeyDictionary[asyncio.AbstractEventLoop, HostedScheduler] = WeakKeyDictionary()


class HostedScheduler(Scheduler):
    """A queue that the host's loop runs. There is no root; what can't go on waits for the host, not for ever."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.host = loop
        self.pumping = False
        self.timer: asyncio.TimerHandle | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        return self.host

    def stop_loop(self) -> None:
        self.pump_soon()

    def pump_soon(self) -> None:
        """Runs the queue when the loop comes round."""
        if not self.pumping:
            self.pumping = True
            self.host.call_soon(self.pump)

    def pump(self) -> None:
        """Runs what is ready, then sets the alarm for the next timer."""
        self.pumping = False
        self.hub = getcurrent()
        while True:
            while self.ready:
                self.resume(self.ready.popleft())
            if not self._fire():
                break
        delay = self._next_timer()
        if delay is None and not self.external:
            while self.idle_runners:
                self.idle_runners.popleft().wake()
        if self.ready:
            self.pump_soon()
        if self.timer is not None:
            self.timer.cancel()
        self.timer = None if delay is None else self.host.call_later(delay, self.pump)


async def call_in_loop(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The result of function(*args), run as a task. Cancelling the coroutine cancels the task."""
    loop = asyncio.get_running_loop()
    scheduler = _schedulers.get(loop)
    if scheduler is None:
        scheduler = _schedulers[loop] = HostedScheduler(loop)
    task = Task(scheduler, lambda: function(*args))
    done: asyncio.Future[None] = loop.create_future()

    def settled(_: AsyncPromise) -> None:
        if not done.done():
            done.set_result(None)

    task.promise.watchers.append(settled)
    scheduler.ready.append(task)
    scheduler.pump_soon()
    try:
        await done
    except asyncio.CancelledError:
        scheduler.cancel(task.promise)
        scheduler.pump_soon()
        raise
    return task.promise.result()
