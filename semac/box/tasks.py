"""Tasks of a program in the box: they take turns, and calls of tools that wait at the same time go to the host as one.

When no task can go on, all calls that wait are sent together, and the tasks continue in the order in which they asked.
So what a program does depends on the replies alone, and a session can run it again exactly. There is no clock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sema_runtime.tasks.promises import AsyncPromise
from sema_runtime.tasks.scheduler import Scheduler
from sema_runtime.tasks.waiting import Waiter

Asked = tuple[str, list[Any]]  # the name of a tool and its encoded arguments
Reply = dict[str, Any]


class Tasks(Scheduler):
    """exchange: gives the replies to calls, in their order. give_up: ends the process, of a task without memory.
    most: tasks that are unfinished at the same time. too_many: raises the end of a program that has more."""

    def __init__(
        self,
        exchange: Callable[[list[Asked]], list[Reply]],
        give_up: Callable[[], object],
        most: int,
        too_many: Callable[[], object],
    ) -> None:
        super().__init__()
        self.exchange = exchange
        self.give_up = give_up
        self.most = most
        self.too_many = too_many
        self.unfinished = 0
        self.waiting: list[tuple[Waiter, Asked]] = []
        self.spawned = False

    def ask(self, name: str, args: list[Any]) -> Reply:
        """The reply to one call; other tasks go on meanwhile."""
        if not self.spawned:
            return self.exchange([(name, args)])[0]
        waiter = self.waiter()
        self.waiting.append((waiter, (name, args)))
        reply: Reply = self.wait(waiter)
        return reply

    def spawn(self, function: Callable[[], Any]) -> AsyncPromise:
        def limited() -> Any:
            try:
                return function()
            except MemoryError:
                self.give_up()
                raise
            finally:
                self.unfinished -= 1

        if self.unfinished >= self.most:
            self.too_many()
        self.unfinished += 1
        self.spawned = True
        return super().spawn(limited)

    def finish(self) -> None:
        """Runs the tasks that nobody has waited for."""
        if self.spawned:
            self.run_others()

    def idle(self) -> bool:
        if not self.waiting:
            return super().idle()
        calls, self.waiting = self.waiting, []
        replies = self.exchange([asked for _, asked in calls])
        for (waiter, _), reply in zip(calls, replies, strict=True):
            waiter.wake(reply)
        return True
