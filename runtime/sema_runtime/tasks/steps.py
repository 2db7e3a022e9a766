"""What compiled generators call where they wait: the builtins of tasks and channels for a stepper.

`sends` and `receives` say whether the stepper has to yield now. The others are generators, for `yield from`.
"""

from __future__ import annotations

from sema_runtime.tasks.channels import Channel, channel_of, channel_of_capacity, dropped
from sema_runtime.tasks.limits import milliseconds
from sema_runtime.tasks.promises import AsyncPromise, wrong_value
from sema_runtime.tasks.scheduler import scheduler
from sema_runtime.tasks.steppers import OpenStepper, Stepper
from sema_runtime.tasks.waiting import PULLING, Waiter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable
    from typing import Any

    from sema_runtime.tasks.promises import AsyncPromise as Promise
    from sema_runtime.tasks.steppers import Steps
    from sema_runtime.tasks.waiting import Fiber

NO_CHANNEL = Channel(0)  # in place of what is none: it has no values and no room


def channel_or_none(value: Any) -> Channel:
    """The channel whose buffer and lines a stepper may look at itself before it calls `sends` or `receives`."""
    return value if type(value) is Channel else NO_CHANNEL


def sends(me: Stepper, channel: Any, value: Any) -> bool:
    """Sends a value, as `channel/send`; or lets the stepper wait in line. Returns whether it has to yield."""
    if type(channel) is not Channel:
        wrong_value("channel", channel)
    receivers = channel.receivers
    if receivers:
        fiber = receivers.popleft()
        fiber.value = value
        fiber.queue.append(fiber)
        return False
    buffer = channel.buffer
    if len(buffer) < channel.room:
        buffer.append(value)
        return False
    if channel.closed:
        raise dropped(value)
    if me.doomed:
        me.end()
    me.offered = value
    me.line = channel.senders
    me.line.append(me)
    return True


def receives(me: Stepper, channel: Any) -> bool:
    """Receives a value into `me.value`, as `channel/recv`; or lets the stepper wait in line, with the value as that of
    the `yield`. Returns whether it has to yield."""
    if type(channel) is not Channel:
        wrong_value("channel", channel)
    buffer = channel.buffer
    if buffer:
        me.value = buffer.popleft()
        senders = channel.senders
        if senders:
            fiber = senders.popleft()
            buffer.append(fiber.offered)
            fiber.queue.append(fiber)
        return False
    if channel.closed:
        me.value = None
        return False
    if me.doomed:
        me.end()
    me.line = channel.receivers
    me.line.append(me)
    return True


def take(buffer: deque[Any], senders: deque[Fiber]) -> Any:
    """The next value of a full buffer; that of the first sender moves up."""
    value = buffer.popleft()
    fiber = senders.popleft()
    buffer.append(fiber.offered)
    fiber.queue.append(fiber)
    return value


def receive_nothing(me: Stepper, channel: Any) -> None:
    """What `channel/recv` does where there is no value and no wait: nil of a closed channel, or an error."""
    receives(me, channel)


def refuse(me: Stepper, channel: Any, value: Any) -> None:
    """Raises what `channel/send` does where there is no room and no wait."""
    sends(me, channel, value)


# Tasks


def spawn_closed(function: Callable[[Stepper], Steps], pulled: Any = None, *facts: Any) -> Promise:
    """`async` of a function whose code calls nothing that could wait but by a `yield`. pulled, facts: a generator of
    what it sends, if it can be pulled, and what must be true then (`tasks/pulled.py`)."""
    return spawn(Stepper, function, pulled, facts)


def spawn_open(function: Callable[[Stepper], Steps], pulled: Any = None, *facts: Any) -> Promise:
    """`async` of a function made a generator."""
    return spawn(OpenStepper, function, pulled, facts)


