"""Runs the server of `sema mcp` until its client leaves."""

from __future__ import annotations

import os
import sys
from typing import Any

from sema_runtime.mcp_server import transports
from sema_runtime.mcp_server.exposed import Choice
from sema_runtime.mcp_server.program import LoadError
from sema_runtime.support.visible import tell
from sema_runtime.values.errors import SemaError
from semac.cli.common import failed
from semac.mcp_server.setup import Setup, new_program
from semac.mcp_server.workflow_files import workflow_in

TOKEN = "SEMA_MCP_TOKEN"
STDIO = "Sema MCP server on stdio"
STDIO_TERMINAL = f"{STDIO}: it waits for a client, which usually starts it; Ctrl-D ends it, sema mcp --help tells more"


def run(files: tuple[str, ...], timeout_ms: int, sandbox: dict[str, str], options: dict[str, Any]) -> int:
    """Serves; the exit status. sandbox: options of it by name, such as --sandbox."""
    from semac.cli.box_server import host_and_port, token_of

    address = None
    if options["address"] is not None:
        host, port = host_and_port(options["address"])
        token = token_of(options["token_file"]) if options["token_file"] else os.environ.get(TOKEN) or None
        address = transports.Address(host, port, token, options["hosts"])
        try:
            transports.check_token(host, token)
        except SemaError as error:
            return refused(error)
    found = [(path, workflow_in(path)) for path in files]
    programs = [path for path, tool in found if tool is None]
    workflows = [(path, tool) for path, tool in found if tool is not None]
    setup = Setup(programs, workflows, Choice(options["include"] or None, options["exclude"]), timeout_ms, sandbox)

    async def serve() -> int:
        program = new_program(setup, programs)
        await program.spawn()
        from semac.mcp_server.service import SemaService  # takes a second, in which the program is loaded

        service = SemaService(setup, program)
        try:
            await service.start()
            if address is None:
                print(STDIO_TERMINAL if sys.stdin.isatty() else STDIO, file=sys.stderr, flush=True)
                await transports.serve_stdio(service.server)
            else:
                await transports.serve_http(service.application, address, announce)
        except LoadError as error:
            return failed(f"loading {', '.join(programs) or 'the program'}: {error}")
        finally:
            await service.close()
            await program.close()
        return 0

    try:
        return transports.run(serve)
    except SemaError as error:
        return refused(error)


def refused(error: SemaError) -> int:
    tell(f"Error: {error.message}" + (f"\n  hint: {error.hint}" if error.hint else ""))
    return 1


def announce(url: str) -> None:
    print(f"Sema MCP server at {url}", file=sys.stderr, flush=True)
