"""Work on several items at once, as tasks, with the results in the order of the items."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence

from sema_runtime.tasks.promises import AsyncPromise
from sema_runtime.tasks.scheduler import scheduler
from sema_runtime.tasks.waiting import Callbacks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def in_order(function: Callable[[Any], Any], items: Sequence[Any], limit: int) -> Generator[Any, None, None]:
    """function(item) of each item, begun in their order, at most limit at once. Results come in that order, too.

    Raises what the first item to fail raises, first in that order. What ends this early (that, cancelling the task,
    Ctrl-C, closing the iterator) cancels what is under way, waits until that has ended, and begins nothing more.
    """
    here = scheduler()
    waiting = deque((item, AsyncPromise()) for item in items)
    promised = [promise for _, promise in waiting]

    def work() -> None:
        # what calls the program here is a builtin
        here.current().callback = Callbacks(is_inline=True, has_begun=True)
        while waiting:
            item, promise = waiting.popleft()
            try:
                promise.resolve(function(item))
            except Exception as error:
                promise.reject(error)

    workers = [here.spawn(work) for _ in range(min(limit, len(waiting)))]
    try:
        for promise in promised:
            yield here.await_promise(promise)
    finally:
        waiting.clear()
        for worker in workers:
            here.cancel(worker)
        for worker in workers:  # perhaps nobody runs the scheduler any more when this has ended
            if worker.open:
                waiter = here.waiter()
                worker.watchers.append(waiter.wake)
                here.wait(waiter)
        here.pause()
