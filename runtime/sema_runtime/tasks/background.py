"""Work that computes or reads files, in a thread pool, while tasks continue. It checks now and then whether its result
is still wanted. Work that may wait for ever belongs in a thread of its own (`threads.py`)."""

from __future__ import annotations

import sys
from _thread import allocate_lock
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor
    from typing import Any, TypeVar

    T = TypeVar("T")


class Abandoned(BaseException):
    """Ends work whose result is unwanted. A BaseException, so that the work's own handlers don't catch it."""


class Work:
    """A piece of blocking work, which calls `check` now and then. cancelled: its result is unwanted."""

    __slots__ = ("cancelled",)

    def __init__(self) -> None:
        self.cancelled = False

    def check(self) -> None:
        """Raises Abandoned when the work was cancelled."""
        if self.cancelled:
            raise Abandoned


def run(function: Callable[[Work], T], pool: ThreadPoolExecutor | None = None) -> T:
    """The result of function(work), computed in a thread when other tasks could run meanwhile, else here.

    pool: the pool of that thread; the loop's own when None. Cancelling the task (or Ctrl-C) sets work.cancelled.
    """
    work = Work()
    if not others_may_run():
        return function(work)
    from sema_runtime.tasks.scheduler import scheduler

    _watch_exit()
    _running.add(work)
    try:
        result: T = scheduler().suspend(_in_pool(pool, function, work))
    except BaseException:
        work.cancelled = True
        raise
    finally:
        _running.discard(work)
    return result


async def _in_pool(pool: ThreadPoolExecutor | None, function: Callable[[Work], T], work: Work) -> T:
    """The result of function(work), computed in a thread. Started from the loop, since Ctrl-C isn't raised there: it
    could leave a new thread that its pool doesn't know and that Python waits for in vain at the end."""
    from asyncio import get_running_loop

    return await get_running_loop().run_in_executor(pool, function, work)


_running: set[Work] = set()  # whose results are wanted


@cache
def _watch_exit() -> None:
    """Arranges that work ends with the program: Python waits for its threads."""
    import concurrent.futures.thread  # noqa: F401 - registers itself, before us
    import threading

    threading._register_atexit(_cancel_all)  # type: ignore[attr-defined]  # the last one is called first


def _cancel_all() -> None:
    for work in _running:
        work.cancelled = True


def others_may_run() -> bool:
    """Whether anything but the running task could run: a task, a timer, a host's loop."""
    module = sys.modules.get("sema_runtime.tasks.scheduler")
    if module is None:
        return False
    queue = module.scheduler()
    return type(queue) is not module.Scheduler or bool(queue.ready or queue.timers or queue.external or queue.pulled)


class Lane:
    """Serializes work on one resource: one piece at a time, in the order of the calls. Any thread may use it.

    waiting: how many calls have not returned yet. lock: held while a piece of work runs.
    """

    def __init__(self) -> None:
        self.waiting = 0
        self.lock = allocate_lock()
        self._pool: Any = None

    def run(self, function: Callable[[Work], T]) -> T:
        """As the function `run`, after the work that was given earlier."""
        if self._pool is None and others_may_run():
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(1)
        self.waiting += 1
        try:
            return run(lambda work: self._alone(function, work), self._pool)
        finally:
            self.waiting -= 1

    def _alone(self, function: Callable[[Work], T], work: Work) -> T:
        with self.lock:
            work.check()
            return function(work)

    def end(self, function: Callable[[], Any]) -> None:
        """Calls function after all other work, without waiting for it. The lane must not be used afterwards."""
        if self._pool is None:
            function()
        else:
            self._pool.submit(function)
            self._pool.shutdown(wait=False)
