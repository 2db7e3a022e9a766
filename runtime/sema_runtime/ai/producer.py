"""A task that produces pieces of text, and the queue that its reader takes them from."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from typing import Any

from sema_runtime.llm.budgets import reservations
from sema_runtime.tasks.scheduler import Scheduler
from sema_runtime.tasks.waiting import Task, Waiter

AHEAD = 64  # pieces that may wait for the reader before the task waits


class Producer:
    """Runs work(push) as a task of the scheduler, from the first read on; push takes a piece.

    The task has the context variables of the code that created the producer. on_news: called, once, when there is
    something to read or the work has ended.
    """

    def __init__(self, scheduler: Scheduler, work: Callable[[Callable[[str], None]], Any]) -> None:
        self.scheduler = scheduler
        self.work = work
        self.context: Context = copy_context()
        self.pieces: deque[str] = deque()
        self.task: Task | None = None
        self.parked: Waiter | None = None
        self.on_news: Callable[[], object] | None = None
        self.enclosing_count = len(reservations.enclosing_in(self.context))  # calls that this one is nested in

    def begin(self) -> None:
        if self.task is None:
            work, self.work = self.work, _nothing
            self.task = Task(self.scheduler, lambda: work(self._push), self.context)
            self.promise = self.task.promise
            self.promise.watchers.append(lambda _: self._tell())
            self.scheduler.settle_pulled()
            self.scheduler.ready.append(self.task)
            self.scheduler.pump_soon()

    def _push(self, piece: str) -> None:
        self.pieces.append(piece)
        self._tell()
        if len(self.pieces) >= AHEAD:
            self.parked = self.scheduler.waiter()
            self._set_runs_ahead(False)
            self.scheduler.wait(self.parked)

    def _set_runs_ahead(self, runs_ahead: bool) -> None:
        for reservation in reservations.enclosing_in(self.context)[self.enclosing_count :]:
            reservation.set_runs_ahead(runs_ahead)

    def _tell(self) -> None:
        told, self.on_news = self.on_news, None
        if told is not None:
            told()

    def take(self) -> str | None:
        """Returns the next piece; None when there is none yet."""
        if not self.pieces:
            return None
        piece = self.pieces.popleft()
        if self.parked is not None and not self.pieces:
            self.parked.wake()
            self.parked = None
            self.scheduler.pump_soon()
        enclosing = reservations.enclosing_in(self.context)
        if (
            len(enclosing) > self.enclosing_count
        ):  # what its reader asks now can't wait for the stream to end, once that is parked
            self._set_runs_ahead(self.parked is None)
            reservations.set_enclosing(enclosing)
        return piece

    @property
    def ended(self) -> bool:
        return self.task is not None and not self.promise.open

    def result(self) -> Any:
        """Returns the value of the finished work, or raises its error. Its last call becomes the reader's last call."""
        from sema_runtime.llm import observers
        from sema_runtime.llm.budgets import usage

        kept: tuple[ContextVar[Any], ...] = (usage._last, observers._last)
        for variable in kept:
            if variable in self.context:
                variable.set(self.context[variable])
        return self.promise.result()

    def cancel(self) -> bool:
        """Ends the work early. Returns False if it had ended or never begun."""
        self.work = _nothing
        if self.task is None or not self.scheduler.cancel(self.promise):
            return False
        self._set_runs_ahead(True)  # to its end
        self.scheduler.pump_soon()
        return True

    def abandon(self) -> None:
        """Charges the call's reservations: nobody reads the rest, and the scheduler may have stopped."""
        if waiting := reservations.pending_in(self.context):
            waiting.abandon()
        for reservation in reservations.enclosing_in(self.context)[self.enclosing_count :]:
            reservation.charge_in_full()


def _nothing(_: Any) -> None:
    """The work of a producer that was closed before it began."""
