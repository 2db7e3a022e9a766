"""A concurrent map: tasks work on several items, and results come in the order of the items."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence

from sema_runtime.tasks.promises import AsyncPromise
from sema_runtime.tasks.scheduler import scheduler
from sema_runtime.tasks.waiting import Callbacks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def parallel_map(function: Callable[[Any], Any], items: Sequence[Any], limit: int) -> Generator[Any, None, None]:
    """Yields function(item) for each item, in their order. Items start in that order too, at most limit at once.

    Raises the error of the first item, in that order, that fails. An early end (an error, a cancelled task, Ctrl-C,
    closing the iterator) cancels the items under way, waits for their end, and starts no further item.
    """
    tasks = scheduler()
    waiting = deque((item, AsyncPromise()) for item in items)
    promised = [promise for _, promise in waiting]

    def work() -> None:
        # the program is called by a builtin here
        tasks.current().callback = Callbacks(is_inline=True, has_begun=True)
        while waiting:
            item, promise = waiting.popleft()
            try:
                promise.resolve(function(item))
            except Exception as error:
                promise.reject(error)

    workers = [tasks.spawn(work) for _ in range(min(limit, len(waiting)))]
    try:
        for promise in promised:
            yield tasks.await_promise(promise)
    finally:
        waiting.clear()
        for worker in workers:
            tasks.cancel(worker)
        for worker in workers:  # the scheduler may stop running after this
            if worker.open:
                waiter = tasks.waiter()
                worker.watchers.append(waiter.wake)
                tasks.wait(waiter)
        tasks.pause()
