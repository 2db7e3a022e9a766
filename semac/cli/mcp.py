"""`sema mcp login|logout|list`: logins to the MCP servers that programs connect to."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import click


def main(args: list[str]) -> int:
    """Runs `sema mcp login|logout|list ...` and returns the exit status."""
    from semac.cli.common import standalone

    return standalone(commands, args)


@click.group("sema mcp", context_settings={"help_option_names": ["-h", "--help"]})
def commands() -> None:
    """Log in to MCP servers, log out, list them."""


def of_whom(command: Any) -> Any:
    """Adds the options that choose a store other than the default one."""
    whose = click.option("--workflow", metavar="NAME", help="The logins of a workflow, in .sema/auth here.")
    run = click.option("--run", metavar="RUN", help="The logins of a run: its id, or its directory.")
    return whose(run(command))


def _store(workflow: str | None, run: str | None) -> Any:
    """The store that the options name. Raises Failure."""
    from sema_runtime.mcp.protocol import Failure
    from sema_runtime.mcp.tokens import default_store
    from sema_runtime.workflow.run import logins
    from sema_runtime.workflow.run.scope import Settings

    if workflow is not None and run is not None:
        raise click.UsageError("--workflow and --run exclude each other")
    root = Settings.from_environment().root
    if workflow is not None:
        return logins.workflow_store(workflow, root)
    if run is None:
        return default_store()
    folder = run if os.sep in run else os.path.join(root, run)
    if not os.path.exists(os.path.join(folder, "events.jsonl")):
        raise Failure(f"there is no run in {folder}", "sema workflow list shows the runs")
    return logins.run_store(folder)


@commands.command()
@click.argument("url")
@click.option("--device", is_flag=True, help="Log in on any device with a code, instead of a browser here.")
@click.option("--client-id", metavar="ID", help="A registered OAuth client, for servers that register none.")
@click.option("--token", metavar="TOKEN", help="Store this access token; - reads it from the standard input.")
@click.option("--expires-in", type=click.IntRange(0), metavar="SECONDS", help="The lifetime of that token.")
@of_whom
def login(
    url: str,
    device: bool,
    client_id: str | None,
    token: str | None,
    expires_in: int | None,
    workflow: str | None,
    run: str | None,
) -> int:
    """Log in to the MCP server at URL and keep the token."""
    if token is not None and device:
        raise click.UsageError("--token and --device exclude each other")
    if expires_in is not None and token is None:
        raise click.UsageError("--expires-in needs --token")
    if not url.startswith(("http://", "https://")):
        raise click.UsageError(f"URL must start with http:// or https://, got {url}")

    def work() -> None:
        from sema_runtime.mcp.scoped import ScopedStore

        store = _store(workflow, run)
        if isinstance(store, ScopedStore):
            store.check()
        if token is not None:
            _keep(store, url, token, expires_in)
        else:
            _log_in(store, url, device, client_id)
        print(f"Authenticated to {url}. The token is kept in {store.place}.", file=sys.stderr)

    return _reported(work)


def _keep(store: Any, url: str, token: str, expires_in: int | None) -> None:
    """Stores a token that was issued elsewhere."""
    from sema_runtime.mcp.protocol import Failure
    from sema_runtime.mcp.tokens import Credentials

    value = (sys.stdin.readline() if token == "-" else token).strip()
    if not (value.isascii() and value.isprintable() and value.split() == [value]):
        raise Failure("the token is empty or holds characters that no token has")
    store.save(Credentials(url, value, expires_at=None if expires_in is None else int(time.time()) + expires_in))


def _log_in(store: Any, url: str, device: bool, client_id: str | None) -> None:
    from sema_runtime.mcp.access import Stores, log_in
    from sema_runtime.mcp.oauth import Login
    from sema_runtime.tasks import suspend

    how = Login(url, lambda text: print(text, file=sys.stderr, flush=True), client_id)
    suspend(log_in(how, Stores(store), device))


@commands.command()
@click.argument("url")
@of_whom
def logout(url: str, workflow: str | None, run: str | None) -> int:
    """Forget the token of the MCP server at URL."""

    def work() -> None:
        from sema_runtime.mcp.tokens import default_store

        store = _store(workflow, run)
        existed = store.delete(url)
        print(f"Logged out of {url}." if existed else f"There was no token of {url}.", file=sys.stderr)
        if workflow is not None or run is not None:
            if default_store().load(url) is not None:
                print(f"Runs will use the login of: sema mcp login {url}", file=sys.stderr)
            return
        for other in _of_workflows():
            if other.has(url):
                print(f"Still kept: sema mcp logout {url} --workflow {other.name}", file=sys.stderr)

    return _reported(work)


@commands.command("list")
@of_whom
def list_(workflow: str | None, run: str | None) -> int:
    """List the MCP servers with stored tokens: for all programs, and for the workflows of this directory."""

    def work() -> None:
        store = _store(workflow, run)
        others = _of_workflows() if workflow is None and run is None else []
        lines = _lines(store, "") + [line for other in others for line in _lines(other, f"  (workflow {other.name})")]
        print("\n".join(lines) if lines else f"No tokens in {store.place}.", file=sys.stdout if lines else sys.stderr)

    return _reported(work)


def _of_workflows() -> list[Any]:
    """The stores of the workflows of this directory."""
    from sema_runtime.workflow.run import logins
    from sema_runtime.workflow.run.scope import Settings

    return logins.workflow_stores(Settings.from_environment().root)


def _lines(store: Any, whose: str) -> list[str]:
    known = (store.load(url) for url in store.urls())
    return [f"{login.url}  {_state(login)}{whose}" for login in known if login is not None]


def _state(known: Any) -> str:
    """How long a token is valid, in words."""
    more = (", renewed by itself" if known.refresh_token else "") + (", copied" if known.copied else "")
    if known.expires_at is None:
        return f"does not expire{more}"
    if known.expired():
        return f"expired{more}"
    moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(known.expires_at))
    return f"good until {moment}{more}"


def _reported(work: Any) -> int:
    """Runs an action that may raise Failure, and returns the exit status."""
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
