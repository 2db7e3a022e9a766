"""Pulled tasks: tasks that run when somebody needs what they send, as Python's generators do, past the scheduler.

The compiler makes a second generator of a task that does nothing but receive from channels, compute and send to one
channel (`semac/optimize/steps/pulled.py`): it yields what it sends, and takes what it receives from the generators of
other tasks. Nobody can tell when such a task runs, as long as nobody asks for more than the values of its channel: each
channel has one sender and one receiver, so each value is what it is whoever runs first.

Somebody may ask later: by another task, `await`, a timer, a second receiver, a wait that nothing ends. So while there
are pulled tasks, what the root did is kept: which channels it received from, which tasks it started, where it gave a
turn. Before anything else happens, `settle` does all of it again with the same tasks in the scheduler. That is
possible because pulled tasks have no effects, and then every line, buffer and turn is as if they had run there from
the start. An error in a pulled task settles as well: the scheduler comes to the same error, at its own place.
"""

from __future__ import annotations

from sema_runtime.tasks.channels import FAILED, TAKEN, Channel
from sema_runtime.tasks.scheduler import Scheduler
from sema_runtime.tasks.steppers import Stepper
from sema_runtime.tasks.still import are_still_and_few, is_still
from sema_runtime.tasks.waiting import LAST_RUN, PULLING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Any

    Values = Generator[Any, None, None]

MOST_STEPS = 1_000_000  # that are kept, in 16 bytes each; the same one many times is one


class Unfinished(Exception):
    """A pulled task can't go on as it is, for a reason that the scheduler will find as well."""


def unfinished() -> None:
    """What a pulled task does that ends before it has closed its channel: its receiver would wait for ever."""
    raise Unfinished


def begin(
    queue: Scheduler, task_class: type[Stepper], function: Any, made: Callable[..., Values], facts: tuple[Any, ...]
) -> Any:
    """The promise of a new task that is pulled; None where it can't be. facts: whether the program drops the promise,
    the channel to which it sends, those from which it receives, the data that it reads."""
    is_dropped, out, ins, data = facts
    pulled = queue.pulled
    if pulled is None:
        pulled = Pulled(queue)
    if not pulled.is_alone() or not pulled.admits(out, ins, data):
        return None
    if queue.natives:
        queue.root.note_use()
    task = task_class(queue, function)
    pulled.add(task, made, out, ins)
    pulled.is_finite = pulled.is_finite and is_dropped
    queue.pulled = pulled
    PULLING.add(queue)
    pulled.note("begin", task)
    return task.promise


def has_more(values: Any) -> bool:
    """Whether a generator has not ended."""
    return values.gi_frame is not None


