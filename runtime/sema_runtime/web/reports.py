"""Reports for the operators of a server, on stderr; clients don't see internal errors."""

from __future__ import annotations

import sys
from contextlib import suppress

from sema_runtime.support.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def say(text: str) -> None:
    """Writes a line to stderr, if there is one."""
    with suppress(
        OSError, ValueError, AttributeError, RuntimeError
    ):  # stderr is closed, absent, or interrupted in a line
        print(f"{visible(text)}\n", end="", file=sys.stderr, flush=True)  # immediately: Ctrl-C may follow


def report_request(scope: Any, error: BaseException) -> None:
    """Reports that the handler of a request failed, and where."""
    from sema_runtime.web.messages import path_of

    report(f"http/serve handler error: {scope.get('method', 'WebSocket')} {path_of(scope)}", error)


def report(what: str, error: BaseException) -> None:
    """Reports an error and its place."""
    from sema_runtime.conditions.describe import describe

    described = describe(error)
    lines = [f"{what}: {described.message}"]
    lines += [f"  at {frame.name} ({frame.file}:{frame.line}:{frame.col})" for frame in described.frames[:5]]
    say("\n".join(lines))
