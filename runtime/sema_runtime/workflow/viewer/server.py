"""The viewer's server: uvicorn in a thread of its own, for `sema workflow view` and beside a run."""

from __future__ import annotations

import threading

from sema_runtime.support.missing_packages import package_missing
from sema_runtime.tasks.limits import LONGEST_WAIT
from sema_runtime.values.errors import SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    import socket
    from pathlib import Path
    from typing import Any

GRACE = 1  # seconds that requests have to finish when the server stops
BACKLOG = 128


class Viewer:
    """A viewer of the runs below a folder. port 0: any free one. Neither runs nor the folder need be there yet.
    signing_key: with which approvals are decided in the page, in the name of actor; then only loopback will do."""

    def __init__(
        self,
        root: Path,
        host: str = "127.0.0.1",
        port: int = 8899,
        *,
        signing_key: Any = None,
        actor: str | None = None,
    ) -> None:
        self.root = root.absolute()  # whatever directory the program goes to
        self.signing_key = signing_key
        self.actor = actor
        self.host = host
        self.port = port
        self.listener: socket.socket | None = None
        self.thread: threading.Thread | None = None
        self.ended = threading.Event()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.server: Any = None
        self.app: Any = None

    @property
    def url(self) -> str:
        """`http://127.0.0.1:8899`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether it listens where only this machine reaches it: at a loopback address, whatever the host is called."""
        from sema_runtime.workflow.viewer.guard import is_loopback

        return self.listener is not None and is_loopback(self.listener.getsockname()[0])

    def url_of(self, run: str) -> str:
        """The page with one run open."""
        from urllib.parse import quote

        return f"{self.url}/?run={quote(run, safe='')}"

    def start(self) -> None:
        """Listens, and serves until `stop`. Raises SemaError when the port can't be had or the extra is missing."""
        try:
            import httptools  # noqa: F401
            import uvicorn
        except ImportError as error:
            raise package_missing("the workflow viewer", error.name or "uvicorn", "web") from None
        from sema_runtime.workflow.viewer.app import Application
        from sema_runtime.workflow.viewer.decisions import Decisions

        self.listener = bound(self.host, self.port)
        if self.signing_key is not None and not self.is_local:
            self.listener.close()
            raise SemaError(f"a viewer that decides about approvals listens on loopback only, not at {self.host}")
        self.port = self.listener.getsockname()[1]
        self.app = Application(self.root, self.host, Decisions(self.signing_key, self.actor))
        config = uvicorn.Config(
            self.app,
            http="httptools",
            ws="none",
            loop="asyncio",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE,
        )
        self.server = uvicorn.Server(config)
        started = threading.Event()
        self.thread = threading.Thread(target=self._serve, args=(started,), name="workflow viewer", daemon=True)
        self.thread.start()
        started.wait()

    def _serve(self, started: threading.Event) -> None:
        import asyncio

        async def serve() -> None:
            self.loop = asyncio.get_running_loop()
            started.set()
            await self.server.serve(sockets=[self.listener])

        try:
            asyncio.run(serve())
        finally:
            started.set()
            self.ended.set()

    def wait(self) -> None:
        """Until the server has ended: for the main thread, which Ctrl-C ends with KeyboardInterrupt."""
        while not self.ended.wait(LONGEST_WAIT):
            pass

    def stop(self) -> None:
        """Ends the server; streams are closed."""
        if self.thread is None or self.loop is None:
            return

        def end() -> None:
            self.app.stopping.set()
            self.server.should_exit = True

        if not self.ended.is_set():
            self.loop.call_soon_threadsafe(end)
        self.thread.join(GRACE + 4)
        if self.listener is not None:
            self.listener.close()

    def open_browser(self, run: str | None = None) -> None:
        """Opens the page, where there is a browser."""
        import webbrowser

        try:
            webbrowser.open(self.url if run is None else self.url_of(run))
        except (OSError, webbrowser.Error):
            return


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises SemaError when there can be none."""
    from sema_runtime.web.listening import listening_socket

    try:
        return listening_socket(host, port, BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SemaError(
            f"cannot listen at {host}:{port}: {reason}", "choose another port with -p, or -p 0 for any"
        ) from None