class Pulled:
    """The pulled tasks of a scheduler.

    kinds, counts: what the root did: a word and what it was about, and how many times one after the other; run: the
    last of it, which goes on: a list of the kind, this object and the count.
    """

    def __init__(self, queue: Scheduler) -> None:
        self.queue = queue
        self.root = queue.root
        self.kinds: list[tuple[str, Any]] = []
        self.counts: list[int] = []
        self.run: list[Any] | None = None
        self.tasks: list[tuple[Stepper, Values]] = []
        self.before: dict[Channel, tuple[list[Any], bool, int]] = {}  # of each channel: values, whether closed, room
        self.late: dict[Channel, Values] = {}  # of channels that had a receiver before they had a sender
        self.consumers: dict[Any, bool] = {}  # whether what a function reads besides its arguments never changes
        self.is_quiet = False  # whether code of theirs runs now, which gives no turns
        self.is_finite = True  # whether all can be forgotten when all tasks have ended

    # Tasks

    def is_alone(self) -> bool:
        """Whether the root is running, and there are no tasks but those that are pulled."""
        queue = self.queue
        if type(queue) is not Scheduler or queue.alive != len(self.tasks) or queue.current() is not queue.root:
            return False
        return not (queue.ready or queue.external or queue.in_loop or queue.idle_runners)

    def admits(self, out: Any, ins: Sequence[Any], data: Sequence[Any]) -> bool:
        """Whether nobody else sends or receives where a task does, and what it reads never changes."""
        if type(out) is not Channel or out.closed or out.buffer or out in self.late:
            return False
        if (out in self.before) is not (out.source is TAKEN):  # one without a sender may have its receiver already
            return False
        seen = {out}
        for channel in ins:
            if type(channel) is not Channel or channel in seen or channel.source is TAKEN:
                return False
            if (channel.source is not None) is not (channel in self.before) or not is_still(tuple(channel.buffer)):
                return False
            seen.add(channel)
        return all(map(is_still, data))

    def add(self, task: Stepper, made: Callable[..., Values], out: Channel, ins: Sequence[Channel]) -> None:
        values = made(*map(self.taken, ins))
        if out in self.before:
            self.late[out] = values
        else:
            self.attach(out)
            out.source = values
        self.tasks.append((task, values))

    def attach(self, channel: Channel) -> None:
        """Leaves a channel no values and no room, so that who uses it otherwise than by its source settles."""
        self.before[channel] = list(channel.buffer), channel.closed, channel.room
        channel.buffer.clear()
        channel.room = 0
        channel.run = [("receive", channel), self, 0]

    def taken(self, channel: Channel) -> Values:
        """What the only receiver of a channel goes through."""
        source = channel.source
        if source is None:
            self.is_finite = False
            self.attach(channel)
            source = self.values(channel)
        channel.source = TAKEN
        return source  # type: ignore[no-any-return]

    def values(self, channel: Channel) -> Values:
        """The values of a channel that had no pulled sender when it got its receiver."""
        values, is_closed, _ = self.before[channel]
        yield from values
        if is_closed:
            return
        if channel not in self.late:
            raise Unfinished
        yield from self.late[channel]

    # Steps of the root

    def note(self, word: str, what: Any = None) -> None:
        """Keeps a step."""
        LAST_RUN[0] = None
        run = self.run
        if run is not None and run[0] == (word, what):
            run[2] += 1
        else:
            self.begin_run([(word, what), None, 0])

    def note_receive(self, channel: Channel) -> None:
        """Keeps that the root has received, from another channel than before: `channel_recv` counts on."""
        LAST_RUN[0] = channel.run
        self.begin_run(channel.run)

    def begin_run(self, run: list[Any]) -> None:
        last = self.run
        if last is not None:
            self.kinds.append(last[0])
            self.counts.append(last[2])
        self.run = run
        run[2] = 1
        if len(self.counts) > MOST_STEPS:
            self.settle()

    # Functions that receive

    def can_consume(self, copy: Callable[..., Any], data: tuple[Any, ...], args: tuple[Any, ...]) -> bool:
        """Whether a call of a function that only receives and computes can be done again later."""
        callback = self.root.callback
        if callback is not None and (callback.is_fresh or not callback.is_used):
            return False  # its first receive would give a turn, or not, and nobody counts them
        is_known = self.consumers.get(copy)
        if is_known is None:
            is_known = self.consumers[copy] = all(map(is_still, data))
        return is_known and are_still_and_few(args)

    def consume(self, function: Callable[..., Any], copy: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """The value of a function, by its copy."""
        self.is_quiet = True
        try:
            value = copy(*args)
        except Exception:
            value = FAILED
        except BaseException:
            self.break_off()
            raise
        finally:
            self.is_quiet = False
        if value is FAILED:
            self.settle()
            return function(*args)
        LAST_RUN[0] = None
        self.begin_run([("consume", (function, args)), None, 0])
        self.ended()
        return value

    # Ends

    def ended(self) -> None:
        """Forgets everything where all tasks have ended and nobody can ask for more than that."""
        if not self.is_finite or self.queue.pulled is not self or any(has_more(values) for _, values in self.tasks):
            return
        self.leave()
        for channel in self.before:
            channel.closed = True
        for task, _ in self.tasks:
            task.promise.resolve(None)
            task.leave()
        self.run = None  # no cycle keeps what the tasks have read in memory

    def break_off(self) -> None:
        """An exception that isn't the program's has ended generators: none is used again."""
        for channel in self.before:
            if channel.source is not None:
                channel.source = TAKEN

    def leave(self) -> None:
        """Gives the channels back to the scheduler."""
        self.queue.pulled = None
        PULLING.discard(self.queue)
        LAST_RUN[0] = None
        for channel in self.before:
            channel.source = channel.run = None
        for _, values in reversed(self.tasks):  # else each would end the one that it takes from, on one stack
            values.close()

    def settle(self) -> None:
        """Does again what the root did, with tasks that the scheduler runs: so all are where they would be."""
        root = self.root
        self.leave()
        for channel, (values, is_closed, room) in self.before.items():
            channel.buffer.extend(values)
            channel.closed, channel.room = is_closed, room
        callback, root.callback = root.callback, None  # whether a step in it gave a turn is known
        try:
            last = [] if self.run is None else [(self.run[0], self.run[2])]
            for (word, what), count in (*zip(self.kinds, self.counts, strict=True), *last):
                for _ in range(count):
                    self.repeat(word, what)
        finally:
            root.callback = callback

    def repeat(self, word: str, what: Any) -> None:
        if word == "receive":
            what.receive_now(False)
        elif word == "receive first":
            what.receive_now(True)
        elif word == "pause":
            self.queue.pause()
        elif word == "consume":
            function, args = what
            function(*args)
        elif word == "begin":
            what.start()
            self.queue.begin(what)
        else:
            self.queue.drain()
