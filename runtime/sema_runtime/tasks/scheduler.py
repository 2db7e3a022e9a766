"""The scheduler of a thread's tasks, timers and awaitables.

First in, first out (`turns.py`), so that the order of a program's effects is always the same. Every task builtin gives
the others a turn (`pause`) before it returns, except a channel operation that need not wait; even that gives a turn
when it is the first task builtin in a callback (`tasks/callbacks.py`). Timers fire in the order of a virtual clock that
only timers advance, but never before their real time: two tasks that sleep 1 ms and 2 ms wake in that order however
busy the machine is.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from heapq import heappop, heappush

from greenlet import GreenletExit, getcurrent  # type: ignore[import-untyped]

from sema_runtime.tasks.limits import LONGEST_WAIT
from sema_runtime.tasks.promises import PENDING, AsyncPromise, Cancelled
from sema_runtime.tasks.steppers import TaskGreenlet
from sema_runtime.tasks.turns import Turns
from sema_runtime.tasks.waiting import Fiber, Task, Waiter

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable
    from contextvars import Context
    from typing import Any

    from sema_runtime.tasks.loops import Hiding

BATCH = 64  # turns of tasks between two rounds of the asyncio loop
LEFTOVER_TIME = 0.4  # seconds that the end of a program waits for unfinished tasks
CLEANUP_TIME = 0.2  # seconds for what dropped tasks still do
MAX_LAG = 0.1  # seconds by which the virtual clock may fall behind the real one before it is set right


class Scheduler(Turns):
    """The tasks of one thread. Used from that thread only."""

    def __init__(self) -> None:
        super().__init__()
        self.timers: list[tuple[float, int, float, Waiter]] = []  # (virtual deadline, number, real deadline, waiter)
        self.clock = time.monotonic()  # virtual, in seconds
        self.numbers = 0
        self.idle_runners: deque[Waiter] = deque()  # those in async/run, woken when nothing else can go on
        self.private_loop: asyncio.AbstractEventLoop | None = None
        self.drops_at_exit = False
        self.hiding: Hiding  # of the loop, around tasks that run in it
        self.in_loop = False  # whether the loop is running, on behalf of the root
        self.turns = 0  # since the loop had one
        self.pumping = False  # whether a call of `pump` waits in the loop
        self.alarm: asyncio.TimerHandle | None = None

    # Time and asyncio

    def sleep(self, milliseconds: float) -> None:
        """Waits for that many milliseconds."""
        waiter = self.waiter()
        self.after(milliseconds, waiter)
        self.wait(waiter)

    def after(self, milliseconds: float, waiter: Waiter) -> None:
        """Wakes the waiter after that long, unless its wait has ended by then."""
        now = time.monotonic()
        if now - self.clock > MAX_LAG:
            self.clock = now
        self.numbers += 1
        seconds = milliseconds / 1000
        moment = round(self.clock + seconds, 6)  # sums of equal length are the same moment
        heappush(self.timers, (moment, self.numbers, now + seconds, waiter))

    def suspend(self, awaitable: Awaitable[Any]) -> Any:
        """The result of a Python awaitable, run by the asyncio loop in the context of the running fiber."""
        waiter = self.waiter()
        future = self.start(awaitable, waiter.wake)
        try:
            self.wait(waiter)
        except BaseException:
            future.cancel()
            raise
        return future.result()

    def start(self, awaitable: Awaitable[Any], ended: Callable[[], object]) -> asyncio.Future[Any]:
        """Starts an awaitable in the asyncio loop; calls ended when it is done. The program waits for it, too."""
        import asyncio

        self.settle_pulled()
        future = asyncio.ensure_future(awaitable, loop=self.loop())
        self.external += 1
        self.direct = False

        def done(_: Any) -> None:
            self.external -= 1
            ended()
            self.pump_soon()

        future.add_done_callback(done)
        return future

    # Tasks

    def spawn(self, function: Callable[[], Any]) -> AsyncPromise:
        """Queues a new task and returns its promise; the running fiber continues before the task."""
        return self.begin(Task(self, function))

    def cancel(self, promise: AsyncPromise) -> bool:
        """Cancels the task of a pending promise: it raises Cancelled where it waits. False when it had ended.

        The tasks that it has started are cancelled too, also when it has ended itself. A queued task ends at once,
        unless its wait has ended with an error: that is raised first. A task that catches what is raised ends when it
        waits again.
        """
        self.settle_pulled()
        if promise.state is not PENDING or promise.task is None:
            for child in list(promise.orphans):
                self.cancel(child.promise)
            return False
        task: Task = promise.task
        promise.cancel(tell=False)
        task.doomed = True
        if task is self.current():
            task.cancelling = True
        elif not task.fail(Cancelled()) and not task.has_failed():
            task.drop()
        for child in list(task.children):
            self.cancel(child.promise)
        return True

    def await_promise(self, promise: AsyncPromise) -> Any:
        """The value of a promise, or its error raised."""
        self.settle_pulled()
        if promise.open:
            waiter = self.waiter()
            promise.watchers.append(waiter.settle)
            return self.wait(waiter)
        return self.outcome(promise)

    def outcome(self, promise: AsyncPromise) -> Any:
        """The value of a settled promise, or its error raised, after a turn for the others."""
        if promise.error is None:
            self.pause()
            return promise.value
        waiter = self.waiter()
        waiter.fail(promise.error)
        return self.wait(waiter)

    def run_others(self) -> None:
        """Waits until no task can continue (async/run)."""
        waiter = self.waiter()
        self.idle_runners.append(waiter)
        self.wait(waiter)

    def drain(self, seconds: float = LEFTOVER_TIME) -> None:
        """Runs unfinished tasks for that many seconds, at the end of a program. Tasks that still wait then, such as
        losers of a race, are dropped when the process ends."""
        if self.pulled is not None:  # they do nothing that anybody could see
            self.pulled.note("drain")
            return
        end = time.monotonic() + seconds
        self._run_until(end)
        if self.begun and not self.drops_at_exit:
            import atexit

            self.drops_at_exit = True
            atexit.register(self.drop)

    def drop(self) -> None:
        """Ends the tasks that have begun: their resources are closed, their error handlers don't run."""
        end = time.monotonic() + CLEANUP_TIME
        self.hub = getcurrent()
        for task in list(self.begun):
            if task.greenlet is not None:
                task.greenlet.parent = task.greenlet.hub = self.hub
                task.greenlet.throw(GreenletExit)
            else:
                task.interrupt()
                task.drop()
                self.ready.append(task)
        self._run_until(end)  # for clean-up that waits

    def _run_until(self, end: float) -> None:
        """Runs tasks for the root until none can continue, at most until that time of the monotonic clock."""
        self.hub = getcurrent()
        while time.monotonic() < end:
            if self.ready:
                fiber = self.ready.popleft()
                if fiber is not self.root:
                    self.resume(fiber)
                if self.external:
                    self.look_at_loop()
            elif self.external or (self.private_loop is not None and self._next_timer()):
                loop = self.loop()
                stop = loop.call_later(max(0.0, end - time.monotonic()), loop.stop)
                self._run_loop()
                stop.cancel()
            elif not self._fire():
                delay = self._next_timer()
                if delay is None:
                    if not self.idle_runners:
                        return
                    self.idle_runners.popleft().wake()
                else:
                    time.sleep(max(0.0, min(delay, end - time.monotonic())))

    # Driving

    def idle(self) -> bool:
        """Waits until something is ready. False when nothing will ever be."""
        if self.external or (self.private_loop is not None and self._next_timer()):
            self._run_loop()  # also for a sleep: open connections live on meanwhile
            return True
        if self._fire():
            return True
        delay = self._next_timer()
        if delay is not None:
            time.sleep(min(delay, LONGEST_WAIT))
            return True
        if self.idle_runners:
            return self.idle_runners.popleft().wake()
        return False

    def look_at_loop(self) -> None:
        """Runs the loop once every BATCH turns, so that a program that starts a thousand requests sends the first ones
        before it has built the last one."""
        self.turns += 1
        if self.turns >= BATCH:
            self.turns = 0
            self.loop().call_soon(self.loop().stop)
            self._run_loop()

    def _next_timer(self) -> float | None:
        """Seconds until the first timer is due; None when there is none."""
        timers = self.timers
        while timers and not timers[0][3].live:
            heappop(timers)
        return max(0.0, timers[0][2] - time.monotonic()) if timers else None

    def _fire(self) -> bool:
        """Wakes the fiber of the first timer if it is due."""
        if self._next_timer() != 0.0:
            return False
        moment, _, _, waiter = heappop(self.timers)
        self.clock = max(self.clock, moment)
        return waiter.wake()

    # asyncio

    def loop(self) -> asyncio.AbstractEventLoop:
        """The asyncio loop that runs this scheduler's awaitables, made on first use."""
        if self.private_loop is None:
            from sema_runtime.tasks.loops import new_loop

            self.private_loop = new_loop()
        return self.private_loop

    def _run_loop(self) -> None:
        """Runs the loop, and in it the tasks that become ready, until the root can go on or asyncio is done."""
        from sema_runtime.tasks.loops import Hiding, run

        loop = self.loop()
        self.direct = False
        self.hiding = Hiding(loop)
        self._set_alarm()
        self.in_loop = True
        try:
            run(loop)
        finally:
            self.in_loop = False

    def pump_soon(self) -> None:
        """Schedules `pump`; called from the loop when a fiber became ready."""
        if self.in_loop and not self.pumping:
            self.pumping = True
            self.loop().call_soon(self.pump)

    def pump(self) -> None:
        """Runs ready fibers, as a callback of the loop; stops the loop when it is the root's turn."""
        self.pumping = False
        if not self.in_loop:
            return
        with self.hiding:
            self._run_batch()
        if self.ready and self.ready[0] is not self.root:
            self.pump_soon()
        elif self.ready or not self.external:
            self.loop().stop()
        else:
            self._set_alarm()

    def _run_batch(self) -> None:
        """Runs ready fibers up to the root's turn; at most BATCH, so that the loop's other callbacks run too."""
        ready = self.ready
        for _ in range(BATCH):
            if not (ready or self._fire()) or ready[0] is self.root:
                return
            self.resume(ready.popleft())

    def start_in_loop(self, function: Callable[[], Any], context: Context) -> Task:
        """A new task that a coroutine of the loop runs at once, until it ends or waits: a server does so per request.

        context: the task's own context variables.
        """
        self.settle_pulled()
        task = Task(self, function, context)
        with self.hiding:
            self.resume(task)
        if task.promise.open or self.ready:
            self.pump_soon()
        return task

    def hand_over(self, waiter: Waiter) -> None:
        """Ends a task's wait, from a coroutine of the loop, and runs it at once until it waits again or ends."""
        waiter.live = False
        with self.hiding:
            self.resume(waiter.fiber)
        if self.ready:
            self.pump_soon()

    def _set_alarm(self) -> None:
        """Sets an alarm in the loop for the first timer."""
        delay = self._next_timer()
        if delay is None:
            return
        loop = self.loop()
        when = loop.time() + delay
        if self.alarm is not None:
            if self.alarm.when() <= when:
                return
            self.alarm.cancel()
        self.alarm = loop.call_at(when, self._ring)

    def _ring(self) -> None:
        self.alarm = None
        self.pump()


