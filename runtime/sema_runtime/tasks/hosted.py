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
    from contextvars import Context
    from typing import Any

_schedulers: WeakKeyDictionary[asyncio.AbstractEventLoop, HostedScheduler] = WeakKeyDictionary()


class HostedScheduler(Scheduler):
    """A queue that the host's loop runs. There is no root; what can't go on waits for the host, not for ever."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.host = loop
        self.in_loop = True

    def loop(self) -> asyncio.AbstractEventLoop:
        return self.host

    def pump(self) -> None:
        """Runs what is ready, then sets the alarm for the next timer."""
        self.pumping = False
        self.hub = getcurrent()
        self._run_batch()
        if not (self.ready or self.external) and self._next_timer() is None:
            while self.idle_runners:
                self.idle_runners.popleft().wake()
        if self.ready:
            self.pump_soon()
        else:
            self._set_alarm()

    def start_in_loop(self, function: Callable[[], Any], context: Context) -> Task:
        self.hub = getcurrent()
        task = Task(self, function, context)
        self.resume(task)
        if self.ready or task.promise.open:
            self.pump_soon()
        return task


def scheduler_of(loop: asyncio.AbstractEventLoop) -> Scheduler:
    """The scheduler whose tasks the running loop of a host runs."""
    found = _schedulers.get(loop)
    if found is None:
        found = _schedulers[loop] = HostedScheduler(loop)
    return found


async def call_in_loop(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The result of function(*args), run as a task. Cancelling the coroutine cancels the task."""
    loop = asyncio.get_running_loop()
    scheduler = scheduler_of(loop)
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
