"""What a run needs from layers above it, handed in when it starts: policies and connections to MCP servers."""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from contextlib import AbstractContextManager
    from typing import Any, Protocol

    from sema_runtime.mcp.access import Access
    from sema_runtime.values.errors import PolicyDenied
    from sema_runtime.values.maps import Map

    class Policies(Protocol):
        """The compiled value of a `:policy` option."""

        def in_force(self, record: Callable[..., None]) -> AbstractContextManager[None]:
            """Checks calls in its body. record(event class, **fields) writes an event."""

        def denied_metadata(self, meta: Any) -> PolicyDenied | None:
            """The denial of a run whose meta map lacks what the policies require; None when it has all."""

        def missing_events(self, emitted: Collection[str], folder: str) -> str:
            """The error of a run without events that the policies require, "" when it has all. emitted: names of
            events. folder: of a resumed run, whose earlier events count too, else ""."""


@dataclass(frozen=True, slots=True)
class Services:
    """policies(rules, is_step): compiles a `:policy` option. connect(config, access): connects to an MCP server and
    returns its handle; disconnect(handle) ends the connection. All raise SemaError."""

    policies: Callable[[Any, bool], Policies]
    connect: Callable[[Map, Access | None], str]
    disconnect: Callable[[str], object]
