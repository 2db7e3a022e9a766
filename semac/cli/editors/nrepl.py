"""`sema nrepl`: a server for editors."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from semac.cli.common import SETTINGS, failed, standalone

if TYPE_CHECKING:
    from types import FrameType

PORT_FILE = Path(".nrepl-port")
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def main(args: list[str]) -> int:
    """Runs `sema nrepl ARGS` and returns the exit status."""
    return standalone(nrepl_command, args)


@click.command("sema nrepl", context_settings=SETTINGS)
@click.option("-p", "--port", type=click.IntRange(0, 65535), default=0, help="Port to listen at. [a free one]")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--no-port-file", is_flag=True, help="Write no .nrepl-port.")
def nrepl_command(port: int, host: str, no_port_file: bool) -> int:
    """Start an nREPL server, for Calva, CIDER, Conjure and other editors.

    The port is printed and written to .nrepl-port in the current folder, where editors look for it. Ctrl-C ends the
    server. Any program that reaches the port can run code as you; put --sandbox before the command to deny
    capabilities.
    """
    from semac.nrepl.server import Server

    try:
        server = Server(host, port)
    except OSError as error:
        problem = (error.strerror or str(error)).partition(" (")[0]
        return failed(f"cannot listen at {host}:{port}: {problem}; choose another --port, or 0 for a free one")
    host, port = server.address
    if host not in LOOPBACK:
        click.echo(f"Warning: {host} is reachable from other machines, and clients run any program", err=True)

    def terminate(_: int, __: FrameType | None) -> None:
        server.evaluator.stopping = True
        raise SystemExit(143)

    signal.signal(signal.SIGTERM, terminate)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what runs in the background
    written = False
    try:
        written = not no_port_file and _write_port(port)
        click.echo(f"nREPL server started on port {port} on host {host} - nrepl://{host}:{port}")
        server.run()
    except KeyboardInterrupt:
        click.echo("Stopped")
    finally:
        if written:
            _remove_port(port)
    return 0


def _write_port(port: int) -> bool:
    """Writes the port file, unless it names another server that runs. Returns whether it was written."""
    other = _port_in_file()
    if other is not None and other != port and _listens(other):
        click.echo(f"Warning: {PORT_FILE} names the server at port {other}, which is running; it stays", err=True)
        return False
    try:
        PORT_FILE.write_text(str(port))
    except OSError as error:
        click.echo(f"Warning: cannot write {PORT_FILE}: {error.strerror}", err=True)
        return False
    return True


def _port_in_file() -> int | None:
    try:
        text = PORT_FILE.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None
    return int(text) if text.isdecimal() and len(text) <= 5 else None


def _listens(port: int) -> bool:
    """Whether something accepts connections at a local port."""
    import socket

    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except (OSError, OverflowError):
        return False
    return True


def _remove_port(port: int) -> None:
    """Removes the port file if it is still that of this server."""
    if _port_in_file() == port:
        os.remove(PORT_FILE)
