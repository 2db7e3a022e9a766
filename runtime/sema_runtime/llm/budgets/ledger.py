"""The usage ledger: one line for every call to a model, in SEMA_HOME/usage/YYYY-MM.jsonl; `sema usage` sums it up.

Lines hold counts, never texts. SEMA_USAGE=off switches the ledger off. Unpriced calls of a provider written in Sema are
left out: most of them are tests.
"""

from __future__ import annotations

import json
import os
import sys
from functools import cache
from time import strftime

from sema_runtime.llm.messages import Usage
from sema_runtime.support.home import in_home
from sema_runtime.support.private_files import FILE_MODE, make_folders
from sema_runtime.systems import O_CLOEXEC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.llm.calls import Call

OFF = frozenset(("off", "0", "false", "no"))


class Ledger:
    """Observes calls and writes each one when it ends. If the ledger can't be written, it silently stops, because it
    must not disturb a program. The file stays open; each line is one write at its end, so lines of several processes
    don't mix."""

    def __init__(self) -> None:
        self.broken = False
        self._path = ""
        self._file = -1

    def started(self, call: Call) -> None:
        pass

    def ended(self, call: Call) -> None:
        if self.broken or not _counts(call) or os.environ.get("SEMA_USAGE", "").lower() in OFF:
            return
        try:
            line = json.dumps(line_of(call), ensure_ascii=False) + "\n"
            os.write(self._opened(), line.encode("utf-8", "replace"))
        except OSError:
            self.broken = True

    def _opened(self) -> int:
        """Returns this month's file, open for appending."""
        path = in_home("usage", strftime("%Y-%m.jsonl"))
        if path != self._path:
            make_folders(os.path.dirname(path))
            fresh = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | O_CLOEXEC, FILE_MODE)
            if self._path:
                os.close(self._file)
            self._path, self._file = path, fresh
        return self._file


def _counts(call: Call) -> bool:
    if not (call.attempts or call.cached or call.replayed):
        return False  # the call was refused before it began
    from sema_runtime.llm.providers import registry

    provider = registry().providers.get(call.provider)
    return provider is None or provider.wire != "sema" or bool(call.cost_usd)


def line_of(call: Call) -> dict[str, Any]:
    """Returns the line of a call. at: seconds since 1970. cost_usd: null for an unknown price. error: its class."""
    used = call.usage or Usage()
    return {
        "at": round(call.started / 1e9, 3),
        "script": script(sys.argv[0] if sys.argv else ""),
        "operation": call.operation,
        "provider": call.provider,
        "model": call.model,
        "prompt_tokens": used.prompt,
        "completion_tokens": used.completion,
        "cache_read_tokens": used.cache_read,
        "cache_creation_tokens": used.cache_creation,
        "cost_usd": call.cost_usd,
        "estimated": call.estimated,
        "cached": call.cached,
        "replayed": call.replayed,
        "attempts": len(call.attempts),
        "ms": (call.ended - call.started) // 1_000_000,
        "error": None if call.error is None else type(call.error).__name__,
    }


@cache
def script(name: str) -> str:
    """Returns the path of a program named in sys.argv, or `sema` for the REPL and expressions."""
    return os.path.abspath(name) if os.path.exists(name) else os.path.basename(name) or "sema"
