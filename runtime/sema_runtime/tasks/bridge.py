"""What a coroutine produces piece by piece, consumed by Sema code: each piece costs one switch of greenlets.

`suspend` for every piece would start and end a piece of work of the asyncio loop each time, and outside of tasks the
loop itself, which costs several times more than the piece.
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

MOST_WAITING = 256  # pieces that were not consumed yet; then the producer waits


class Feed:
    """What the producer gives and the consumer hasn't taken yet."""

    def __init__(self, here: Scheduler) -> None:
        self._here = here
        self._pieces: deque[Any] = deque()
        self._waiter: Waiter | None = None
        self._room = Event()

    def give(self, pieces: list[Any]) -> None:
        """Called by the producer, in the loop: the consumer runs now, if it waits for pieces."""
        self._pieces.extend(pieces)
        self._wake()

    def crowded(self) -> bool:
        """Whether the consumer is so far behind that the producer should wait for `room`."""
        return len(self._pieces) > MOST_WAITING

    async def room(self) -> None:
        """Waits until the consumer has caught up."""
        self._room.clear()
        await self._room.wait()

    def consume(self, produce: Callable[[Feed], Awaitable[Any]], take: Callable[[Any], object]) -> Any:
        """The result of produce(self); take gets each piece meanwhile, in the running strand."""
        here = self._here
        work = here.start(produce(self), self._wake)
        try:
            while True:
                while self._pieces:
                    take(self._pieces.popleft())
                self._room.set()
                if work.done():
                    return work.result()
                self._waiter = here.waiter()
                here.wait(self._waiter)
        except BaseException:
            if not work.done():
                from sema_runtime.tasks import finish

                work.cancel()
                finish(_ended(work))
            elif not work.cancelled():
                work.exception()  # is seen, or asyncio complains: what take has raised came first
            raise

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and waiter.live:
            self._here.hand_over(waiter)


async def _ended(work: Awaitable[Any]) -> None:
    """Waits until cancelled work has cleaned up; what it raises is of no concern any more."""
    with suppress(CancelledError, Exception):
        await work


def feed(produce: Callable[[Feed], Awaitable[Any]], take: Callable[[Any], object]) -> Any:
    """The result of a coroutine that gives pieces: produce(feed) calls feed.give(pieces), take(piece) runs for each, in
    order, in the current task. Raises what either raises; the coroutine is cancelled when take raises or the task ends.
    """
    here = scheduler()
    made = Feed(here)
    if here.current() is not here.root:
        return made.consume(produce, take)
    # the root would have to stop the loop for every piece; a task with the same context needn't
    task = Task(here, lambda: made.consume(produce, take), getcurrent().gr_context)
    here.ready.append(task)
    try:
        return here.await_promise(task.promise)
    except BaseException:
        here.cancel(task.promise)
        raise