class _PerThread(threading.local):
    scheduler: Scheduler | None = None


def _keep_greenlets_of_threads() -> None:
    """Has greenlet free what it keeps of an ended thread only when nobody refers to it.

    It asks the collector who refers to the thread's main greenlet, which our schedulers do, and frees it where there is
    no answer. While another thread collects, the collector overlooks what it is about to free: a crash.
    """
    try:
        from greenlet._greenlet import enable_optional_cleanup  # type: ignore[import-untyped]
    except ImportError:  # in a browser, which has no threads
        return
    enable_optional_cleanup(False)


_keep_greenlets_of_threads()
_per_thread = _PerThread()


def use(chosen: Scheduler) -> None:
    """Has this thread's tasks run there."""
    _per_thread.scheduler = chosen


def wait_in(line: deque[Fiber], offered: Any = None) -> Any:
    """Waits at the end of a line. offered: what a sender wants to pass on."""
    running = getcurrent()
    if type(running) is TaskGreenlet:
        task: Any = running.task
        if task.scheduler.natives:
            task.note_use()
        task.offered = offered
        return task.scheduler.wait_in(line, task)
    queue: Any = _per_thread.scheduler
    if queue is None:
        queue = scheduler()
    root = queue.root  # as in Turns.wait_in, without its frames: a program's main line often waits like this
    if queue.natives:
        root.note_use()
    root.offered = offered
    root.line = line
    line.append(root)
    try:
        queue.drive(running)
    except BaseException:
        root.interrupt()
        raise
    value = root.value
    if root.error is not None:
        raise root.take_error()
    root.value = None
    return value


def settle_pulled() -> bool:
    """Has the pulled tasks of the running scheduler where they would be. Whether it had any."""
    queue = scheduler()
    if queue.pulled is None:
        return False
    queue.settle_pulled()
    return True


def scheduler() -> Scheduler:
    """The scheduler of the running task, outside of tasks that of this thread."""
    current = getcurrent()
    if type(current) is TaskGreenlet:
        task: Any = current.task
        made_by: Scheduler = task.scheduler
        return made_by
    of_thread = _per_thread.scheduler
    if of_thread is None:
        of_thread = _per_thread.scheduler = Scheduler()
    return of_thread
