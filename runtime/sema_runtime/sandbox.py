"""Entering the sandbox of `--sandbox` and `--allowed-paths`. It is no security boundary; see `capabilities`."""

from __future__ import annotations

from collections.abc import Iterable

from sema_runtime import capabilities, telemetry


def enter(groups: Iterable[str] = (), paths: Iterable[str] | None = None, allow: Iterable[str] = ()) -> None:
    """Denies capability groups, and files outside of paths, for the rest of the process.

    The arguments are those of `capabilities.restrict`. Traces go where the environment says now: a program that changes
    the environment later can't send them elsewhere.
    """
    capabilities.restrict(groups, paths, allow)
    telemetry.tracer()
