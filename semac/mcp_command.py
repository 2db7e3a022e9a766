"""`sema mcp`: logging in to servers of the Model Context Protocol that programs connect to."""

from __future__ import annotations

import sys
import time
from typing import Any

import click

EXISTING = """Programs are clients of MCP servers: (mcp/connect {...}). For servers that want a login there are

  sema mcp login URL [--device] [--client-id ID] [--token TOKEN [--expires-in SECONDS]]
  sema mcp logout URL
  sema mcp list

Serving the tools of a program (sema mcp FILES) is not available yet."""
NO_SERVER = "serving the tools of a program (sema mcp {}) is not available yet; there are login, logout and list"


def main(args: list[str]) -> int:
    """Runs `sema mcp ARGS`; the exit status."""
    from semac.cli import standalone

    if args and not args[0].startswith("-") and args[0] not in commands.commands:
        print(f"Error: {NO_SERVER.format(args[0])}", file=sys.stderr)
        return 2
    return standalone(commands, args, [], "sema mcp")


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.pass_context
def commands(context: click.Context) -> None:
    """Log in to MCP servers, log out, list them."""
    if context.invoked_subcommand is None:
        click.echo(EXISTING)


@commands.command()
@click.argument("url")
@click.option("--device", is_flag=True, help="Log in on any device with a code, instead of a browser here.")
@click.option("--client-id", metavar="ID", help="A registered OAuth client, where the server registers none itself.")
@click.option("--token", metavar="TOKEN", help="Store this access token; - reads it from the standard input.")
@click.option("--expires-in", type=click.IntRange(0), metavar="SECONDS", help="How long that token is good for.")
def login(url: str, device: bool, client_id: str | None, token: str | None, expires_in: int | None) -> int:
    """Log in to the MCP server at URL and keep the token."""
    if token is not None and device:
        raise click.UsageError("--token and --device exclude each other")
    if expires_in is not None and token is None:
        raise click.UsageError("--expires-in needs --token")
    if not url.startswith(("http://", "https://")):
        raise click.UsageError(f"URL must start with http:// or https://, got {url}")

    def work() -> None:
        store = _stored(url, token, expires_in) if token is not None else _logged_in(url, device, client_id)
        print(f"Authenticated to {url}. The token is kept in {store.place}.", file=sys.stderr)

    return _reported(work)


def _stored(url: str, token: str, expires_in: int | None) -> Any:
    """Keeps a token that somebody else has given out."""
    from sema_runtime.mcp.protocol import Failure
    from sema_runtime.mcp.tokens import Credentials, default_store

    value = (sys.stdin.readline() if token == "-" else token).strip()
    if not (value.isascii() and value.isprintable() and value.split() == [value]):
        raise Failure("the token is empty or holds characters that no token has")
    store = default_store()
    store.save(Credentials(url, value, expires_at=None if expires_in is None else int(time.time()) + expires_in))
    return store


def _logged_in(url: str, device: bool, client_id: str | None) -> Any:
    from sema_runtime.mcp.oauth import Login, log_in
    from sema_runtime.tasks import suspend

    return suspend(log_in(Login(url, lambda text: print(text, file=sys.stderr, flush=True), client_id), device))


@commands.command()
@click.argument("url")
def logout(url: str) -> int:
    """Forget the token of the MCP server at URL."""

    def work() -> None:
        from sema_runtime.mcp.tokens import default_store

        found = default_store().delete(url)
        print(f"Logged out of {url}." if found else f"There was no token of {url}.", file=sys.stderr)

    return _reported(work)


@commands.command("list")
def list_() -> int:
    """Show the MCP servers whose tokens are kept."""

    def work() -> None:
        from sema_runtime.mcp.tokens import default_store

        store = default_store()
        urls = store.urls()
        if not urls:
            print(f"No tokens in {store.place}.", file=sys.stderr)
        for url in urls:
            known = store.load(url)
            if known is not None:
                print(f"{url}  {_state(known)}")

    return _reported(work)


def _state(known: Any) -> str:
    """How long a token is good for, in words."""
    renewed = ", renewed by itself" if known.refresh_token else ""
    if known.expires_at is None:
        return "does not expire"
    if known.expired():
        return f"expired{renewed}"
    moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(known.expires_at))
    return f"good until {moment}{renewed}"


def _reported(work: Any) -> int:
    """Does something that may fail; the exit status."""
    from sema_runtime.mcp.protocol import Failure
    from sema_runtime.values.errors import SemaError

    try:
        work()
    except (Failure, SemaError) as failure:
        print(f"Error: {failure.message}", file=sys.stderr)
        if failure.hint:
            print(f"  hint: {failure.hint}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Error: interrupted", file=sys.stderr)
        return 1
    return 0
