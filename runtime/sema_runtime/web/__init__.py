"""Sema handlers as web applications: an ASGI application, and the server of `http/serve`, which runs one in uvicorn."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sema_runtime.web.app import Application

MAX_BODY = 16 * 1024 * 1024
READ_TIMEOUT = 30.0


def asgi_app(
    handler: Callable[[Any], Any], *, max_body: int = MAX_BODY, read_timeout: float = READ_TIMEOUT
) -> Application:
    """An ASGI application that answers with a Sema handler, for any ASGI server or framework.

    handler: a function from request map to response map, as `http/router` makes them. max_body: bytes a request's body
    may have (413 above). read_timeout: seconds a client may pause while it sends the body (408).
    """
    from sema_runtime.web.app import Application

    return Application(handler, max_body=max_body, read_timeout=read_timeout)
