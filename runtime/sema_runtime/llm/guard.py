"""What stands between a program and the models and tools it uses while a policy is in force: see workflow/policy.

The layers of a call ask `current` once; it is None where no policy is in force.
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
        """Every function raises PolicyDenied for what is not allowed."""

        key: bytes
        """Of the policies in force: a part of the keys of caches and tapes."""

        def complete(self, request: Request, ask: Callable[[Request], Reply]) -> Reply:
            """The reply to a request that may be made, as far as the program may see it."""
            ...

        def stream(
            self,
            request: Request,
            on_chunk: Callable[[str], Any],
            ask: Callable[[Request, Callable[[str], Any]], Reply],
        ) -> Reply:
            """The same for a stream; pieces are held back when the reply must be read first."""
            ...

        def target(self, provider: str, model: str) -> None:
            """Checks who is about to be asked."""
            ...

        def request(self, provider: str, model: str, request: Request) -> Request:
            """The request as it may be sent to that model."""
            ...

        def reply_text(self, call: Call) -> str:
            """The text of an answered call as the program may see it."""
            ...

        def texts(self, provider: str, model: str, texts: list[str]) -> list[str]:
            """The texts that may be sent to be embedded or ranked. provider: "" when nobody is configured."""
            ...

        def last_text(self, request: Request, text: str) -> str:
            """The text with which a tool loop ends that has used up its rounds."""
            ...

        def tool_calls(self, calls: Sequence[ToolCall], tools: dict[str, Tool]) -> dict[int, PolicyDenied]:
            """Of the calls of one turn, those that are answered with their denial, by the id() of the call."""
            ...

        def invoke(self, tool: Tool, arguments: Any) -> None:
            """Checks a call that the program makes itself."""
            ...


current: ContextVar[Guard | None] = ContextVar("guard", default=None)


def key() -> bytes:
    """A part of keys, empty without a policy."""
    guard = current.get()
    return b"" if guard is None else guard.key
