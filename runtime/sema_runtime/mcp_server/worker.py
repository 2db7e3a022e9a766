"""The process that runs a program's code for a server. It may exit, crash or loop: the server lives on elsewhere.

Standard input and output carry lines of JSON until `serve` takes them away from the program. Requests are
`{"id", "do", ...}`, answers `{"id", "done", ...}`. Each request runs as a task, so those that wait run concurrently; an
operation named in `in_turn` waits until the one before has ended.

What a call prints takes the pipe of standard errors, between marks: there it keeps its order with what goes past the
streams of Python. The last mark of a call comes before its answer.

`{"cancel": id}` cancels a task where it waits. A signal that follows interrupts one that computes. The handler answers
`{"id", "stopping"}` or, where another call computes at the moment, `{"id", "behind": other}`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

from greenlet import GreenletExit, getcurrent  # type: ignore[import-untyped]

from sema_runtime.mcp_server.calls import Call, current, install
from sema_runtime.tasks import call as in_task
from sema_runtime.tasks import interrupts
from sema_runtime.tasks.hosted import scheduler_of
from sema_runtime.tasks.steppers import TaskGreenlet
from sema_runtime.tasks.waiting import Task

Operation = Callable[[dict[str, Any]], dict[str, Any]]
LEFT = 0.4  # seconds for tasks that a call has started and not awaited
GOING = 1.0  # seconds in which the process may end in order
LOOK = 5.0  # milliseconds
ENDED = "\0call {} ended\0"
SAID = "\0call {} said {}\0"  # the text as JSON, which has no NUL
PIECE = 600  # characters in one mark: at most 4 KB, which a pipe takes whole


class Operations:
    """What the process can do, by name. listing: what the answers tell when it has changed. explain: errors as text."""

    def __init__(
        self,
        named: dict[str, Operation],
        in_turn: frozenset[str] = frozenset(),
        listing: Callable[[], Any] | None = None,
        explain: Callable[[BaseException], str] | None = None,
    ) -> None:
        self.named = named
        self.in_turn = in_turn
        self.listing = listing
        self.explain = explain or explained


def explained(error: BaseException) -> str:
    """The message of an error with its hint and note."""
    from sema_runtime.conditions.describe import describe

    shown = describe(error)
    more = [f"{label}: {text}" for label, text in (("hint", shown.hint), ("note", shown.note)) if text]
    return "\n".join([shown.message, *more])


class Channel:
    """The lines to and from the server's process, on descriptors of their own."""

    def __init__(self) -> None:
        self.questions = os.fdopen(os.dup(0), "rb")
        self.answers = os.dup(1)
        self.marks = os.dup(2)  # whatever the program does to 2
        self.lock = threading.Lock()
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
        sys.stdin = open(os.devnull)  # noqa: SIM115 - for as long as the process runs

    def send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode() + b"\n"
        with self.lock:
            while data:
                data = data[os.write(self.answers, data) :]

    def say(self, number: int, text: str) -> None:
        """Sends what a call has printed."""
        for start in range(0, len(text), PIECE):
            piece = json.dumps(text[start : start + PIECE], ensure_ascii=False)
            self.mark(SAID.format(number, piece))

    def mark(self, text: str) -> None:
        with suppress(OSError):
            os.write(self.marks, text.encode("utf-8", "replace"))


def serve(prepare: Callable[[dict[str, Any]], Operations]) -> NoReturn:
    """Serves requests until the server's process closes the input. prepare: loads the program; what it raises is
    reported and ends the process. Its argument is the first line."""
    channel = Channel()
    first = channel.questions.readline()
    install()
    loop = asyncio.new_event_loop()
    worker = Worker(channel, loop)
    threading.Thread(target=worker.read, daemon=True).start()
    signal.signal(signal.SIGINT, worker.interrupted)
    worker.tasks[0] = loop.create_task(worker.begin(prepare, json.loads(first or b"{}")))
    try:
        while not worker.over:
            try:
                loop.run_forever()
            except (KeyboardInterrupt, SystemExit):  # of a task that the program started
                scheduler_of(loop).pump_soon()
    finally:
        threading.Thread(target=_end_soon, daemon=True).start()
    sys.exit(0)


def _end_soon() -> None:
    """Ends the process though something in it holds it up."""
    threading.Event().wait(GOING)
    os._exit(0)


