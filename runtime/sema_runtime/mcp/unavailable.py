"""An MCP server that is never connected to; it has no tools."""

from __future__ import annotations

from sema_runtime.mcp.client import Remote
from sema_runtime.mcp.protocol import Failure
from sema_runtime.mcp.servers import Server, add

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def unavailable(why: str) -> str:
    """Returns the handle of such a server. why: the message of its failing calls."""
    return add(UnavailableServer(why))


class UnavailableServer(Server):
    def __init__(self, why: str) -> None:
        super().__init__(Remote("http://unavailable.invalid/"), None, 0)
        self.why = why

    def tools(self) -> list[dict[str, Any]]:
        return []

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        raise Failure(self.why)
