"""A server that is a separate program: messages are lines of its standard input and output.

Its error output is kept apart from the program's; the last lines are shown if the server dies. `mcp/close` ends it, and
so does the end of the program, by itself, by Ctrl-C or by a signal: first its input is closed; if that is not enough,
it and its children get SIGTERM, then SIGKILL.
"""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import suppress

from sema_runtime.mcp.protocol import MAX_BYTES, Failure, encoded
from sema_runtime.support import terminal_state
from sema_runtime.support.secrets import redacted
from sema_runtime.systems import KILL, signal_group
from sema_runtime.tasks import children

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from subprocess import Popen

    from sema_runtime.mcp.protocol import Message, Peer

GRACE = 1.0  # seconds for the server to end by itself, and again after SIGTERM
POLL = 0.01  # seconds
TAIL = 4096  # last bytes of its error output, which are kept
SHOWN_LINES = 8


class Stdio:
    """The connection to a started server. secrets: values to hide in messages."""

    answers_while_sending = False

    def __init__(self, peer: Peer, process: Popen[bytes], secrets: Sequence[str]) -> None:
        self.peer = peer
        self.process = process
        self.secrets = secrets
        self.output = _Output(self)
        self.errors = _Errors(self)
        self.input = _Input(self)
        self.dying: asyncio.Task[None] | None = None  # set when the server closed the connection
        self.closing: asyncio.Task[None] | None = None  # set when the client closes it
        self.over = False  # the program ends
        self.held = terminal_state.hold(self.end_now)

    @classmethod
    async def started(cls, peer: Peer, argv: list[str], settings: children.Settings, secrets: Sequence[str]) -> Stdio:
        """Starts a server. Raises Failure."""
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
        """Does nothing: this transport does not depend on the version."""

    async def send(self, message: Message) -> None:
        """Writes one line; waits while the server leaves many bytes unread."""
        if not self.input.finished:
            async with self.input.turn:  # so the buffer holds one message of a server that doesn't read, not all
                await self.input.writable.wait()
                if not self.input.finished:
                    self.input.transport.write(encoded(message) + b"\n")
                    await self.input.writable.wait()
        elif self.dying is not None:
            await asyncio.shield(self.dying)  # so that the reason is known

    # The end of the server

    def lost(self) -> None:
        """Called when the server has closed one of its pipes: the conversation is over."""
        if self.dying is None and self.closing is None and not self.over:
            self.dying = self.peer.loop.create_task(self._died())

    async def _died(self) -> None:
        """Fails waiting requests, with the reason as far as it is known."""
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
        """Ends the server; continues even if the waiting task is cancelled."""
        if self.closing is None:
            self.closing = self.peer.loop.create_task(self._end())
        await asyncio.shield(self.closing)

    async def _end(self) -> None:
        self.input.close()
        for number in (signal.SIGTERM, KILL):
            if await self._ends_within(GRACE):
                break
            self._signal(number)
        await self._ends_within(GRACE)
        for end in (self.input, self.output, self.errors):
            end.drop()
        terminal_state.release(self.held)

    async def _ends_within(self, limit: float) -> bool:
        deadline = time.monotonic() + limit
        while self.process.poll() is None:
            if time.monotonic() >= deadline:
                return False
            await asyncio.sleep(POLL)
        return True

    def end_now(self) -> None:
        """Ends the server when the program ends and its loop has stopped."""
        self.over = True
        if self.process.poll() is not None:
            return
        stdin = self.process.stdin
        if stdin is not None:
            with suppress(OSError):
                stdin.close()
        for number in (signal.SIGTERM, KILL):
            deadline = time.monotonic() + GRACE
            while time.monotonic() < deadline:
                if self.process.poll() is not None:
                    return
                time.sleep(POLL)
            self._signal(number)
        self.process.wait()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):  # it has just ended
            signal_group(self.process, number)


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
        """Closes the pipe immediately."""
        if self.closed or self.transport is None:
            return
        if isinstance(self.transport, asyncio.WriteTransport):
            if not self.transport.is_closing() or self.transport.get_write_buffer_size():
                self.transport.abort()  # a second abort would make asyncio close it twice
        else:
            self.transport.close()


class _Output(_End, asyncio.Protocol):
    """The server's output: each line is a message. Other lines, such as banners, are skipped."""

    def __init__(self, server: Stdio) -> None:
        super().__init__(server)
        self.unfinished = bytearray()  # an incomplete line
        self.ignored = False  # after too long a message

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
    """The server's error output, whose end is kept. ended: done at its end."""

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
    """The server's input. writable: set unless the server leaves many bytes unread."""

    transport: asyncio.WriteTransport

    def __init__(self, server: Stdio) -> None:
        super().__init__(server)
        self.turn = asyncio.Lock()
        self.writable = asyncio.Event()
        self.writable.set()
        self.finished = False  # closed for writing

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
        """Closes the pipe once the server has read what was written."""
        if not self.finished:
            self.finished = True
            self.transport.close()
