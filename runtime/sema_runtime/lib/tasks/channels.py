"""Channels between tasks, and the fan-out on which `parallel` and `pipeline` are built."""

from __future__ import annotations

import sys
from collections.abc import Callable

from sema_runtime.catalogue import builtin
from sema_runtime.lib.tasks.concurrency import cancel_all, items_of, wait_for_all
from sema_runtime.tasks.channels import FAILED, MOST_CAPACITY, Channel, channel_of, channel_of_capacity, dropped
from sema_runtime.tasks.promises import wrong_value
from sema_runtime.tasks.scheduler import scheduler, settle_pulled, wait_in
from sema_runtime.tasks.waiting import CALLING, LAST_RUN, PULLING
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@builtin("channel/new", type="int? -> other")
def channel_new(capacity: Any = 1) -> Channel:
    """A channel (queue) between tasks that holds up to capacity (default 1) values.

    (let ((c (channel/new 2))) (channel/send c 1) (channel/recv c)) => 1
    (channel/new 100000000) ! channel/new: capacity 100000000 exceeds maximum 16777216
    """
    channel = channel_of_capacity(capacity)
    scheduler().pause()
    return channel


@builtin("channel/send", type="other, keep any -> nil")
def channel_send(channel: Any, value: Any) -> None:
    """Sends a value to a channel, waiting while it is full. Raises an error when it is closed.

    (define c (channel/new 1))
    (channel/send c :hello)
    (channel/recv c) => :hello
    """
    if type(channel) is not Channel:
        wrong_value("channel", channel)
    if CALLING:
        channel.send(scheduler(), value)
        return
    receivers = channel.receivers  # as in Channel.send, without its frames
    if receivers:
        fiber = receivers.popleft()
        fiber.value = value
        fiber.queue.append(fiber)
        return
    buffer = channel.buffer
    if len(buffer) < channel.room:
        buffer.append(value)
    elif channel.closed:
        raise dropped(value)
    elif PULLING and settle_pulled():
        channel_send(channel, value)
    else:
        wait_in(channel.senders, value)


@builtin("channel/recv", type="keep other -> any")
def channel_recv(channel: Any) -> Any:
    """Receives the next value of a channel, waiting while it is empty. Returns nil when it is closed and empty.

    (define c (channel/new))
    (async (channel/send c :hello))
    (channel/recv c) => :hello
    """
    if type(channel) is not Channel:
        wrong_value("channel", channel)
    source = channel.source
    if CALLING:
        return channel.receive(scheduler()) if source is None else channel.pull()
    if source is not None:  # as in Channel.pull, without its frames
        run = channel.run
        pulled = run[1]
        pulled.is_quiet = True
        try:
            value = next(source, None)
        except Exception:
            value = FAILED
        except BaseException:
            pulled.break_off()
            raise
        else:
            if LAST_RUN[0] is run and value is not None:
                run[2] += 1
                return value
        finally:
            pulled.is_quiet = False
        return channel.pulled(value)
    buffer = channel.buffer  # as in Channel.receive, without its frames
    if buffer:
        return channel.take() if channel.senders else buffer.popleft()
    if channel.closed:
        return None
    return channel_recv(channel) if PULLING and settle_pulled() else wait_in(channel.receivers)


@builtin("channel/try-recv", type="keep other -> any")
def channel_try_recv(channel: Any) -> Any:
    """Receives the next value of a channel without waiting; nil when there is none.

    (channel/try-recv (channel/new)) => nil
    """
    return scheduler().turn(channel_of(channel).take)


@builtin("channel/close", type="other -> nil")
def channel_close(channel: Any) -> None:
    """Closes a channel: receivers get the remaining values and then nil; sending raises an error.

    (define c (channel/new 2))
    (channel/send c 1)
    (channel/close c)
    (list (channel/recv c) (channel/recv c)) => (1 nil)
    (channel/send c 2) ! channel/send: channel is closed; value 2 was dropped
    """
    scheduler().turn(channel_of(channel).close)


@builtin("channel/closed?", type="other -> bool")
def channel_is_closed(channel: Any) -> bool:
    """Whether a channel is closed.

    (define c (channel/new))
    (channel/close c)
    (channel/closed? c) => #t
    """
    closed = channel_of(channel).closed
    scheduler().pause()
    return closed


@builtin("channel/count", type="other -> int")
def channel_count(channel: Any) -> int:
    """The number of values in a channel.

    (define c (channel/new 2))
    (channel/send c 1)
    (channel/count c) => 1
    """
    count = len(channel_of(channel).buffer)
    scheduler().pause()
    return count


@builtin("channel/empty?", type="other -> bool")
def channel_is_empty(channel: Any) -> bool:
    """Whether a channel is empty.

    (channel/empty? (channel/new)) => #t
    """
    return channel_count(channel) == 0


@builtin("channel/full?", type="other -> bool")
def channel_is_full(channel: Any) -> bool:
    """Whether a channel is full.

    (define c (channel/new 1))
    (channel/send c 1)
    (channel/full? c) => #t
    """
    return channel_count(channel) >= channel_of(channel).capacity


@builtin("channel?", type="any -> bool", total=True, pure=True)
def is_channel(value: Any) -> bool:
    """Whether the value is a channel.

    (channel? (channel/new)) => #t
    """
    return type(value) is Channel


@builtin("__prefill-sem", type="other, any -> nil")
def prefill_sem(channel: Any, count: Any) -> None:
    """Puts count permits into a channel that serves as a semaphore."""
    if type(count) is not int:
        type_error("int", count)
    channel_of(channel).buffer.extend([True] * min(count, MOST_CAPACITY))


@builtin("__fanout-tagged", type="later (a -> any), keep seq a|nil, int -> list (map keyword any) fresh")
def fanout_tagged(function: Any, items: Any, limit: Any) -> List:
    """Calls function with each item in tasks, at most limit at a time, and returns a list of `{:ok value}` or `{:err
    condition}`."""
    permits = channel_new(limit)
    values = items_of(items)
    prefill_sem(permits, limit)
    tasks = scheduler()
    promises = [tasks.spawn(_tagged(function, item, permits)) for item in values]
    try:
        wait_for_all(promises)
    except BaseException:
        cancel_all(promises)
        raise
    return List([promise.value for promise in promises])


@builtin("__stages", type="keep any -> fn")
def stages(functions: Any) -> Callable[[Any], Any]:
    """Composes the functions of a list: each gets the result of the one before it, and is called back as by a
    builtin."""
    from sema_runtime.tasks.callbacks import call_native

    def run(value: Any, *stages: Any) -> Any:
        for stage in stages:
            value = stage(value)
        return value

    each = items_of(functions)
    return lambda value: call_native(run, False, value, *each) if each else value


def _tell_of(error: Exception) -> None:
    """Records an error in a workflow, since `parallel` turns it into nil."""
    module = sys.modules.get("sema_runtime.workflow.run.scope")
    listener = None if module is None else module.on_failure.get()
    if listener is not None and not getattr(error, "is_journaled", False):
        listener(error)


def _tagged(function: Any, item: Any, permits: Channel) -> Callable[[], Map]:
    def run() -> Map:
        permits.receive(scheduler())
        try:
            return Map({keyword("ok"): function(item)})
        except Exception as error:
            from sema_runtime.conditions.describe import condition_map

            _tell_of(error)
            return Map({keyword("err"): condition_map(error)})
        finally:
            permits.send(scheduler(), True)

    return run
