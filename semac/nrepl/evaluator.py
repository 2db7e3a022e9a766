"""Runs the forms of all clients, one evaluation after the other, on the main thread."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import uuid4

from sema_runtime.values.atoms import symbol
from semac.nrepl.streams import InputLines, ReplyStream, RequestedInput
from semac.session import Session

Message = dict[str, Any]
NAMESPACE = "user"
HISTORY = ("*1", "*2", "*3", "*e")
KEPT = 1000  # texts of evaluations, for errors in functions that they defined
LAST_PLACE = 100_000  # a line or column beyond it counts as this
SETTLES = 1.0  # seconds that a signal on its way may take


class Client:
    """A session of nREPL: its last values, and its input."""

    def __init__(self) -> None:
        self.id = str(uuid4())
        self.history: dict[str, Any] = dict.fromkeys(HISTORY)
        self.input = InputLines()


class Job:
    """An evaluation that waits or runs. reply: sends a message to the client; connection: where it came from."""

    def __init__(
        self,
        client: Client,
        message_id: str,
        text: str,
        file: str,
        reply: Callable[[Message], None],
        connection: object,
    ) -> None:
        self.client = client
        self.message_id = message_id
        self.text = text
        self.file = file
        self.reply = reply
        self.connection = connection
        self.quota = 0  # bytes of a printed value; 0 for all
        self.pretty = False
        self.interrupted = False
        self.out = ReplyStream(lambda text: reply({"out": text}))
        self.err = ReplyStream(lambda text: reply({"err": text}))

    @property
    def streams(self) -> tuple[Any, Any, Any]:
        """Standard input, output and errors of the evaluation."""
        need = partial(self.reply, {"status": ["need-input"]})
        return RequestedInput(self.client.input, need, lambda: self.interrupted), self.out, self.err


class Evaluator:
    """The queue of evaluations, and the environment that all of them share."""

    def __init__(self) -> None:
        self.session = Session(closed=False)
        self.session.bind("*ns*", symbol(NAMESPACE))  # editors for Clojure ask for it when they connect
        self.jobs: deque[Job] = deque()
        self.current: Job | None = None
        self.changed = threading.Condition()
        self.stopping = False
        self.count = 0
        self.sources: dict[str, str] = {}  # the last texts, by file name or number

    # From the threads of connections

    def submit(self, job: Job) -> None:
        with self.changed:
            self.jobs.append(job)
            self.changed.notify_all()

    def interrupt(self, client: Client, message_id: str | None) -> str:
        """Stops an evaluation of a client: the one of that id, or the first. Returns a status, empty for success."""
        with self.changed:
            job = self.current
            if job is not None and job.client is client and message_id in (None, job.message_id):
                self._stop(job)
                return ""
            waiting = [job for job in self.jobs if job.client is client]
            wanted = [job for job in waiting if message_id in (None, job.message_id)]
            if wanted:
                self.jobs.remove(wanted[0])
                wanted[0].reply({"status": ["done", "interrupted"]})
                return ""
            busy = waiting or (job is not None and job.client is client)
            return "interrupt-id-mismatch" if busy and message_id is not None else "session-idle"

    def drop(self, is_gone: Callable[[Job], bool]) -> None:
        """Removes the evaluations that nobody waits for any more, and stops the one that runs."""
        with self.changed:
            self.jobs = deque(job for job in self.jobs if not is_gone(job))
            if self.current is not None and is_gone(self.current):
                self._stop(self.current)

    def _stop(self, job: Job) -> None:
        if not job.interrupted:
            job.interrupted = True
            os.kill(os.getpid(), signal.SIGINT)

    # On the main thread

    def run(self) -> None:
        """Runs evaluations until Ctrl-C or SIGTERM. Raises KeyboardInterrupt or SystemExit."""
        streams = sys.stdin, sys.stdout, sys.stderr
        while True:
            try:
                self.step()
            finally:
                sys.stdin, sys.stdout, sys.stderr = streams

    def step(self) -> None:
        """Waits for an evaluation, runs it and answers. An interrupt may come at any point until `release` ends."""
        job: Job | None = None
        answers: list[Message] = []
        end: BaseException | None = None  # of the server
        try:
            job = self.next_job()
            sys.stdin, sys.stdout, sys.stderr = job.streams
            answers = self.outcome(job)
            self.release(job)
        except (KeyboardInterrupt, SystemExit) as error:
            job = self.current or job
            answers = [*answers, {"status": ["interrupted"]}]
            if job is None or not job.interrupted or isinstance(error, SystemExit):
                end = error
        if job is not None:
            with self.changed:
                self.current = None
            job.out.flush()
            job.err.flush()
            for message in [*answers, {"status": ["done"]}]:
                job.reply(message)
        if end is not None:
            raise end

    def next_job(self) -> Job:
        with self.changed:
            while not self.jobs:
                self.changed.wait()
            job = self.current = self.jobs.popleft()
        return job

    def release(self, job: Job) -> None:
        """Ends an evaluation: no interrupt is sent any more, and one that is on its way arrives here."""
        with self.changed:
            self.current = None
        if job.interrupted:
            threading.Event().wait(SETTLES)

    def outcome(self, job: Job) -> list[Message]:
        """The messages with the value, or with the error."""
        from sema_runtime.values.printer import pretty, to_text

        session, history = self.session, job.client.history
        self.count += 1
        file = job.file or f"<nrepl {self.count}>"
        self.sources.pop(file, None)
        self.sources[file] = job.text
        if len(self.sources) > KEPT:
            del self.sources[next(iter(self.sources))]
        for name, value in history.items():
            session.bind(name, value)
        try:
            value = session.run(job.text, file)
            printed = (pretty if job.pretty else to_text)(value)
        except KeyboardInterrupt:
            raise
        except SystemExit:
            if self.stopping:
                raise
            job.err.write("Error: exit is ignored here; end the server with Ctrl-C\n")
            return [{"ex": "exit", "root-ex": "exit", "ns": NAMESPACE, "status": ["eval-error"]}]
        except BaseException as error:
            return self.failure(job, error, file)
        history.update({"*1": value, "*2": history["*1"], "*3": history["*2"]})
        answer: Message = {"value": printed, "ns": NAMESPACE}
        if 0 < job.quota < len(printed.encode()):
            answer["value"] = printed.encode()[: job.quota].decode(errors="ignore")
            answer["status"] = ["nrepl.middleware.print/truncated"]
            answer["nrepl.middleware.print/truncated-keys"] = ["value"]
        return [answer]

    def failure(self, job: Job, error: BaseException, file: str) -> list[Message]:
        """Writes an error as the REPL shows it, and keeps its message as `*e`."""
        from sema_runtime.conditions.describe import describe
        from semac.diagnostics.render import render, restore_terminal

        restore_terminal()
        job.err.write(render(error, file, self.sources) + "\n")
        message = describe(error).message
        job.client.history["*e"] = message
        return [{"ex": message, "root-ex": message, "ns": NAMESPACE, "status": ["eval-error"]}]


def placed(text: str, line: int, col: int) -> str:
    """The text behind as many line breaks and blanks as put it at a line and column, both from 1."""
    return "\n" * (min(line, LAST_PLACE) - 1) + " " * (min(col, LAST_PLACE) - 1) + text
