"""A bridge from a coroutine that produces pieces to Sema code that consumes them, at one greenlet switch a piece.

`suspend` for every piece would start and end an asyncio task each time, and outside of tasks the loop too, which costs
several times more than the piece.
"""

from __future__ import annotations

from asyncio import CancelledError, Event
from collections import deque
from contextlib import suppress

from greenlet import getcurrent  # type: ignore[import-untyped]

from sema_runtime.tasks.scheduler import Scheduler, scheduler
from sema_runtime.tasks.waiting import Task, Waiter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

MOST_WAITING = 256  # unconsumed pieces; with more the producer should wait


class PieceBridge:
    """The pieces that the producer has given and the consumer hasn't taken yet."""

    def __init__(self, queue: Scheduler) -> None:
        self._scheduler = queue
        self._pieces: deque[Any] = deque()
        self._waiter: Waiter | None = None
        self._room = Event()

    def give(self, pieces: list[Any]) -> None:
        """Adds pieces; called by the producer, in the loop. The consumer runs at once if it waits."""
        self._pieces.extend(pieces)
        self._wake()

    def crowded(self) -> bool:
        """Whether the consumer is so far behind that the producer should wait for `room`."""
        return len(self._pieces) > MOST_WAITING

    async def room(self) -> None:
        """Waits until the consumer has caught up."""
        self._room.clear()
        await self._room.wait()

    def consume(self, produce: Callable[[PieceBridge], Awaitable[Any]], take: Callable[[Any], object]) -> Any:
        """The result of produce(self). Calls take(piece) for each piece meanwhile, in the running fiber."""
        queue = self._scheduler
        work = queue.start(produce(self), self._wake)
        try:
            while True:
                while self._pieces:
                    take(self._pieces.popleft())
                self._room.set()
                if work.done():
                    return work.result()
                self._waiter = queue.waiter()
                queue.wait(self._waiter)
        except BaseException:
            if not work.done():
                from sema_runtime.tasks import finish

                work.cancel()
                finish(_ended(work))
            elif not work.cancelled():
                work.exception()  # retrieved, or asyncio logs it: the error of take came first
            raise

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and waiter.live:
            self._scheduler.hand_over(waiter)


async def _ended(work: Awaitable[Any]) -> None:
    """Waits until cancelled work has cleaned up; ignores what it raises."""
    with suppress(CancelledError, Exception):
        await work


def consume_pieces(produce: Callable[[PieceBridge], Awaitable[Any]], take: Callable[[Any], object]) -> Any:
    """The result of a coroutine that produces pieces, while take(piece) runs for each, in order, in the current task.

    produce: called with a PieceBridge, to whose `give` it passes the pieces. Raises what either raises; the coroutine
    is cancelled when take raises or the task ends.
    """
    queue = scheduler()
    bridge = PieceBridge(queue)
    if queue.current() is not queue.root:
        return bridge.consume(produce, take)
    # the root would have to stop the loop for every piece; a task with the same context needn't
    task = Task(queue, lambda: bridge.consume(produce, take), getcurrent().gr_context)
    queue.settle_pulled()
    queue.ready.append(task)
    try:
        return queue.await_promise(task.promise)
    except BaseException:
        queue.cancel(task.promise)
        raise
