"""The server's side of the process that runs a program's code: asking it, stopping calls, starting it again."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import anyio

from sema_runtime.systems import KILL

GRACE = 2.0  # seconds in which a call that is stopped may end, and the process when it is closed
PATIENCE = 0.5  # seconds for the last text of a process
MARK = re.compile('\0call (\\d+) (?:ended|said ("[^\0]*"))\0')
OPENING = "\0call "
LONGEST_MARK = 8192
LONGEST_LINE = 256 << 20  # bytes of an answer
MOST_OUTPUT = 1_000_000  # characters of output that a client gets
CHUNK = 1 << 16


@dataclass
class Outcome:
    """How a call ended. status: ok, error, exit, timeout, cancelled or died. fields: what the operation gave.
    text: for an error its message, for a process that died why. output: what was printed."""

    status: str
    fields: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    output: str = ""


class LoadError(Exception):
    """The program could not be loaded; the text says why."""


class Pending:
    """A call whose answer is awaited. on_output: gets text as it comes."""

    def __init__(self, number: int, on_output: Callable[[str], None] | None) -> None:
        self.number = number
        self.on_output = on_output
        loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[Outcome] = loop.create_future()
        self.marked: asyncio.Future[None] = loop.create_future()
        self.behind: asyncio.Future[int | None] = loop.create_future()  # another call runs instead
        self.parts: list[str] = []
        self.size = 0

    def print(self, text: str) -> None:
        self.size += len(text)
        if self.size - len(text) < MOST_OUTPUT:
            self.parts.append(text)
        if self.on_output is not None:
            self.on_output(text)

    def output(self) -> str:
        text = "".join(self.parts)
        if self.size <= MOST_OUTPUT:
            return text
        return f"{text[:MOST_OUTPUT]}\n… {self.size - MOST_OUTPUT} more characters were printed\n"


class Program:
    """A program in a process, which is started for the first call and again after it died.

    command: its argument vector. settings: its first line, JSON. log: gets text that belongs to no call. on_listing:
    called when the process tells another listing.
    """

    def __init__(
        self,
        command: list[str],
        settings: dict[str, Any],
        log: Callable[[str], None],
        environment: dict[str, str] | None = None,
        on_listing: Callable[[], None] | None = None,
    ) -> None:
        self.command = command
        self.settings = settings
        self.log = log
        self.environment = environment
        self.on_listing = on_listing
        self.listing: Any = None
        self.process: asyncio.subprocess.Process | None = None
        self.starting = asyncio.Lock()
        self.loading: Pending | None = None  # until the program is loaded
        self.pending: dict[int, Pending] = {}
        self.last = 0
        self.watcher: asyncio.Task[None] | None = None
        self.killed = ""  # why this side ended the process
        self.deaf = False  # whether the program has closed what goes past its streams

    # Starting and ending

    async def spawn(self) -> None:
        """Starts the process, which begins to load the program."""
        self.process = await asyncio.create_subprocess_exec(
            *self.command, stdin=-1, stdout=-1, stderr=-1, limit=LONGEST_LINE,
            env=self.environment, start_new_session=True,
        )  # fmt: skip
        self.killed, self.deaf = "", False
        self.loading = self.pending[0] = Pending(0, None)
        self.watcher = asyncio.create_task(self._watch(self.process))
        self._send(self.settings)

    async def start(self, seconds: float | None = None) -> None:
        """Starts the process and waits until the program is loaded, unless it is. Raises LoadError."""
        async with self.starting:
            if self.process is None:
                await self.spawn()
            if self.loading is None:
                return
            outcome = await self._awaited(self.loading, seconds)
            self.loading = None
            if outcome.output:
                self.log(outcome.output)
            if outcome.status != "ok":
                await self.close()
                status = outcome.fields.get("status")
                reasons = {"timeout": "it takes too long", "exit": f"it exits with status {status}"}
                raise LoadError(outcome.text or reasons.get(outcome.status, outcome.status))

    async def close(self) -> None:
        """Ends the process, in order if it can."""
        process = self.process
        if process is None:
            return
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), GRACE)
        self._kill("the server ends")
        if self.watcher is not None:
            await self.watcher

    def _kill(self, why: str) -> None:
        """Ends the process and what it has started."""
        process = self.process
        if process is None:
            return
        self.killed = self.killed or why
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, KILL)
            else:
                process.kill()

    # Asking

    async def ask(
        self,
        operation: str,
        parameters: dict[str, Any],
        seconds: float | None = None,
        on_output: Callable[[str], None] | None = None,
    ) -> Outcome:
        """The outcome of an operation. Stops it after that many seconds, or when the waiting task is cancelled.
        Raises LoadError."""
        await self.start(seconds)
        self.last += 1
        call = self.pending[self.last] = Pending(self.last, on_output)
        self._send({**parameters, "id": call.number, "do": operation})
        return await self._awaited(call, seconds)

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process is not None
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _awaited(self, call: Pending, seconds: float | None) -> Outcome:
        try:
            outcome = await asyncio.wait_for(asyncio.shield(call.answer), seconds)
        except TimeoutError:
            outcome = replaced(await self._stopped(call), "timeout")
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):
                await self._stopped(call)
            raise
        finally:
            self.pending.pop(call.number, None)
        if outcome.status != "died" and not self.deaf:
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(call.marked), GRACE)
        outcome.output = call.output()
        return outcome

    async def _stopped(self, call: Pending) -> Outcome:
        """Stops a call: where it waits, else by a signal, else with its process."""
        self._send({"cancel": call.number})
        waiting: list[asyncio.Future[Any]] = [call.answer, call.behind]
        await asyncio.wait(waiting, timeout=GRACE, return_when=asyncio.FIRST_COMPLETED)
        if call.answer.done():
            return call.answer.result()
        if call.behind.done() and (call.behind.result() is None or call.behind.result() in self.pending):
            self._mark(call.number)
            return Outcome("cancelled")  # as soon as the other call lets it
        self._kill("a call could not be stopped")
        return await call.answer

    # Reading

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        """Reads until the process has ended, and ends with it what it has started."""
        readers = [asyncio.create_task(self._read(process)), asyncio.create_task(self._read_text(process))]
        await process.wait()
        self._kill("")
        await asyncio.wait(readers, timeout=PATIENCE)
        for reader in readers:
            reader.cancel()  # something outside of its group keeps the pipe open
        self._died(process)

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Passes answers on."""
        assert process.stdout is not None
        with suppress(ValueError):  # a line that is too long
            while line := await process.stdout.readline():
                with suppress(ValueError, KeyError, TypeError):  # the program has found the descriptor
                    self._hear(json.loads(line))
        try:
            await asyncio.wait_for(process.wait(), GRACE)
        except TimeoutError:
            self._kill("it closed its connection to the server")

    def _hear(self, message: dict[str, Any]) -> None:
        if "listing" in message:
            self.listing = message.pop("listing")
            if self.on_listing is not None:
                self.on_listing()
        call = self.pending.get(message["id"])
        if call is None:
            return
        if "behind" in message:
            if not call.behind.done():
                call.behind.set_result(message["behind"])
        elif "done" in message and not call.answer.done():
            status, text = message.pop("done"), message.pop("error", "")
            call.answer.set_result(Outcome(status, message, text))

    async def _read_text(self, process: asyncio.subprocess.Process) -> None:
        """Reads what calls print, and what goes past the program's streams, in the order in which it was written."""
        from codecs import getincrementaldecoder

        assert process.stderr is not None
        decode = getincrementaldecoder("utf-8")("replace").decode
        held = ""
        while data := await process.stderr.read(CHUNK):
            rest = self._hear_marks(held + decode(data))
            at = rest.rfind("\0", max(0, len(rest) - LONGEST_MARK))
            opened = at >= 0 and rest.startswith(OPENING[: len(rest) - at], at)
            held = rest[at:] if opened else ""  # perhaps the beginning of a mark
            self._stray(rest[:at] if opened else rest)
        self._stray(held)
        self.deaf = True

    def _hear_marks(self, text: str) -> str:
        """Takes text up to its last mark. Returns the rest."""
        end = 0
        for match in MARK.finditer(text):
            self._stray(text[end : match.start()])
            end = match.end()
            call = self.pending.get(int(match[1]))
            if match[2] is None:
                self._mark(int(match[1]))
            elif call is not None:
                with suppress(ValueError):  # the program itself has written a mark
                    call.print(json.loads(match[2]))
        return text[end:]

    def _mark(self, number: int) -> None:
        call = self.pending.get(number)
        if call is not None and not call.marked.done():
            call.marked.set_result(None)

    def _stray(self, text: str) -> None:
        """Takes what goes past the program's streams: text for the call that runs alone, else for the log."""
        if not text:
            return
        if len(self.pending) == 1:
            next(iter(self.pending.values())).print(text)
        else:
            self.log(text)

    def _died(self, process: asyncio.subprocess.Process) -> None:
        if self.process is process:
            self.process = None
        reason = self.killed or ended_by(process.returncode or 0)
        for call in list(self.pending.values()):
            if not call.answer.done():
                call.answer.set_result(Outcome("died", {}, reason))


def replaced(outcome: Outcome, status: str) -> Outcome:
    """The outcome of a call that was stopped: what it gave at last doesn't count, except that its process died."""
    return Outcome(status, {"died": outcome.status == "died"}, outcome.text)


def ended_by(status: int) -> str:
    """How a process ended, in words."""
    if status >= 0:
        return f"exit status {status}"
    with suppress(ValueError):
        return signal.Signals(-status).name
    return f"signal {-status}"


def to_stderr(text: str) -> None:
    """Writes text of the program that belongs to no call to the server's errors."""
    with suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()
