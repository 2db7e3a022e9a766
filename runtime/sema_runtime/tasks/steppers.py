"""Tasks whose functions are generators, which yield where they wait: so a turn of theirs costs no switch of greenlets.
And the greenlets of the other tasks.

The compiler makes such functions (`semac/optimize/steps/`). Before one yields, it has told whoever ends the wait
(`tasks/steps.py`), so the queue has the fibers in the same order as if each had a greenlet.
"""

from __future__ import annotations

from contextvars import Context

from greenlet import GreenletExit, greenlet  # type: ignore[import-untyped]

from sema_runtime.tasks.waiting import Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from sema_runtime.tasks.turns import Turns

    Steps = Generator[None, Any, Any]

NO_CONTEXT = Context()
MAX_IDLE = 256  # greenlets kept for later tasks


class Stepper(Task):
    """A task whose code calls nothing that could wait otherwise: it takes its turns on anybody's stack.

    `step(value)` is one turn: value is that of the wait that ends.
    """

    __slots__ = ("generator", "step")

    generator: Steps
    step: Callable[[Any], Any]

    def start(self) -> None:
        """Makes the generator. Until then, no cycle keeps the task in memory."""
        self.generator = self.function(self)  # type: ignore[call-arg]
        self.step = self.generator.send

    def ended(self, end: BaseException) -> None:
        """Settles the promise as the generator ended. Raises what ends the program, too: Ctrl-C, exit."""
        promise = self.promise
        if type(end) is StopIteration:
            promise.resolve(end.value)
        elif isinstance(end, Exception):
            stopped = end.__cause__ if type(end) is RuntimeError else None  # Python lets no StopIteration leave it
            promise.reject(stopped if isinstance(stopped, StopIteration) else end)
        elif not isinstance(end, GreenletExit):
            promise.cancel()
        del self.generator, self.step  # no cycle keeps them in memory
        self.value = None
        self.scheduler.begun.discard(self)
        self.leave()
        if not isinstance(end, Exception | GreenletExit):
            raise end

    def fail(self, error: BaseException) -> bool:
        has_yielded = self.waiter is None and self.greenlet is None  # one that waits otherwise raises it itself
        if not super().fail(error):
            return False
        if has_yielded:
            self.step = self._raise
        return True

    def drop(self) -> None:
        self.dropped = True
        self.step = self._drop

    def _raise(self, _: Any) -> Any:
        """A turn that begins with the error that has ended the wait."""
        self.step = self.generator.send
        return self.generator.throw(self.take_error())

    def _drop(self, _: Any) -> Any:
        """The last turn of a task that was cancelled in the queue. What it must clean up is done now."""
        self.step = self.generator.send
        return self.generator.throw(GreenletExit)


class OpenStepper(Stepper):
    """A task that may call something that waits otherwise: it takes its turns in a greenlet that runs steppers. Where
    it does wait so, the greenlet is its own until it yields again."""

    __slots__ = ()

    def start(self) -> None:
        super().start()
        self.scheduler.begun.add(self)


class TaskGreenlet(greenlet):  # type: ignore[misc]
    """A greenlet that runs one task after the other: a new one costs ten times as much as a switch.

    task: what it runs. None when it is idle; used without one, it runs the steppers that come next in the queue.
    """

    task: Task | None = None

    def __init__(self, queue: Turns) -> None:
        super().__init__()
        self.queue = queue
        self.hub: greenlet | None = None  # its parent: the greenlet that drove the queue last

    def run(self) -> None:
        queue = self.queue
        idle = queue.idle_greenlets
        while True:
            if self.task is None:
                self.run_steppers()
            else:
                self.task.run()
                self.gr_context = NO_CONTEXT
            self.task = None
            if len(idle) >= MAX_IDLE:
                return
            idle.append(self)
            queue.pass_on(None)

    def run_steppers(self) -> None:
        """Lets the steppers that come next in the queue take their turns; the first one only, where the hub wants to
        look at each turn."""
        queue = self.queue
        ready = queue.ready
        while ready:
            following: Any = ready[0]
            if not isinstance(following, Stepper) or following.greenlet is not None:
                return
            ready.popleft()
            self.task = fiber = following
            assert fiber.context is not None
            try:
                fiber.context.run(fiber.step, fiber.value)
            except BaseException as end:
                fiber.ended(end)
            del following, fiber
            if not queue.direct:
                return