class Worker:
    def __init__(self, channel: Channel, loop: asyncio.AbstractEventLoop) -> None:
        self.channel = channel
        self.loop = loop
        self.operations = Operations({})
        self.over = False
        self.turn = asyncio.Lock()
        self.tasks: dict[int, asyncio.Task[bool]] = {}
        self.stopping: set[int] = set()  # calls to be interrupted
        self.told: Any = None  # the listing that the server knows

    # On the thread that reads

    def read(self) -> None:
        """Reads requests; the process ends with them."""
        for line in self.channel.questions:
            message = json.loads(line)
            if "cancel" in message:
                self.cancel(message["cancel"])
            else:
                self.loop.call_soon_threadsafe(self.start, message)
        self.over = True
        self.loop.call_soon_threadsafe(self.loop.stop)
        _end_soon()

    def cancel(self, number: int) -> None:
        self.stopping.add(number)
        self.loop.call_soon_threadsafe(self.withdraw, number)
        if hasattr(signal, "pthread_kill"):
            ident = threading.main_thread().ident
            assert ident is not None
            signal.pthread_kill(ident, signal.SIGINT)
        else:
            signal.raise_signal(signal.SIGINT)

    # On the main thread

    def interrupted(self, number: int, frame: Any) -> None:
        """Handles the signal: interrupts the running call if it is to stop."""
        call = current.get() if type(getcurrent()) is TaskGreenlet else None
        for wanted in list(self.stopping):
            running = None if call is None else call.number
            self.channel.send(
                {"id": wanted, "stopping": True} if wanted == running else {"id": wanted, "behind": running}
            )
        if call is not None and call.number in self.stopping:
            interrupts.raised(number, frame)

    def withdraw(self, number: int) -> None:
        task = self.tasks.get(number)
        if task is not None:
            task.cancel()

    async def begin(self, prepare: Callable[[dict[str, Any]], Operations], settings: dict[str, Any]) -> bool:
        """Loads the program as call 0. Returns whether it succeeded; the process ends otherwise."""

        def load(_: dict[str, Any]) -> dict[str, Any]:
            self.operations = prepare(settings)
            return {}

        loaded = await self.answer({"id": 0}, load)
        if not loaded:
            self.over = True
            self.loop.stop()
        return loaded

    def start(self, message: dict[str, Any]) -> None:
        operation = self.operations.named[message["do"]]
        work = self.in_turn(message, operation) if message["do"] in self.operations.in_turn else None
        task = self.loop.create_task(work or self.answer(message, operation))
        self.tasks[message["id"]] = task
        task.add_done_callback(partial(self.ended, message["id"]))

    def ended(self, number: int, task: asyncio.Task[Any]) -> None:
        self.tasks.pop(number, None)
        self.stopping.discard(number)
        if task.cancelled():  # before it began
            self.channel.send({"id": number, "done": "cancelled"})

    async def in_turn(self, message: dict[str, Any], operation: Operation) -> bool:
        async with self.turn:
            return await self.answer(message, operation)

    async def answer(self, message: dict[str, Any], operation: Operation) -> bool:
        """Runs an operation as a task and sends its outcome. Returns whether it succeeded."""
        call = Call(message["id"], self.channel.say)
        token = current.set(call)
        try:
            outcome = await in_task(partial(self.outcome, operation, message))
        except asyncio.CancelledError:
            outcome = {"done": "cancelled"}
        finally:
            current.reset(token)
        call.flush()
        call.ended = True
        self.channel.mark(ENDED.format(call.number))  # behind everything that the call has written
        self.channel.send({"id": call.number, **outcome, **self.changes()})
        return bool(outcome["done"] == "ok")

    def outcome(self, operation: Operation, message: dict[str, Any]) -> dict[str, Any]:
        """What an operation gives, as an answer. Runs in the task of the call."""
        try:
            fields = operation(message)
            wait_for_children()
            return {**fields, "done": "ok"}
        except GreenletExit:
            raise
        except KeyboardInterrupt:
            return {"done": "cancelled"}
        except SystemExit as exit_:
            return {
                "done": "exit",
                "status": exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None),
            }
        except BaseException as error:
            try:
                return {"done": "error", "error": self.operations.explain(error)}
            except Exception:
                return {"done": "error", "error": f"{type(error).__name__}: the error can't be shown"}

    def changes(self) -> dict[str, Any]:
        """The listing, if it is another than the last one that was sent."""
        listing = None if self.operations.listing is None else self.operations.listing()
        if listing == self.told:
            return {}
        self.told = listing
        return {"listing": listing}


def wait_for_children() -> None:
    """Gives the tasks that a call has started a moment to end. They go on afterwards."""
    from sema_runtime.tasks.scheduler import scheduler

    queue = scheduler()
    task = queue.current()
    left = LEFT * 1000
    while type(task) is Task and task.children and left > 0:
        queue.sleep(LOOK)
        left -= LOOK
