"""Channels: bounded queues between tasks. A sender waits while the buffer is full, a receiver while it is empty."""

from __future__ import annotations

from collections import deque

from sema_runtime.tasks.promises import wrong_value
from sema_runtime.tasks.scheduler import scheduler, settle_pulled, wait_in
from sema_runtime.tasks.waiting import LAST_RUN, PULLING
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.printer import to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.tasks.pulled import Pulled
    from sema_runtime.tasks.scheduler import Scheduler
    from sema_runtime.tasks.waiting import Fiber

MOST_CAPACITY = 1 << 24
TAKEN: Any = object()  # the source of a channel that has a receiver
FAILED: Any = object()  # in place of a value that a source can't give


class Channel:
    """A channel of that capacity. The values of waiting senders move into the buffer as soon as there is room.

    source: of one that a pulled task sends to: a generator of its values. run: how often the root has received from it
    since it did anything else, as `Pulled.run` has it.
    """

    __slots__ = ("__weakref__", "buffer", "capacity", "closed", "receivers", "room", "run", "senders", "source")
    type_name = "channel"

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.room = capacity  # how many values it takes in; none when it is closed
        self.closed = False
        self.buffer: deque[Any] = deque()
        self.receivers: deque[Fiber] = deque()  # those that wait
        self.senders: deque[Fiber] = deque()
        self.source: Any = None
        self.run: Any = None

    def sema_text(self) -> str:
        return "<channel>"

    def send(self, queue: Scheduler, value: Any) -> None:
        """Hands the value to a waiting receiver or the buffer; waits for room. Raises SemaError when closed."""
        if queue.natives and (self.closed or len(self.buffer) < self.room):
            if queue.current().note_use():
                if self.closed:
                    queue.pause()
                    raise dropped(value)
                queue.turn(self._put, value)
                return
        if not self._put(value):
            if PULLING and settle_pulled():
                self.send(queue, value)
                return
            wait_in(self.senders, value)

    def _put(self, value: Any) -> bool:
        """Passes the value to a receiver or the buffer. False when there is no room."""
        if self.closed:
            raise dropped(value)
        if self.receivers:
            fiber = self.receivers.popleft()
            fiber.value = value
            fiber.queue.append(fiber)
            return True
        if len(self.buffer) < self.room:
            self.buffer.append(value)
            return True
        return False

    def receive(self, queue: Scheduler) -> Any:
        """The next value; waits for one. nil when the channel is closed and empty."""
        if self.source is not None:
            return self.pull()
        is_first = bool(queue.natives and (self.buffer or self.closed)) and queue.current().note_use()
        return self.receive_now(is_first)

    def receive_now(self, is_first: bool) -> Any:
        """As `receive`. is_first: whether a value that is there gives a turn, in a callback."""
        if is_first and (self.buffer or self.closed):
            return scheduler().turn(self.take)
        if self.buffer:
            return self.take()
        if self.closed:
            return None
        if PULLING and settle_pulled():
            return self.receive_now(is_first)
        return wait_in(self.receivers)

    def pull(self) -> Any:
        """The next value of the source, for the root."""
        run = self.run
        pulled: Pulled = run[1]
        callback = pulled.root.callback
        is_first = callback is not None and callback.is_fresh
        if callback is not None:
            callback.is_fresh = False
            callback.is_used = True
        pulled.is_quiet = True
        try:
            value = next(self.source, None)
        except Exception:
            value = FAILED
        except BaseException:
            pulled.break_off()
            raise
        else:
            if LAST_RUN[0] is run and value is not None and not is_first:
                run[2] += 1
                return value
        finally:
            pulled.is_quiet = False
        return self.pulled(value, is_first)

    def pulled(self, value: Any, is_first: bool = False) -> Any:
        """A value of the source, which the root has received; from the scheduler where the source has failed."""
        pulled: Pulled = self.run[1]
        if value is FAILED:
            pulled.settle()
            return self.receive_now(is_first)
        if is_first:
            pulled.note("receive first", self)
        else:
            pulled.note_receive(self)
        if value is None:
            pulled.ended()
        return value

    def take(self) -> Any:
        """The next value of the buffer, nil when it is empty; the first waiting sender's value moves up."""
        if not self.buffer:
            return None
        value = self.buffer.popleft()
        if self.senders:
            fiber = self.senders.popleft()
            self.buffer.append(fiber.offered)
            fiber.queue.append(fiber)
        return value

    def close(self) -> None:
        """Closes the channel: waiting receivers get nil, waiting senders an error. Buffered values can be received."""
        self.closed = True
        self.room = 0
        while self.receivers:
            fiber = self.receivers.popleft()
            fiber.value = None
            fiber.queue.append(fiber)
        while self.senders:
            fiber = self.senders[0]
            fiber.fail(dropped(fiber.offered))


def dropped(value: Any) -> SemaError:
    """The error of a send to a closed channel."""
    return SemaError(f"channel/send: channel is closed; value {to_text(value)} was dropped")


def channel_of(value: Any) -> Channel:
    """The channel itself, as it is without pulled tasks; raises a type error for anything else."""
    if type(value) is not Channel:
        wrong_value("channel", value)
    if PULLING:
        settle_pulled()
    return value


def channel_of_capacity(capacity: Any) -> Channel:
    """A new channel; raises an error for what is no capacity."""
    if type(capacity) is not int:
        type_error("int", capacity)
    if capacity < 1:
        raise SemaError("channel/new: capacity must be at least 1")
    if capacity > MOST_CAPACITY:
        raise SemaError(
            f"channel/new: capacity {capacity} exceeds maximum {MOST_CAPACITY}", "use a smaller bounded capacity"
        )
    return Channel(capacity)
