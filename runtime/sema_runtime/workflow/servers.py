"""MCP servers of a workflow."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.workflow.run import Run


def connect(run: Run) -> tuple[Any, str, str] | None:
    return None


def close(handles: list[str]) -> None:
    pass
