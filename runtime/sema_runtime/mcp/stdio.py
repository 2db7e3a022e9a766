"""A server that is a program of its own: messages are lines of its standard input and output.

What it writes to its error output is kept apart from the program's; the end of it is shown when the server dies. It is
ended by `mcp/close` and with the program, whether that ends by itself, by Ctrl-C or by a signal: first by closing its
input, then, unless that is enough, by SIGTERM and SIGKILL to it and what it has started.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import suppress

from sema_runtime.mcp.protocol import MAX_BYTES, Failure, encoded
from sema_runtime.support import terminal_state as term_state
from sema_runtime.support.secrets import redacted
from sema_runtime.tasks import children

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from subprocess import Popen

    from sema_runtime.mcp.protocol import Message, Peer

GRACE = 1.0  # seconds for the server to end by itself, and again after SIGTERM
POLL = 0.01  # seconds
TAIL = 4096  # bytes of its error output that are kept
SHOWN_LINES = 8


class Stdio:
    """The connection to a started server. secrets: values that no message shows."""

    answers_while_sending = False

    def __init__(self, peer: Peer, process: Popen[bytes], secrets: Sequence[str]) -> None:
        self.peer = peer
        self.process = process
        self.secrets = secrets
        self.output = _Output(self)
        self.errors = _Errors(self)
        self.input = _Input(self)
        self.dying: asyncio.Task[None] | None = None  # since the server broke the connection off
        self.closing: asyncio.Task[None] | None = None  # since we have
        self.over = False  # the program ends
        self.held = term_state.hold(self.end_now)

    @classmethod
    async def started(cls, peer: Peer, argv: list[str], settings: children.Settings, secrets: Sequence[str]) -> Stdio:
        """A server that has just been started. Raises Failure."""
        from subprocess import PIPE

        try:
            process = children.opened(argv, settings, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True)
        except (OSError, ValueError) as error:
            raise Failure(f"failed to spawn MCP server process `{argv[0]}`: {_reason(settings, error)}") from None
        connection = cls(peer, process, secrets)
        assert process.stdin and process.stdout and process.stderr
        await peer.loop.connect_read_pipe(lambda: connection.output, process.stdout)
        await peer.loop.connect_read_pipe(lambda: connection.errors, process.stderr)
        await peer.loop.connect_write_pipe(lambda: connection.input, process.stdin)
        return connection

    def set_version(self, version: str) -> None:
        """Nothing here depends on it."""

    async def send(self, message: Message) -> None:
        """Writes one line; waits while the server leaves much of what came before unread."""
        if not self.input.finished:
            async with self.input.turn:  # a server that doesn't read has one message in our buffer, not all of them
                await self.input.writable.wait()
                if not self.input.finished:
                    self.input.transport.write(encoded(message) + b"\n")
                    await self.input.writable.wait()
        elif self.dying is not None:
            await asyncio.shield(self.dying)  # then it is known why

    # Its end

    def lost(self) -> None:
        """Notes that the server has closed one of its ends: it can't be talked to any more."""
        if self.dying is None and self.closing is None and not self.over:
            self.dying = self.peer.loop.create_task(self._died())

    async def _died(self) -> None:
        """Fails what waits for the server, with the reason as far as it is known."""
        await self._ends_within(GRACE / 2)
        await asyncio.wait((self.errors.ended,), timeout=GRACE / 2)
        status = self.process.poll()
        message = "MCP server closed the connection before responding"
        if status is not None:
            message += f" (the process ended {_words(status)})"
        self.peer.fail(Failure(message, note=self._last_words()))
        await self.close()

    def _last_words(self) -> str | None:
        text = redacted(self.errors.kept.decode("utf-8", "replace").strip(), self.secrets)
        return "\n    ".join(("its error output ends with:", *text.splitlines()[-SHOWN_LINES:])) if text else None

    async def close(self) -> None:
        """Ends the server; goes on with that when the task that waits for it is cancelled."""
        if self.closing is None:
            self.closing = self.peer.loop.create_task(self._end())
        await asyncio.shield(self.closing)

    async def _end(self) -> None:
        self.input.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            if await self._ends_within(GRACE):
                break
            self._signal(number)
        await self._ends_within(GRACE)
        for end in (self.input, self.output, self.errors):
            end.drop()
        term_state.release(self.held)

    async def _ends_within(self, limit: float) -> bool:
        deadline = time.monotonic() + limit
        while self.process.poll() is None:
            if time.monotonic() >= deadline:
                return False
            await asyncio.sleep(POLL)
        return True

    def end_now(self) -> None:
        """The same when the program ends and its loop doesn't run any more."""
        self.over = True
        if self.process.poll() is not None:
            return
        stdin = self.process.stdin
        if stdin is not None:
            with suppress(OSError):
                stdin.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            deadline = time.monotonic() + GRACE
            while time.monotonic() < deadline:
                if self.process.poll() is not None:
                    return
                time.sleep(POLL)
            self._signal(number)
        self.process.wait()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):  # has ended just now
            os.killpg(self.process.pid, number)


