"""Who runs next: the run queue of fibers, how one of them waits, and what runs the others meanwhile.

A *fiber* is anything that can wait: a task or the root, the program's main line, which is the *hub* while it waits: it
drives the queue. Tasks are of three kinds. Most run in a greenlet of their own. A *stepper* is a generator: it takes
its turns on anybody's stack, an *open* one in a greenlet that runs steppers. Greenlets switch to each other past the
hub while `direct` is set.
"""

from __future__ import annotations

from collections import deque

from greenlet import GreenletExit, getcurrent, greenlet  # type: ignore[import-untyped]

from sema_runtime.tasks.promises import AsyncPromise, Deadlock
from sema_runtime.tasks.steppers import OpenStepper, Stepper, TaskGreenlet
from sema_runtime.tasks.waiting import Fiber, Task, Waiter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sema_runtime.tasks.pulled import Pulled


class Turns:
    """The fibers of one thread, and their turns: first in, first out."""

    def __init__(self) -> None:
        self.ready: deque[Fiber] = deque()
        self.root = Fiber(self.ready)
        self.external = 0  # awaitables that asyncio is working on
        self.natives = 0  # builtins that are calling back, with `tasks/callbacks.py` looking on
        self.hub: greenlet | None = None  # the greenlet that drives the queue
        self.direct = False  # whether greenlets switch to each other past the hub
        self.idle_greenlets: list[TaskGreenlet] = []
        self.begun: set[Task] = set()  # tasks that may hold something when the program ends
        self.alive = 0  # tasks that have not ended
        self.pulled: Pulled | None = None  # tasks that run when somebody needs what they send

    # Waiting

    def current(self) -> Fiber:
        """The fiber that is running."""
        running = getcurrent()
        if type(running) is not TaskGreenlet:
            return self.root
        task: Any = running.task
        fiber: Fiber = task
        return fiber

    def waiter(self) -> Waiter:
        """A wait of the running fiber, to be passed to the code that will end it."""
        self.settle_pulled()
        fiber = self.current()
        if self.natives:
            fiber.note_use()
        return Waiter(fiber)

    def wait(self, waiter: Waiter) -> Any:
        """Runs the others until the waiter is woken. Returns its value or raises its error."""
        fiber: Any = waiter.fiber
        if fiber.doomed:
            waiter.live = False
            fiber.end()
        fiber.waiter = waiter
        try:
            self._park(fiber)
        except BaseException:
            fiber.interrupt()
            raise
        finally:
            fiber.waiter = None
            waiter.live = False  # an interrupted wait takes no value any more
        if waiter.error is not None:
            raise waiter.error
        return waiter.value

    def wait_in(self, line: deque[Fiber], fiber: Any) -> Any:
        """Runs the others until somebody takes the fiber, which is running, out of a line, at whose end it waits."""
        if fiber.doomed:
            fiber.end()
        fiber.line = line
        line.append(fiber)
        try:
            self._park(fiber)
        except BaseException:
            fiber.interrupt()
            raise
        if fiber.error is not None:
            raise fiber.take_error()
        value = fiber.value
        fiber.value = None
        return value

    def pause(self) -> None:
        """Moves the running fiber to the end of the queue."""
        if self.ready:
            self.turn(bool)
            return
        if self.natives:
            self.current().note_use()
        if self.pulled is not None:
            self.pulled.note("pause")

    def turn(self, effect: Callable[..., Any], *args: Any) -> Any:
        """The result of an effect, with a turn for the others. Fibers that the effect wakes run after this one."""
        self.settle_pulled()
        fiber: Any = self.current()
        if self.natives:
            fiber.note_use()
        ready = self.ready
        ready.append(fiber)
        try:
            result = effect(*args)
        except BaseException:
            ready.remove(fiber)
            raise
        if fiber.doomed:
            fiber.end()
        try:
            self._park(fiber)
        except BaseException:
            fiber.interrupt()
            raise
        return result

    def begin(self, task: Task) -> AsyncPromise:
        """Queues a new task and returns its promise; the running fiber continues before the task."""
        self.settle_pulled()
        parent = self.current()
        if self.natives:
            parent.note_use()
        if isinstance(parent, Task):
            parent.children[task] = None
            task.parent = parent
        if self.ready:
            self.turn(self.ready.append, task)
        else:
            self.ready.append(task)
        return task.promise

    def settle_pulled(self) -> None:
        """Has the pulled tasks where they would be without being pulled, before anything else happens."""
        if self.pulled is not None:
            self.pulled.settle()

    # Running the others

    def _park(self, fiber: Any) -> None:
        """Runs the others until it is the turn of the fiber, which is running."""
        if fiber is self.root:
            self.drive(getcurrent())
        elif type(fiber) is OpenStepper:
            fiber.greenlet = getcurrent()  # its own until it yields
            self.pass_on(fiber)
            fiber.greenlet = None
        else:
            self.pass_on(fiber)

    def drive(self, hub: greenlet) -> None:
        """Runs tasks until it is the turn of the root, which is running in the greenlet `hub`.

        Raises Deadlock when that can't come."""
        self.hub = hub
        ready = self.ready
        popleft = ready.popleft
        root = self.root
        while True:
            while ready:
                fiber: Any = popleft()
                if type(fiber) is Stepper:
                    try:
                        step = fiber.step  # a call of an attribute in a slot would be looked up anew each time
                        step(fiber.value)
                    except BaseException as end:
                        fiber.ended(end)
                elif fiber is root:
                    return
                else:
                    self.direct = not self.external
                    try:
                        self.resume(fiber)
                    finally:
                        self.direct = False
                if self.external:
                    self.look_at_loop()
            if not self.idle():
                raise Deadlock()

    def pass_on(self, fiber: Any) -> None:
        """Runs the others until it is the turn of the fiber whose greenlet is running; None: until it is used again."""
        ready = self.ready
        while ready and self.direct:
            following: Any = ready[0]
            if type(following) is Stepper:
                ready.popleft()
                try:
                    step: Any = following.step  # a call of an attribute in a slot would be looked up anew each time
                    step(following.value)
                except BaseException as end:
                    if self.settle(following, end):
                        return
                continue
            if following is fiber:
                ready.popleft()
                return
            inner = following.greenlet
            if inner is None:
                if type(following) is not OpenStepper:
                    break
                inner = self.idle_greenlet()
            elif following.dropped:
                break
            else:
                ready.popleft()
            following = step = None  # an idle greenlet, which stands still here, keeps no task in memory
            self.switch(inner)
            return
        following = step = None
        self.hub.switch()  # type: ignore[union-attr]

    def settle(self, stepper: Stepper, end: BaseException) -> bool:
        """Ends a stepper that ran in the greenlet of another fiber. Whether this one has switched away meanwhile."""
        try:
            stepper.ended(end)
        except BaseException as fatal:
            self.hub.throw(fatal)  # type: ignore[union-attr]
            return True
        return False

    def resume(self, fiber: Any) -> None:
        """Lets a task take a turn in its greenlet, from the hub. A stepper has one as well here, with its context: what
        comes from outside (a signal, a server) asks which task is running."""
        inner = fiber.greenlet
        if inner is None:
            if isinstance(fiber, Stepper):
                self.ready.appendleft(fiber)  # the greenlet takes it from there
                inner = self.idle_greenlet()
            elif fiber.context is None:  # it has ended
                return
            elif fiber.dropped:  # it was cancelled before it began
                fiber.context = None
                fiber.leave()
                return
            else:
                inner = self._greenlet_for(fiber)
        elif fiber.dropped:  # has begun: what it must clean up is done now
            inner.parent = inner.hub = self.hub
            inner.throw(GreenletExit)
            return
        self.switch(inner)

    def switch(self, inner: TaskGreenlet) -> None:
        """Switches to the greenlet of a task, or to one that runs steppers."""
        if inner.hub is not self.hub:
            inner.parent = inner.hub = self.hub
        inner.switch()

    def idle_greenlet(self) -> TaskGreenlet:
        """A greenlet that runs the steppers that come next in the queue, unless it gets a task."""
        idle = self.idle_greenlets
        return idle.pop() if idle else TaskGreenlet(self)

    def _greenlet_for(self, task: Task) -> TaskGreenlet:
        """A greenlet for a task that begins."""
        inner = self.idle_greenlet()
        inner.task = task
        assert task.context is not None
        inner.gr_context = task.context
        task.greenlet = inner
        task.context = None
        self.begun.add(task)
        return inner

    # What the scheduler adds

    def idle(self) -> bool:
        """Waits until something is ready. False when nothing will ever be."""
        raise NotImplementedError

    def look_at_loop(self) -> None:
        """Runs the asyncio loop now and then."""
        raise NotImplementedError
