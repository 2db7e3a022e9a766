"""Fibers (the root and tasks), which can wait, and waiters (one wait of a fiber)."""

from __future__ import annotations

from collections import deque
from contextvars import copy_context

from greenlet import GreenletExit, greenlet  # type: ignore[import-untyped]

from sema_runtime.tasks.promises import AsyncPromise, Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context
    from typing import Any, NoReturn

    from sema_runtime.tasks.turns import Turns

CALLING: set[Turns] = set()  # the schedulers with builtins that are calling back (`tasks/callbacks.py`)
PULLING: set[Turns] = set()  # those with pulled tasks (`tasks/pulled.py`)
LAST_RUN: list[Any] = [None]  # what the root did last with them, where it received


class Waiter:
    """One wait of one fiber. The first call of wake, fail or settle ends it; later calls have no effect."""

    __slots__ = ("error", "fiber", "live", "queue", "value")

    def __init__(self, fiber: Fiber) -> None:
        self.fiber = fiber
        self.queue = fiber.queue
        self.live = True
        self.value: Any = None
        self.error: BaseException | None = None

    def wake(self, value: Any = None) -> bool:
        """Ends the wait with a value. False when it had ended already."""
        if not self.live:
            return False
        self.live = False
        self.value = value
        self.queue.append(self.fiber)
        return True

    def fail(self, error: BaseException) -> bool:
        """Ends the wait with an error, raised where the fiber waits."""
        self.error = error if self.live else self.error
        return self.wake()

    def settle(self, promise: AsyncPromise) -> None:
        """Ends the wait as the promise ended."""
        if promise.error is not None:
            self.fail(promise.error)
        else:
            self.wake(promise.value)


class Callbacks:
    """The callbacks of one call of a builtin. has_begun: there was one; is_used: one has called a task builtin;
    is_fresh: the current has not; is_inline: the call gives no turn unless one is used."""

    __slots__ = ("has_begun", "is_fresh", "is_inline", "is_used")

    def __init__(self, is_inline: bool, has_begun: bool) -> None:
        self.is_inline = is_inline
        self.has_begun = has_begun
        self.is_used = self.is_fresh = False

    def begin(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, each call of which is a callback."""

        def callback(*args: Any) -> Any:
            self.has_begun = self.is_fresh = True
            return function(*args)

        return callback


class Fiber:
    """Something that can wait. This class is the root; tasks are the subclass.

    While it waits, it stands in a line (of a channel's receivers or senders), or `waiter` is set. What takes it out of
    the line sets `value` and puts it into the queue.
    """

    __slots__ = ("callback", "error", "line", "offered", "queue", "value", "waiter")
    greenlet: greenlet | None = None  # that the scheduler can switch to
    doomed = False

    def __init__(self, queue: deque[Fiber]) -> None:
        self.queue = queue  # where it goes when its wait has ended
        self.line: deque[Fiber] | None = None  # where it stands, or stood last
        self.waiter: Waiter | None = None
        self.callback: Callbacks | None = None  # of the builtin that is calling back
        self.value: Any = None  # what it waited for in the line
        self.error: BaseException | None = None  # what is raised instead
        self.offered: Any = None  # what a sender wants to pass on

    def fail(self, error: BaseException) -> bool:
        """Ends its wait with an error, which is raised there. False when it doesn't wait."""
        if self.waiter is not None:
            return self.waiter.fail(error)
        line = self.line
        if line is None or self not in line:
            return False
        line.remove(self)
        self.error = error
        self.queue.append(self)
        return True

    def has_failed(self) -> bool:
        """Whether its wait has ended with an error that has not been raised yet."""
        return self.error is not None or (self.waiter is not None and self.waiter.error is not None)

    def take_error(self) -> BaseException:
        """The error that ends its wait, which it no longer has."""
        error, self.error = self.error, None
        assert error is not None
        return error

    def interrupt(self) -> None:
        """Ends its wait, which an exception has left (Ctrl-C): it takes no value and no turn any more."""
        for places in (self.line, self.queue):
            if places is not None and self in places:
                places.remove(self)
        self.error = None

    def note_use(self) -> bool:
        """Notes that a task builtin is called. Returns whether it is the first one in its callback."""
        callback = self.callback
        if callback is None:
            return False
        is_first, callback.is_fresh = callback.is_fresh, False
        callback.is_used = True
        return is_first


class Task(Fiber):
    """A function with its own copy of the context variables, running in a greenlet while it runs."""

    __slots__ = (
        "cancelling", "children", "context", "doomed", "dropped", "function", "greenlet", "parent", "promise",
        "scheduler",
    )  # fmt: skip

    def __init__(self, scheduler: Any, function: Callable[[], Any], context: Context | None = None) -> None:
        self.queue = scheduler.ready
        self.waiter = self.line = self.callback = None
        self.value = self.error = self.offered = None
        self.scheduler: Any = scheduler
        self.function = function
        self.context: Context | None = copy_context() if context is None else context  # until it begins
        scheduler.alive += 1
        self.promise = AsyncPromise()
        self.promise.task = self
        self.doomed = False  # was cancelled: it ends when it waits
        self.cancelling = False  # has cancelled itself and not yet waited since
        self.dropped = False  # was cancelled in the queue
        self.parent: Task | None = None
        self.children: dict[Task, None] = {}  # the unfinished tasks that it has started
        self.greenlet = None  # a TaskGreenlet from its first turn to its end

    def run(self) -> None:
        """Calls the function and settles the promise; runs in the task's greenlet."""
        promise = self.promise
        try:
            value = self.function()
        except Exception as error:
            promise.reject(error)
        except BaseException:  # Ctrl-C, exit: raised in the greenlet that drives the queue
            promise.cancel()
            raise
        else:
            promise.resolve(value)
        finally:
            self.greenlet = None  # no cycle keeps them in memory
            self.scheduler.begun.discard(self)
            self.leave()

    def leave(self) -> None:
        """Tells who watches the promise that the task has ended."""
        self.scheduler.alive -= 1
        promise = self.promise
        promise.task = None
        if self.children:
            promise.orphans = self.children
        promise.tell()
        if self.parent is not None:
            self.parent.children.pop(self, None)
            self.parent = None  # nor does a chain of tasks that each started the next

    def drop(self) -> None:
        """Has it end in its next turn: it was cancelled in the queue."""
        self.dropped = True

    def end(self) -> NoReturn:
        """Ends a cancelled task that waits. A task that cancelled itself gets Cancelled the first time."""
        if self in self.queue:
            self.queue.remove(self)
        if self.cancelling:
            self.cancelling = False
            raise Cancelled()
        raise GreenletExit
