"""Types of ASGI, and sending an ordinary response."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from sema_runtime.web.messages import Headers

    Scope = dict[str, Any]
    Receive = Callable[[], Awaitable[Any]]
    Send = Callable[[Any], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]


async def send_parts(send: Send, status: int, headers: Headers, data: bytes) -> None:
    """Sends a response whose parts are known."""
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": data})
