"""Work that computes or reads files, in a pool of threads, so that tasks go on meanwhile; it looks now and then whether
anybody still waits for it. What may wait for ever belongs in a thread of its own: `threads.py`."""

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
    """Ends work whose result nobody wants. No Exception, so that the work's own handlers let it pass."""


class Work:
    """A piece of blocking work, which looks here now and then. cancelled: whoever waited for it has gone."""

    __slots__ = ("cancelled",)

    def __init__(self) -> None:
        self.cancelled = False

    def check(self) -> None:
        """Ends the work when it was cancelled."""
        if self.cancelled:
            raise Abandoned


def run(function: Callable[[Work], T], pool: ThreadPoolExecutor | None = None) -> T:
    """The result of function(work): in a thread when other tasks could run meanwhile, else at once.

    pool: whose thread does it; without, one of the loop's. Cancelling the task (or Ctrl-C) sets work.cancelled.
    """
    work = Work()
    if not others_may_run():
        return function(work)
    from sema_runtime.tasks.scheduler import scheduler

    here = scheduler()
    _watch_exit()
    _running.add(work)
    try:
        result: T = here.suspend(_in_pool(pool, function, work))
    except BaseException:
        work.cancelled = True
        raise
    finally:
        _running.discard(work)
    return result


async def _in_pool(pool: ThreadPoolExecutor | None, function: Callable[[Work], T], work: Work) -> T:
    """The result of function(work), done by a thread. Started from the loop, since Ctrl-C isn't raised there: it would
    leave a new thread behind that its pool doesn't know, and that Python waits for in vain when the program ends."""
    from asyncio import get_running_loop

    return await get_running_loop().run_in_executor(pool, function, work)


_running: set[Work] = set()  # what somebody waits for


@cache
def _watch_exit() -> None:
    """When the program ends, work that is still being done shall end too: Python waits for its threads."""
    import concurrent.futures.thread  # noqa: F401 - registers itself, before us
    import threading

    threading._register_atexit(_cancel_all)  # type: ignore[attr-defined]  # the last one is called first


def _cancel_all() -> None:
    for work in _running:
        work.cancelled = True


def others_may_run() -> bool:
    """Whether anything but the running task could go on: a task, a timer, a host's loop."""
    module = sys.modules.get("sema_runtime.tasks.scheduler")
    if module is None:
        return False
    here = module.scheduler()
    return type(here) is not module.Scheduler or bool(here.ready or here.timers or here.external)


class Lane:
    """The work on one thing that bears one piece at a time, in the order of the calls. Any thread may use it.

    waiting: how many calls have not returned yet. lock: held while a piece of work is done.
    """

    def __init__(self) -> None:
        self.waiting = 0
        self.lock = allocate_lock()
        self._pool: Any = None

    def run(self, function: Callable[[Work], T]) -> T:
        """As `run`, behind what was asked for earlier."""
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
        """Calls function behind everything else; doesn't wait for it. The lane is not used afterwards."""
        if self._pool is None:
            function()
        else:
            self._pool.submit(function)
            self._pool.shutdown(wait=False)
