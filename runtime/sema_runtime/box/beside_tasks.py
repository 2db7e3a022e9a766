"""Programs of the box beside the tasks of a Sema program: these go on meanwhile, and tools run in the task that asked.

The session runs in a thread, which hands each call of a tool to the task and waits for its result.
"""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from copy import copy
from functools import partial
from queue import SimpleQueue
from threading import Thread, current_thread
from typing import TYPE_CHECKING, Any

from sema_runtime.values.errors import SemaError

if TYPE_CHECKING:
    from sema_runtime.box.outcome import Outcome
    from sema_runtime.box.pool import Session
    from sema_runtime.box.toolbox import Grant

Answers = SimpleQueue[tuple[Any, Exception | None]]
JOIN_SECONDS = 2.0  # for a thread whose process was killed


def run_beside(session: Session, source: str) -> Outcome:
    """What `session.run(source)` gives. A task that is cancelled meanwhile ends the program."""
    if "sema_runtime.tasks.scheduler" not in sys.modules:  # there are no tasks
        return session.run(source)
    own = session.tools
    beside = Beside(session, source)
    session.tools = {name: beside.forwarding(grant) for name, grant in own.items()}
    try:
        return beside.run()
    finally:
        session.tools = own


class Beside:
    """One program. results: of tools, for the thread, as (value, error)."""

    def __init__(self, session: Session, source: str) -> None:
        self.session = session
        self.source = source
        self.results: Answers = SimpleQueue()
        self.thread = Thread(target=self.work, daemon=True)
        self.loop: Any = None
        self.messages: Any = None  # of the thread: (what, content)

    def run(self) -> Outcome:
        """In the task: calls tools until the program has ended."""
        from sema_runtime.tasks import suspend
        from sema_runtime.tasks.scheduler import scheduler

        try:
            while True:
                what, content = suspend(self.next_message())
                if what == "ended":
                    return content  # type: ignore[no-any-return]
                if what == "raised":
                    raise content
                grant, arguments, answers = content
                if answers is self.results:
                    answers.put(self.called(grant, arguments))
                else:  # one of several: another task, beside the others
                    scheduler().spawn(partial(self.answer, grant, arguments, answers))
        except BaseException:
            self.stop()
            raise

    async def next_message(self) -> tuple[str, Any]:
        import asyncio

        if self.messages is None:
            self.loop, self.messages = asyncio.get_running_loop(), asyncio.Queue()
            self.thread.start()
        return await self.messages.get()  # type: ignore[no-any-return]

    def called(self, grant: Grant, arguments: dict[str, Any]) -> tuple[Any, Exception | None]:
        try:
            return grant.call(arguments), None
        except Exception as problem:
            return None, problem

    def answer(self, grant: Grant, arguments: dict[str, Any], answers: Answers) -> None:
        answer: tuple[Any, Exception | None] = (None, SemaError("the task that asked was cancelled"))
        try:
            answer = self.called(grant, arguments)
        finally:
            answers.put(answer)

    def stop(self) -> None:
        """Ends the program, and waits for its thread."""
        if not self.thread.is_alive():
            return
        self.results.put((None, SemaError("the task that asked was cancelled")))
        worker = self.session.worker
        if worker is not None and worker.handle >= 0:
            with suppress(OSError):
                signal.pidfd_send_signal(worker.handle, signal.SIGKILL)
        self.thread.join(JOIN_SECONDS)

    # In the thread

    def work(self) -> None:
        try:
            self.tell("ended", self.session.run(self.source))
        except BaseException as problem:
            self.tell("raised", problem)

    def tell(self, what: str, content: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self.loop.call_soon_threadsafe(self.messages.put_nowait, (what, content))

    def forwarding(self, grant: Grant) -> Grant:
        """A tool that the task calls."""
        made = copy(grant)

        def call(arguments: dict[str, Any]) -> Any:
            answers = self.results if current_thread() is self.thread else SimpleQueue()
            self.tell("call", (grant, arguments, answers))
            value, problem = answers.get()
            if problem is not None:
                raise problem
            return value

        made.call = call
        return made
