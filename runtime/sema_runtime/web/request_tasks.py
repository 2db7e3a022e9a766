"""The tasks of requests: each is cancelled when its client goes away."""

from __future__ import annotations

import asyncio
from contextvars import copy_context

from sema_runtime.tasks.promises import CANCELLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context
    from typing import Any

    from sema_runtime.tasks.scheduler import Scheduler
    from sema_runtime.tasks.waiting import Task
    from sema_runtime.web.asgi import Receive, Scope

LINK = "sema.link"  # in the state of a scope: its Connection, in our own server
NO_STATE: dict[str, Any] = {}


class ClientGone(Exception):
    """The client went away, or the server is stopping: nobody waits for the response."""


class RequestTasks:
    """Runs handlers as tasks. scheduler: whose tasks they are, by default the running loop's. context: the context
    variables that handlers see, by default those of the request's coroutine. on_exit: called when a handler ends the
    program (`exit`), which is raised by default. waiting: the tasks of requests under way."""

    def __init__(
        self,
        scheduler: Scheduler | None = None,
        context: Context | None = None,
        on_exit: Callable[[BaseException], None] | None = None,
    ) -> None:
        self._scheduler = scheduler
        self.context = context
        self.on_exit = on_exit
        self.waiting: set[Task] = set()

    def scheduler(self) -> Scheduler:
        """Returns the scheduler of the requests' tasks."""
        if self._scheduler is not None:
            return self._scheduler
        from sema_runtime.tasks.hosted import scheduler_of

        return scheduler_of(asyncio.get_running_loop())

    def start(self, function: Callable[[], Any]) -> Task:
        """Runs a function as a task, from a coroutine of the loop, until it ends or waits."""
        scheduler = self._scheduler or self.scheduler()
        context = copy_context() if self.context is None else self.context.copy()
        try:
            return scheduler.start_in_loop(function, context)
        except (SystemExit, KeyboardInterrupt) as error:
            if self.on_exit is None:
                raise
            self.on_exit(error)
            raise ClientGone from None

    async def result(self, task: Task, receive: Receive | None, scope: Scope) -> Any:
        """Returns the result of a task. Raises what it raises; ClientGone when it was cancelled."""
        promise = task.promise
        if promise.open:
            await self.finish(task, receive, scope)
        if promise.state is CANCELLED:
            raise ClientGone
        return promise.result()

    async def finish(self, task: Task, receive: Receive | None, scope: Scope) -> None:
        """Waits until the task has ended. It is cancelled with this coroutine, and when the client goes away, which the
        connection reports or receive."""
        promise = task.promise
        if not promise.open:
            return
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def settle(_: Any) -> None:
            if not ended.done():
                ended.set_result(None)

        promise.watchers.append(settle)
        watcher = None
        link = scope.get("state", NO_STATE).get(LINK)
        if link is not None:
            link.lost = settle
        elif receive is not None:
            watcher = asyncio.ensure_future(_disconnected(receive))
            watcher.add_done_callback(settle)
        self.waiting.add(task)
        try:
            await ended
        finally:
            self.waiting.discard(task)
            if link is not None:
                link.lost = None
            if watcher is not None:
                watcher.cancel()
            if promise.open:
                cancel(task)

    def cancel_all(self) -> None:
        """Cancels the tasks of all requests under way."""
        for task in list(self.waiting):
            cancel(task)


def cancel(task: Task) -> None:
    """Cancels a task, from the loop or from another task."""
    task.scheduler.cancel(task.promise)
    task.scheduler.pump_soon()


async def _disconnected(receive: Receive) -> None:
    """Returns when the client has gone away."""
    while (await receive())["type"] != "http.disconnect":
        pass
