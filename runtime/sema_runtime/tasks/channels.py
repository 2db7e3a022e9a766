"""Channels: bounded queues between tasks. A sender waits while the buffer is full, a receiver while it is empty."""

from __future__ import annotations

from collections import deque

from sema_runtime.tasks.scheduler import wait_in
from sema_runtime.values.errors import SemaError
from sema_runtime.values.printer import to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.tasks.scheduler import Scheduler
    from sema_runtime.tasks.waiting import Waiter


class Channel:
    """A channel of that capacity. The values of waiting senders move into the buffer as soon as there is room."""

    __slots__ = ("__weakref__", "buffer", "capacity", "closed", "receivers", "senders")
    type_name = "channel"

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.closed = False
        self.buffer: deque[Any] = deque()
        self.receivers: deque[Waiter] = deque()
        self.senders: deque[Waiter] = deque()

    def sema_text(self) -> str:
        return "<channel>"

    def send(self, scheduler: Scheduler, value: Any) -> None:
        """Hands the value to a waiting receiver or the buffer; waits for room. Raises SemaError when closed."""
        if scheduler.natives and (self.closed or len(self.buffer) < self.capacity):
            if scheduler.current().note_use():
                if self.closed:
                    scheduler.pause()
                    raise dropped(value)
                scheduler.turn(self._put, value)
                return
        if not self._put(value):
            wait_in(self.senders, value)

    def _put(self, value: Any) -> bool:
        """Passes the value to a receiver or the buffer. False when there is no room."""
        if self.closed:
            raise dropped(value)
        receivers = self.receivers
        while receivers:
            if receivers.popleft().wake(value):
                return True
        if len(self.buffer) < self.capacity:
            self.buffer.append(value)
            return True
        return False

    def receive(self, scheduler: Scheduler) -> Any:
        """The next value; waits for one. nil when the channel is closed and empty."""
        if scheduler.natives and (self.buffer or self.closed) and scheduler.current().note_use():
            return scheduler.turn(self.take)
        if self.buffer:
            return self.take()
        if self.closed:
            return None
        return wait_in(self.receivers)

    def take(self) -> Any:
        """The next value of the buffer, nil when it is empty; the first waiting sender's value moves up."""
        if not self.buffer:
            return None
        value = self.buffer.popleft()
        senders = self.senders
        while senders:
            waiter = senders.popleft()
            if waiter.wake():
                self.buffer.append(waiter.offered)
                break
        return value

    def close(self) -> None:
        """Closes the channel: waiting receivers get nil, waiting senders an error. Buffered values can be received."""
        self.closed = True
        while self.receivers:
            self.receivers.popleft().wake()
        while self.senders:
            waiter = self.senders.popleft()
            waiter.fail(dropped(waiter.offered))


def dropped(value: Any) -> SemaError:
    """The error of a send to a closed channel."""
    return SemaError(f"channel/send: channel is closed; value {to_text(value)} was dropped")
