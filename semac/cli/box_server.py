"""`sema mcp --box`: the box as an MCP server."""

from __future__ import annotations

import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import click

from semac.cli.box.options import granted_options, limit_options, named_data, opened, tools_of

TOKEN = "SEMA_BOX_TOKEN"


def main(args: list[str]) -> int:
    """Runs `sema mcp --box ARGS` and returns the exit status."""
    from semac.cli.common import standalone

    return standalone(serve, args)


@click.command("sema mcp --box", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--http", "address", metavar="[HOST:]PORT", help="Serve Streamable HTTP there; without, stdio.")
@click.option("--token-file", metavar="FILE", help=f"The bearer token of clients, 32 characters or more; or {TOKEN}.")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME[:PORT]", help="A name that clients reach it by.")
@granted_options
@limit_options
def serve(
    address: str | None,
    token_file: str | None,
    hosts: tuple[str, ...],
    data: tuple[str, ...],
    tools: tuple[str, ...],
    limits: tuple[str, ...],
    allow_missing_layers: bool,
) -> int:
    """Serve programs in the box to MCP clients: lisp_eval, sessions, lisp_debug. Tools run in this process."""
    import asyncio

    from sema_runtime.values.errors import SemaError

    try:
        from sema_runtime.box.serve.mcp_server import make_server
    except ImportError:
        raise SemaError("sema mcp --box needs the package mcp", "pip install 'semac[mcp]'") from None
    from sema_runtime.box.serve.service import Service

    with opened(limits, allow_missing_layers) as pool:
        granted = [tool for file in tools for tool in tools_of(file)]
        service = Service(pool, dict(map(named_data, data)), granted)
        server = make_server(service)
        try:
            if address is None:
                asyncio.run(until_nobody_reads(server.run_stdio_async()))
            else:
                from sema_runtime.box.serve import http
                from sema_runtime.mcp_server.transports import Address

                place = Address(*host_and_port(address), token_of(token_file), hosts)
                asyncio.run(http.serve(server, pool, place, announce))
        except KeyboardInterrupt:
            return 130
        finally:
            service.close()
    return 0


async def until_nobody_reads(serving: Coroutine[Any, Any, None]) -> None:
    """Serves over stdio until the client is gone, also where it leaves in the middle of a request."""
    try:
        await serving
    except* BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - what is left to write


def announce(url: str) -> None:
    print(f"serving {url}", file=sys.stderr, flush=True)


def host_and_port(address: str) -> tuple[str, int]:
    """[HOST:]PORT as both. Raises a usage error."""
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > 65_535:
        raise click.UsageError(f"--http: expected [HOST:]PORT, got {address!r}")
    return host.strip("[]") or "127.0.0.1", int(port)


def token_of(path: str | None) -> str | None:
    """The token of clients. Raises SemaError for a file that can't be read."""
    from sema_runtime.values.errors import SemaError

    if path is None:
        return os.environ.get(TOKEN) or None
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as problem:
        raise SemaError(f"--token-file: {problem.strerror}: {path}") from None
