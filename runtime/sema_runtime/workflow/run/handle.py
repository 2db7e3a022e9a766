"""A workflow that Python code has started: its value, and its events as they come."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from dataclasses import replace

from sema_runtime.tasks import call
from sema_runtime.workflow.run import scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator
    from typing import Any

    from sema_runtime.workflow.journal.events import Event
    from sema_runtime.workflow.run.run import Run
    from sema_runtime.workflow.run.scope import Settings


class Handle:
    """run_id: of the run that was started first, "" before it was. Await it for what the function gives; cancelling the
    wait cancels the workflow, which can be resumed."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], settings: Settings) -> None:
        self.run_id = ""
        self._seen: list[Event] = []
        self._more = asyncio.Event()
        context = copy_context()
        context.run(scope.settings.set, replace(settings, watchers=(*settings.watchers, self._watch)))
        self._task = asyncio.get_running_loop().create_task(call(function, *arguments), context=context)
        self._task.add_done_callback(lambda _: self._more.set())

    def _watch(self, run: Run, event: Event) -> None:
        self.run_id = self.run_id or run.run_id
        self._seen.append(event)
        self._more.set()

    def __await__(self) -> Generator[Any, None, Any]:
        return self._task.__await__()

    def cancel(self) -> None:
        """Cancels the workflow, which can be resumed."""
        self._task.cancel()

    async def events(self) -> AsyncIterator[Event]:
        """All events from the first one on, those to come when they do. Ends with the function; what it raises, the
        handle raises where it is awaited."""
        at = 0
        while True:
            while at < len(self._seen):
                at += 1
                yield self._seen[at - 1]
            if self._task.done():
                return
            self._more.clear()
            await self._more.wait()
