"""The processes of the box, as the host holds them: the zygote, and the workers that it forks."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from typing import Any

from sema_runtime.box.codec import from_body, nodes_in
from sema_runtime.box.limits import Limits
from sema_runtime.box.probe import Unprotected
from sema_runtime.bundle import python_command
from sema_runtime.compiler_bridge import ZYGOTE
from sema_runtime.values.errors import SemaError

START_SECONDS = 30.0
ANSWER = 4  # bytes of what the zygote answers
AHEAD = 1 << 12  # bytes that are read at once of what may come
WIDEST = 12  # bytes of JSON for a character of text
LAST_WORDS = (  # of libraries that get no memory: in Rust, in C++, and that of greenlets, for a stack
    b"memory allocation of ",
    b"terminate called after throwing an instance of 'std::bad_alloc'",
    b"Fatal Python error: g_switchstack",
)
ENVIRONMENT = {  # which the zygote empties
    "PYTHONHASHSEED": "0",  # the same order of sets each time
    "LD_BIND_NOW": "1",  # no worker writes to the tables of libraries at first use
}
STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.S)
PARTS_OF_NODE = 4  # commas, colons and brackets in JSON
EXTRA_PARTS = 10_000


class Died(Exception):
    """A process has ended, or speaks nonsense. is_out_of_memory: whether a library in it gave up for want of memory."""

    def __init__(self, is_out_of_memory: bool = False) -> None:
        super().__init__()
        self.is_out_of_memory = is_out_of_memory


class Late(Exception):
    """The deadline has passed."""


class Spent(Exception):
    """A program has used up its time of the processor."""


class Worker:
    """A hardened process. Used for one session, by one thread at a time.

    pid: None until the zygote has said it (`known`).
    """

    def __init__(self, pid: int | None, pipe: socket.socket, limits: Limits, zygote: Zygote | None = None) -> None:
        self.pid = pid
        self.pipe = pipe
        self.limits = limits
        self.zygote = zygote
        self.handle = -1
        if pid is not None:
            self.is_process(pid)
        self.is_ready = False
        self.unread = bytearray()
        self.most_processor: float | None = None
        self.told: dict[str, Any] = {}  # what stays the same from program to program, as the process has it
        self.waiting = select.poll()  # which takes descriptors of any number
        self.waiting.register(pipe, select.POLLIN)

    def is_process(self, pid: int) -> None:
        self.pid = pid
        if hasattr(os, "pidfd_open"):
            self.handle = os.pidfd_open(pid)

    def known(self) -> int:
        """The process's number. Raises Died where it was never started."""
        if self.pid is None:
            assert self.zygote is not None
            self.zygote.settle(self)
        assert self.pid is not None
        return self.pid

    def watch_processor(self, milliseconds: int | None) -> None:
        """Has `receive` raise Spent once the process has used that much more of the processor; None: never."""
        self.most_processor = None if milliseconds is None else self.processor_seconds() + milliseconds / 1000

    def processor_seconds(self) -> float:
        """How long it has run on a processor; 0.0 where the system doesn't say."""
        try:
            with open(f"/proc/{self.known()}/schedstat", "rb") as facts:
                return int(facts.read().split()[0]) / 1e9
        except (OSError, ValueError, IndexError):
            return 0.0

    def send(self, frame: bytes, deadline: float) -> None:
        try:
            sent = self.pipe.send(frame, socket.MSG_DONTWAIT)
        except BlockingIOError:
            sent = 0
        except OSError:
            raise Died() from None
        if sent < len(frame):
            self._send_rest(memoryview(frame)[sent:], deadline)

    def _send_rest(self, rest: memoryview, deadline: float) -> None:
        """Sends what the process hasn't taken at once."""
        self.pipe.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            self.pipe.sendall(rest)
        except TimeoutError:
            raise Late() from None
        except OSError:
            raise Died() from None
        finally:
            self.pipe.settimeout(None)

    def news(self, facts: dict[str, Any]) -> dict[str, Any]:
        """Those of the facts that the process doesn't have, which are noted as told."""
        told = self.told
        news = {name: fact for name, fact in facts.items() if name not in told or told[name] != fact}
        told.update(news)
        return news

    def receive(self, deadline: float, most: int) -> dict[str, Any]:
        """The next message. Raises Late, or Died where none will come or it is longer than most bytes."""
        head = self._bytes(4, deadline)
        for words in LAST_WORDS:
            if head == words[: len(head)]:
                raise Died(self._bytes(len(words) - len(head), deadline) == words[len(head) :])
        size = int.from_bytes(head, "big")
        if size > most:
            raise Died()
        body = self._taken(size) if len(self.unread) >= size else self._bytes(size, deadline)
        if size > EXTRA_PARTS and not is_within(body, PARTS_OF_NODE * nodes_in(most // WIDEST) + EXTRA_PARTS):
            raise Died()  # it would take far more memory than its bytes do
        try:
            message = from_body(body)
        except (ValueError, RecursionError):
            raise Died() from None
        if type(message) is not dict:
            raise Died()
        return message

    def _bytes(self, count: int, deadline: float) -> bytes:
        """The next bytes. What comes with them is kept: a short message is read at once, its length and all."""
        collected = self.unread
        while True:
            left = deadline - time.monotonic()
            spare = left if self.most_processor is None else self.most_processor - self.processor_seconds()
            if left <= 0:
                raise Late()
            if spare <= 0:
                raise Spent()
            if len(collected) >= count:
                return self._taken(count)
            if not self.waiting.poll(min(left, spare) * 1000):
                continue
            try:
                part = self.pipe.recv(min(max(count - len(collected), AHEAD), 1 << 20))
            except OSError:
                raise Died() from None
            if not part:
                raise Died()
            collected += part

    def _taken(self, count: int) -> bytes:
        """That many bytes of those that are there."""
        taken = bytes(self.unread[:count])
        del self.unread[:count]
        return taken

    def end(self) -> None:
        """Kills the process, whatever it does."""
        try:
            self.kill()
        finally:
            self.pipe.close()
            if self.handle >= 0:
                os.close(self.handle)
                self.handle = -1

    def kill(self) -> None:
        """Sends the signal alone: whoever waits for the process sees its end."""
        try:
            pid = self.known()
            if self.handle >= 0:
                signal.pidfd_send_signal(self.handle, signal.SIGKILL)
            else:
                os.kill(pid, signal.SIGKILL)
        except (Died, ProcessLookupError):
            pass


def is_within(body: bytes, parts: int) -> bool:
    """Whether the JSON of a message has no more commas, colons and brackets, those inside of strings left out."""

    def count(text: bytes) -> int:
        return text.count(b",") + text.count(b"[") + text.count(b"{") + text.count(b":")

    return count(body) <= parts or count(STRINGS.sub(b"", body)) <= parts


def zygote_command() -> list[str]:
    """What starts the process that forks workers."""
    return python_command(ZYGOTE)


class Zygote:
    """The process that forks workers (semac/box/zygote.py). Raises SemaError where it doesn't start."""

    def __init__(self) -> None:
        if not hasattr(os, "fork"):
            raise Unprotected("box: this system can't fork processes, which the box is made of", "use Linux, or WSL")
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.process = subprocess.Popen(
            [*zygote_command(), str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        self.lock = threading.Lock()
        self.unsettled: deque[Worker] = deque()  # of which it hasn't been read yet which processes they are
        self.control.settimeout(START_SECONDS)
        hello = b""
        while not hello.endswith(b"\n"):
            part = self.control.recv(4096)
            if not part:
                raise SemaError(
                    "box: the process that starts programs doesn't start", "is the package semac installed?"
                )
            hello += part
        self.layers = frozenset(json.loads(hello)["layers"])

    def fork(self, limits: Limits, data_mb: int = 0) -> Worker:
        """A worker that is being started: nobody waits for that. data_mb: memory that it gets for inputs, beyond that
        of its limits. Raises Died."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        order = f"{limits.memory_mb + data_mb} {limits.wall_ms // 1000 + 2}"
        worker = Worker(None, ours, limits, self)
        try:
            with self.lock:
                socket.send_fds(self.control, [order.encode()], [theirs.fileno()])
                self.unsettled.append(worker)
        except OSError:
            ours.close()
            raise Died() from None
        finally:
            theirs.close()
        return worker

    def settle(self, worker: Worker) -> None:
        """Has a worker know which process it is. Raises Died."""
        with self.lock:
            while worker.pid is None:
                answer = self._answer()
                self.unsettled.popleft().is_process(int.from_bytes(answer, "big"))

    def _answer(self) -> bytes:
        answer = b""
        try:
            while len(answer) < ANSWER:
                part = self.control.recv(ANSWER - len(answer))
                if not part:
                    raise Died()
                answer += part
        except OSError:
            raise Died() from None
        return answer

    def close(self) -> None:
        self.control.close()
        try:
            self.process.wait(1)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
