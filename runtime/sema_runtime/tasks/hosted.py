"""Sema functions called from Python coroutines: tasks whose queue is run by the host's asyncio loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from weakref import WeakKeyDictionary

from greenlet import getcurrent  # type: ignore[import-untyped]

from sema_runtime.tasks.promises import AsyncPromise
from sema_runtime.tasks.scheduler import Scheduler
from sema_runtime.tasks.waiting import Task, Waiter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextvars import Context
    from typing import Any

_schedulers: WeakKeyDictionary[asyncio.AbstractEventLoop, HostedScheduler] = WeakKeyDictionary()


class HostedScheduler(Scheduler):
    """A queue that the host's loop runs. There is no root, and no deadlock: the host may wake any task."""

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

    def hand_over(self, waiter: Waiter) -> None:
        self.hub = getcurrent()
        waiter.live = False
        self.resume(waiter.fiber)
        if self.ready:
            self.pump_soon()


def scheduler_of(loop: asyncio.AbstractEventLoop) -> Scheduler:
    """The scheduler of a host's loop."""
    hosted = _schedulers.get(loop)
    if hosted is None:
        hosted = _schedulers[loop] = HostedScheduler(loop)
    return hosted


async def call_in_loop(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The result of function(*args, **keywords), run as a task that shares the coroutine's context variables.

    Cancelling the coroutine cancels the task; it ends when the task has cleaned up.
    """
    scheduler = scheduler_of(asyncio.get_running_loop())
    task = Task(scheduler, lambda: function(*args, **keywords), getcurrent().gr_context)
    scheduler.ready.append(task)
    scheduler.pump_soon()
    return await outcome_of(task)


async def outcome_of(task: Task) -> Any:
    """The result of a task of the running loop; when the coroutine is cancelled, so is the task."""
    scheduler, promise = task.scheduler, task.promise
    done = _told(promise)
    try:
        await done
    except asyncio.CancelledError:
        if scheduler.cancel(promise):
            scheduler.pump_soon()
            await _told(promise)
        raise
    return promise.result()


def _told(promise: AsyncPromise) -> asyncio.Future[None]:
    """A future that is done when the promise is settled and its task has ended."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def settled(_: AsyncPromise) -> None:
        if not done.done():
            done.set_result(None)

    if promise.open:
        promise.watchers.append(settled)
    else:
        done.set_result(None)
    return done
