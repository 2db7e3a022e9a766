"""What the people who run a server are told on stderr; clients are not told what went wrong inside."""

from __future__ import annotations

import sys
from contextlib import suppress

from sema_runtime.support.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def say(text: str) -> None:
    """Writes a line to stderr, if there is one."""
    with suppress(OSError, ValueError, AttributeError, RuntimeError):  # closed, absent, in the middle of a line
        print(f"{visible(text)}\n", end="", file=sys.stderr, flush=True)  # at once: Ctrl-C may come right behind


def report_request(scope: Any, error: BaseException) -> None:
    """Says that the handler of a request has failed, and where."""
    from sema_runtime.web.messages import path_of

    report(f"http/serve handler error: {scope.get('method', 'WebSocket')} {path_of(scope)}", error)


def report(what: str, error: BaseException) -> None:
    """Says what went wrong, and where."""
    from sema_runtime.conditions.describe import describe

    described = describe(error)
    lines = [f"{what}: {described.message}"]
    lines += [f"  at {frame.name} ({frame.file}:{frame.line}:{frame.col})" for frame in described.frames[:5]]
    say("\n".join(lines))
