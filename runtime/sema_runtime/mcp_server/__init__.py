"""MCP servers of Sema programs. `serve_program` serves the tools of a program; `sema mcp` adds those of the compiler.

A server never runs a program in its own process: `worker` does, and `program` asks it, stops calls and starts it again.
Needs the extra `mcp`, but not the compiler.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

WORKER = "SEMA_MCP_WORKER"  # set for the process that runs the program


def serve_program(
    load: Callable[[], Mapping[str, Any]],
    name: str,
    version: str = "",
    include: tuple[str, ...] = (),
    exclude: tuple[str, ...] = (),
    timeout_ms: int = 300_000,
) -> int:
    """Serve the deftools of a loaded program over stdio until the client leaves; returns the exit status.

    load: runs the program and returns its global variables. It is called in another process, started with the command
    line of this one, which must therefore come here again: the program may exit, crash or loop without ending the
    server. include, exclude: names of tools or patterns, () for all. timeout_ms: for each call, 0 for no limit.

        def main() -> int:
            if "--mcp" in sys.argv:
                return serve_program(lambda: vars(import_module("program")), "program")
            ...
    """
    if os.environ.pop(WORKER, None):
        from sema_runtime.mcp_server.worker import serve

        serve(lambda _: _operations(load()))
    try:
        from sema_runtime.mcp_server import transports
        from sema_runtime.mcp_server.exposed import Choice
        from sema_runtime.mcp_server.program import LoadError, Program, to_stderr

        program = Program(own_command(), {}, to_stderr, {**os.environ, WORKER: "1"})
    except ImportError as missing:
        print(f"Error: serving tools needs the package mcp ({missing})\n  hint: pip install mcp", file=sys.stderr)
        return 1

    async def run() -> int:
        await program.spawn()
        from sema_runtime.mcp_server.program_tools import offered
        from sema_runtime.mcp_server.server import Offered, Service, make_server

        async def tools() -> list[Offered]:
            return offered(program, timeout_ms)

        service = Service(tools, Choice(include or None, exclude))
        try:
            await program.start(timeout_ms / 1000 or None)
            await transports.serve_stdio(make_server(service, name, version, ""))
        except LoadError as error:
            print(f"Error: loading {name}: {error}", file=sys.stderr)
            return 1
        finally:
            await program.close()
        return 0

    return transports.run(run)


def _operations(namespace: Mapping[str, Any]) -> Any:
    from sema_runtime.mcp_server.arguments import called
    from sema_runtime.mcp_server.exposed import described, exposed
    from sema_runtime.mcp_server.worker import Operations

    def call(question: dict[str, Any]) -> dict[str, Any]:
        return called(exposed(list(namespace.values()))[question["tool"]], question["arguments"])

    return Operations({"call": call}, listing=lambda: described(exposed(list(namespace.values()))))


def own_command() -> list[str]:
    """The command line of this process."""
    if getattr(sys, "frozen", False):
        return [sys.executable, *sys.argv[1:]]
    return [sys.executable, *sys.orig_argv[1:]]
