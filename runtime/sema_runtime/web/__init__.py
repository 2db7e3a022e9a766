"""Sema handlers as web applications: an ASGI application, and the server of `http/serve`, which runs one in uvicorn."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from sema_runtime.web.app import Application

__all__ = ["asgi_app"]

MAX_BODY = 16 * 1024 * 1024
READ_TIMEOUT = 30.0


def asgi_app(
    handler: Callable[[Any], Any],
    *,
    max_body: int = MAX_BODY,
    read_timeout: float = READ_TIMEOUT,
    origins: Iterable[str] = (),
) -> Application:
    """Returns an ASGI application that answers with a Sema handler, for any ASGI server or framework.

    handler: a function from request map to response map, such as `http/router` returns. max_body: the most bytes of a
    request's body (413 above). read_timeout: seconds that a client may pause while it sends the body, and that the
    whole body may take, plus a second for each KiB (408). origins: of pages that may open WebSockets besides those of
    the same host and port, such as `https://app.example.com`; `*` for all.
    """
    from sema_runtime.web.app import Application
    from sema_runtime.web.origins import normal

    allowed = frozenset(normal(origin) for origin in origins)
    return Application(handler, max_body=max_body, read_timeout=read_timeout, origins=allowed)
