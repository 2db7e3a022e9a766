"""The guard: what checks a program's calls to models and tools while a policy is in force (workflow/policy).

The layers of a call read `current` once; it is None where no policy is in force.
"""

from __future__ import annotations

from contextvars import ContextVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Protocol

    from sema_runtime.llm.calls import Call
    from sema_runtime.llm.messages import Reply, Request, ToolCall
    from sema_runtime.llm.tools.tool import Tool
    from sema_runtime.values.errors import PolicyDenied

    class Guard(Protocol):
        """Every method raises PolicyDenied for what is not allowed."""

        key: bytes
        """Of the policies in force: a part of the keys of caches and cassettes."""

        def complete(self, request: Request, ask: Callable[[Request], Reply]) -> Reply:
            """Returns the reply to an allowed request, as far as the program may see it."""
            ...

        def stream(
            self,
            request: Request,
            on_chunk: Callable[[str], Any],
            ask: Callable[[Request, Callable[[str], Any]], Reply],
        ) -> Reply:
            """As `complete` for a stream; pieces are held back if the whole reply must be checked first."""
            ...

        def target(self, provider: str, model: str) -> None:
            """Checks the provider and model that are about to be asked."""
            ...

        def request(self, provider: str, model: str, request: Request) -> Request:
            """Returns the request as it may be sent to that model."""
            ...

        def reply_text(self, call: Call) -> str:
            """Returns the text of an answered call as the program may see it."""
            ...

        def texts(self, provider: str, model: str, texts: list[str]) -> list[str]:
            """Returns the texts that may be embedded or ranked. provider: "" when none is configured."""
            ...

        def last_text(self, request: Request, text: str) -> str:
            """Returns the last text of a tool loop whose rounds ran out."""
            ...

        def tool_calls(self, calls: Sequence[ToolCall], tools: dict[str, Tool]) -> dict[int, PolicyDenied]:
            """Returns the denials of one turn's calls, by the id() of the call."""
            ...

        def invoke(self, tool: Tool, arguments: Any) -> None:
            """Checks a tool call that the program makes itself."""
            ...


current: ContextVar[Guard | None] = ContextVar("guard", default=None)


def key() -> bytes:
    """Returns the policies' part of keys, empty without a policy."""
    guard = current.get()
    return b"" if guard is None else guard.key