def _reason(settings: children.Settings, error: OSError | ValueError) -> str:
    if isinstance(error, ValueError):
        return str(error)
    place = f":cwd {settings.cwd}: " if settings.cwd is not None and error.filename == settings.cwd else ""
    return f"{place}{error.strerror or error}"


def _words(status: int) -> str:
    if status >= 0:
        return f"with status {status}"
    with suppress(ValueError):
        return f"by {signal.Signals(-status).name}"
    return f"by signal {-status}"


class _End(asyncio.BaseProtocol):
    """One of the three pipes, as asyncio serves it."""

    transport: asyncio.BaseTransport | None = None
    closed = False

    def __init__(self, server: Stdio) -> None:
        self.server = server

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def connection_lost(self, _: Exception | None) -> None:
        self.closed = True

    def drop(self) -> None:
        """Closes the pipe at once."""
        if self.closed or self.transport is None:
            return
        if isinstance(self.transport, asyncio.WriteTransport):
            if not self.transport.is_closing() or self.transport.get_write_buffer_size():
                self.transport.abort()  # else it is being closed already, which asyncio does twice if it is told twice
        else:
            self.transport.close()


class _Output(_End, asyncio.Protocol):
    """Its output: each line is a message. What is none is passed over: some servers print banners."""

    def __init__(self, server: Stdio) -> None:
        super().__init__(server)
        self.unfinished = bytearray()  # a line that hasn't ended
        self.ignored = False  # nothing counts any more

    def data_received(self, data: bytes) -> None:
        if self.ignored:
            return
        peer = self.server.peer
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = bytes(self.unfinished + lines[0])
            self.unfinished.clear()
        for line in lines:
            if line.lstrip()[:1] in (b"{", b"["):  # else a banner, which some servers print
                peer.hear(line)
        self.unfinished += rest
        if len(self.unfinished) > MAX_BYTES:
            self.unfinished.clear()
            self.ignored = True
            peer.fail(Failure(f"MCP server sent a message of more than {MAX_BYTES} bytes"))
            peer.later(self.server.close())

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self.server.lost()


class _Errors(_End, asyncio.Protocol):
    """Its error output, of which the end is kept. ended: done when there comes no more."""

    def __init__(self, server: Stdio) -> None:
        super().__init__(server)
        self.kept = b""
        self.ended: asyncio.Future[None] = server.peer.loop.create_future()

    def data_received(self, data: bytes) -> None:
        self.kept = (self.kept + data)[-TAIL:]

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        if not self.ended.done():
            self.ended.set_result(None)


class _Input(_End):
    """Its input. writable: set unless the server leaves much unread."""

    transport: asyncio.WriteTransport

    def __init__(self, server: Stdio) -> None:
        super().__init__(server)
        self.turn = asyncio.Lock()
        self.writable = asyncio.Event()
        self.writable.set()
        self.finished = False  # nothing can be written any more

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self.finished = True
        self.writable.set()
        self.server.lost()

    def close(self) -> None:
        """Closes it when what was written has been read."""
        if not self.finished:
            self.finished = True
            self.transport.close()
