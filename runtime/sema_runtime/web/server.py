"""The server of `http/serve`: uvicorn on the loop of the program's tasks."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context

import uvicorn

from sema_runtime.tasks.hosted import HostedScheduler
from sema_runtime.tasks.interrupts import interrupt, is_unhandled
from sema_runtime.tasks.scheduler import scheduler
from sema_runtime.values.errors import IoError
from sema_runtime.web.app import Application
from sema_runtime.web.listening import listening_socket
from sema_runtime.web.protocol import Connection, SocketConnection, StallWatch
from sema_runtime.web.reports import say
from sema_runtime.web.request_tasks import RequestTasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

IN_USE = errno.EADDRINUSE
TRIES = 100  # ports that :port-fallback tries
BACKLOG = 2048


class Uvicorn(uvicorn.Server):
    """uvicorn's server without its signal handling; `stop` stops it at once, not at the next tick."""

    def __init__(self, config: uvicorn.Config, read_timeout: float) -> None:
        super().__init__(config)
        self.stopping = asyncio.Event()
        self.watch = StallWatch(read_timeout)

    def stop(self) -> None:
        self.should_exit = True
        self.stopping.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        while not await self.on_tick(0):  # sets the date header
            self.watch.check(self.server_state.connections)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.stopping.wait(), StallWatch.INTERVAL)


class Server:
    """A server for one call of `http/serve`. Times in seconds."""

    def __init__(
        self,
        handler: Callable[[Any], Any],
        listener: socket.socket,
        *,
        max_body: int,
        max_connections: int | None,
        read_timeout: float,
        grace: float,
        origins: frozenset[str] = frozenset(),
    ) -> None:
        self.tasks = scheduler()
        self.listener = listener
        self.failure: BaseException | None = None
        self.app = Application(
            handler,
            max_body=max_body,
            read_timeout=read_timeout,
            origins=origins,
            requests=RequestTasks(self.tasks, copy_context(), self.fail),
        )
        config = uvicorn.Config(
            self.app,
            http=Connection,
            ws=SocketConnection,
            ws_max_size=max_body,
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="critical",  # errors of handlers are reported by the application
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=None
            if max_connections is None
            else max_connections + 1,  # it counts the new connection too
            timeout_graceful_shutdown=grace,  # type: ignore[arg-type]
        )
        self.uvicorn = Uvicorn(config, read_timeout)

    def run(self) -> None:
        """Serves until `stop` is called, which grants requests time to finish, or the task is cancelled."""
        try:
            with stopped_by_signals(self):
                self.tasks.suspend(self.uvicorn.serve(sockets=[self.listener]))
        finally:
            self._abort()
        if self.failure is not None:
            raise self.failure

    def stop(self) -> None:
        """Ends the server, from any thread; requests under way get time to finish."""
        with suppress(RuntimeError):  # the loop is closed
            self.tasks.loop().call_soon_threadsafe(self.uvicorn.stop)

    def fail(self, error: BaseException) -> None:
        """Ends the server with an error."""
        self.failure = error
        self.uvicorn.force_exit = True
        self.uvicorn.stop()

    def _abort(self) -> None:
        """Closes open connections and cancels requests under way."""
        self.app.requests.cancel_all()
        for server in getattr(self.uvicorn, "servers", ()):
            server.close()
        self.listener.close()
        for connection in list(self.uvicorn.server_state.connections):
            connection.transport.abort()


# Sockets


def listen(host: str, port: int, tries: int) -> socket.socket:
    """Returns a socket that listens at the port, or at the first free one after it. Raises IoError without one."""
    last: OSError | None = None
    for candidate in range(port, min(port + tries, 65536)):
        try:
            return listening_socket(host, candidate, BACKLOG)
        except OSError as error:
            last = error
            if error.errno != IN_USE:
                break
    assert last is not None
    hint = "pass :port-fallback #t to take the next free port, or :port 0 for any" if last.errno == IN_USE else None
    raise IoError(f"http/serve: bind {host}:{port}: {last.strerror or last}", hint)


# Signals

_stoppable: set[Server] = set()  # servers that a signal stops
_replaced: dict[int, Any] = {}  # signal handlers to restore


@contextmanager
def stopped_by_signals(server: Server) -> Iterator[None]:
    """Inside, Ctrl-C and SIGTERM stop the server, if the program doesn't handle them; a second signal acts as usual.
    (An exception raised during the server's work would be lost, since uvicorn catches what applications raise.)"""
    if threading.current_thread() is not threading.main_thread() or isinstance(server.tasks, HostedScheduler):
        yield
        return
    for number, default in ((signal.SIGINT, interrupt), (signal.SIGTERM, signal.SIG_DFL)):
        if is_unhandled(number):
            signal.signal(number, _stop_all)
            _replaced[number] = default
    _stoppable.add(server)
    try:
        yield
    finally:
        _stoppable.discard(server)
        if not _stoppable:
            _restore()


def _restore() -> None:
    while _replaced:
        signal.signal(*_replaced.popitem())


def _stop_all(*_: Any) -> None:
    for server in _stoppable:
        server.stop()
    _restore()
    say("Stopping, requests that are going on may finish (Ctrl-C again to end at once)")
