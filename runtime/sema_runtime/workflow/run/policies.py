"""What a run needs of policies, which are a layer above it: their compiler is handed in when the run starts."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from contextlib import AbstractContextManager
    from typing import Any, Protocol

    from sema_runtime.values.errors import PolicyDenied

    class Policies(Protocol):
        """The compiled value of a `:policy` option."""

        def in_force(self, record: Callable[..., None]) -> AbstractContextManager[None]:
            """Checks calls in its body. record(event class, **fields) writes an event."""

        def denied_metadata(self, meta: Any) -> PolicyDenied | None:
            """The denial of a run whose meta map lacks what the policies require; None when it has all."""

        def missing_events(self, emitted: Collection[str], folder: str) -> str:
            """The error of a run without events that the policies require, "" when it has all. emitted: names of
            events. folder: of a resumed run, whose earlier events count too, else ""."""

    # (rules, whether they are those of a step) -> the compiled value of a `:policy` option. Raises SemaError.
    PolicyCompiler = Callable[[Any, bool], Policies]
