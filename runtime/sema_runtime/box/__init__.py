"""The box: programs that nobody trusts, each in a hardened process of its own, with limits that hold.

    from sema_runtime.box import Limits, Pool
    with Pool() as pool:
        outcome = pool.run("(+ 1 2)", limits=Limits(wall_ms=500))

`Pool.run` never raises for what a program does: the `Outcome` says it. The compiler (package semac) must be installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sema_runtime.box.calls import Quota as Quota
    from sema_runtime.box.limits import Limits as Limits
    from sema_runtime.box.openapi import openapi_tools as openapi_tools
    from sema_runtime.box.outcome import Outcome as Outcome
    from sema_runtime.box.pool import Pool as Pool
    from sema_runtime.box.pool import Session as Session
    from sema_runtime.box.probe import Unprotected as Unprotected
    from sema_runtime.box.probe import UnprotectedWarning as UnprotectedWarning
    from sema_runtime.box.toolbox import ToolGrant as ToolGrant

__all__ = [
    "Limits", "Outcome", "Pool", "Quota", "Session", "ToolGrant", "Unprotected", "UnprotectedWarning", "openapi_tools",
]  # fmt: skip
HOMES = {
    "Quota": "calls", "Limits": "limits", "openapi_tools": "openapi", "Outcome": "outcome", "Pool": "pool",
    "Session": "pool", "Unprotected": "probe", "UnprotectedWarning": "probe", "ToolGrant": "toolbox",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Loads what is asked for alone: the processes that run programs need little of it and share their memory."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *HOMES})
