"""Work on several items at once, as tasks, with the results in the order of the items."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence

from sema_runtime.tasks.callbacks import Callbacks
from sema_runtime.tasks.promises import AsyncPromise
from sema_runtime.tasks.scheduler import scheduler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def parallel_map(function: Callable[[Any], Any], items: Sequence[Any], limit: int) -> Generator[Any, None, None]:
    """function(item) of each item, begun in their order, at most limit at once. Results come in that order, too.

    Raises what the first item to fail raises, first in that order. What ends this early (that, cancelling the task,
    Ctrl-C, closing the iterator) cancels what is under way, waits until that has ended, and begins nothing more.
    """
    tasks = scheduler()
    waiting = deque((item, AsyncPromise()) for item in items)
    promised = [promise for _, promise in waiting]

    def work() -> None:
        # what calls the program here is a builtin
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
        for worker in workers:  # perhaps nobody runs the scheduler any more when this has ended
            if worker.open:
                waiter = tasks.waiter()
                worker.watchers.append(waiter.wake)
                tasks.wait(waiter)
        tasks.pause()
