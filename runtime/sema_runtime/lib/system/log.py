"""Log lines on stderr: `[INFO] message`, followed by the context (`context/with`), when there is one."""

from __future__ import annotations

import sys

from sema_runtime.catalogue import builtin
from sema_runtime.values.printer import display, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _write(level: str, values: tuple[Any, ...]) -> None:
    from sema_runtime.lib.language.context import context_all

    context = context_all()
    line = f"[{level}] {' '.join(map(display, values))}"
    print(f"{line} {to_text(context)}" if len(context) else line, file=sys.stderr)


@builtin("log/debug", type="any, any... -> nil")
def log_debug(value: Any, *more: Any) -> None:
    """Writes a debug line to stderr.

    (log/debug "cache miss" {:key "k"})
    """
    _write("DEBUG", (value, *more))


@builtin("log/info", type="any, any... -> nil")
def log_info(value: Any, *more: Any) -> None:
    """Writes an information line to stderr.

    (log/info "started" {:port 8080})
    """
    _write("INFO", (value, *more))


@builtin("log/warn", type="any, any... -> nil")
def log_warn(value: Any, *more: Any) -> None:
    """Writes a warning line to stderr.

    (log/warn "slow answer" {:ms 5000})
    """
    _write("WARN", (value, *more))


@builtin("log/error", type="any, any... -> nil")
def log_error(value: Any, *more: Any) -> None:
    """Writes an error line to stderr.

    (log/error "no connection" {:host "example.com"})
    """
    _write("ERROR", (value, *more))