def spawn(
    kind: type[Stepper], function: Callable[[Stepper], Steps], pulled: Any, facts: tuple[Any, ...]
) -> AsyncPromise:
    queue = scheduler()
    if pulled is not None:
        from sema_runtime.tasks.pulled import begin

        promise: AsyncPromise | None = begin(queue, kind, function, pulled, facts)
        if promise is not None:
            return promise
    task = kind(queue, function)  # type: ignore[arg-type]
    task.start()
    return queue.begin(task)


def consume(function: Callable[..., Any], copy: Callable[..., Any], data: tuple[Any, ...], *args: Any) -> Any:
    """Calls a function that only receives and computes; or a copy of it that takes the values of pulled tasks itself,
    where nobody can tell (`tasks/pulled.py`). data: what both read, besides the arguments."""
    if PULLING:
        pulled = scheduler().pulled
        if pulled is not None and pulled.is_alone() and pulled.can_consume(copy, data, args):
            return pulled.consume(function, copy, args)
    return function(*args)


def await_(me: Stepper, value: Any) -> Steps:
    """`(await value)`."""
    if type(value) is AsyncPromise:
        if value.open or value.error is not None:
            waiter = Waiter(me)
            if value.open:
                value.watchers.append(waiter.settle)
            else:
                waiter.settle(value)
            return (yield from wait(me, waiter))
        if me.queue:
            yield from turn(me, bool)
        return value.value
    if not hasattr(type(value), "__await__"):
        return value
    waiter = Waiter(me)
    start = me.scheduler.start
    if type(me) is OpenStepper:  # it runs in its context
        future = start(value, waiter.wake)
    else:
        assert me.context is not None
        future = me.context.run(start, value, waiter.wake)
    try:
        yield from wait(me, waiter)
    except BaseException:
        future.cancel()
        raise
    return future.result()


def sleep(me: Stepper, ms: Any) -> Steps:
    """`async/sleep`."""
    waiter = Waiter(me)
    me.scheduler.after(milliseconds(ms, "async/sleep"), waiter)
    yield from wait(me, waiter)


# Turns for the others


def wait(me: Stepper, waiter: Waiter) -> Steps:
    """The value of a wait, or its error raised."""
    if me.doomed:
        waiter.live = False  # a timer, say, must not queue a task that has ended
        me.end()
    me.waiter = waiter
    try:
        yield
    except BaseException:
        me.interrupt()
        raise
    finally:
        me.waiter = None
        waiter.live = False
    if waiter.error is not None:
        raise waiter.error
    return waiter.value


def turn(me: Stepper, effect: Callable[..., Any], *args: Any) -> Steps:
    """The result of an effect, with a turn for the others. Fibers that the effect wakes run after this one."""
    queue = me.queue
    queue.append(me)
    try:
        result = effect(*args)
    except BaseException:
        queue.remove(me)
        raise
    if me.doomed:
        me.end()
    yield
    return result


def new(me: Stepper, capacity: Any = 1) -> Steps:
    """`channel/new`."""
    made = channel_of_capacity(capacity)
    if me.queue:
        yield from turn(me, bool)
    return made


def close(me: Stepper, channel: Any) -> Steps:
    """`channel/close`."""
    yield from turn(me, channel_of(channel).close)


def try_receive(me: Stepper, channel: Any) -> Steps:
    """`channel/try-recv`."""
    return (yield from turn(me, channel_of(channel).take))


def is_closed(me: Stepper, channel: Any) -> Steps:
    """`channel/closed?`."""
    closed = channel_of(channel).closed
    if me.queue:
        yield from turn(me, bool)
    return closed


def count(me: Stepper, channel: Any) -> Steps:
    """`channel/count`."""
    number = len(channel_of(channel).buffer)
    if me.queue:
        yield from turn(me, bool)
    return number


def is_empty(me: Stepper, channel: Any) -> Steps:
    """`channel/empty?`."""
    return (yield from count(me, channel)) == 0


def is_full(me: Stepper, channel: Any) -> Steps:
    """`channel/full?`."""
    return (yield from count(me, channel)) >= channel.capacity
