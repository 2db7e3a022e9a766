"""`PROGRAM --mcp`: a built program that serves its tools to MCP clients."""

from __future__ import annotations


def serve(path: str, digest: str, arguments: list[str]) -> int:
    """Serves the deftools of the program at path over stdio; the exit status."""
    from sema_runtime.support.visible import tell

    tell("Error: --mcp: this version of semac can't serve the tools of a program")
    return 1
