"""`sema mcp`: serves a program's tools and those of the compiler to MCP clients; logins to other servers."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Any

import click

from semac.cli.common import OPTIONS, SANDBOX_HELP, SETTINGS, failed, set_up, standalone

TIMEOUT = "SEMA_MCP_EVAL_TIMEOUT_MS"
LOGINS = ("login", "logout", "list")
TIMEOUT_MS = 300_000
SANDBOX_OPTIONS = ("--sandbox", "--allowed-paths", "--allow")


def main(args: list[str]) -> int:
    """Runs `sema mcp ARGS` and returns the exit status."""
    if "--box" in args:
        from semac.cli.box_server import main as serve_box

        return serve_box([arg for arg in args if arg != "--box"])
    if args and args[0] in LOGINS and not os.path.isfile(args[0]):
        from semac.cli.mcp import main as logins

        return logins(args)
    return standalone(serve, args)


def names(_: Any, __: Any, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


@click.command("sema mcp", context_settings=SETTINGS)
@click.argument("files", nargs=-1, metavar="[FILES]...")
@click.option(
    "--include", multiple=True, callback=names, metavar="A,B", help="Serve these tools only; * is a wildcard."
)
@click.option("--exclude", multiple=True, callback=names, metavar="A,B", help="Don't serve these tools.")
@click.option("--sandbox", metavar="MODE", help=SANDBOX_HELP)
@click.option(
    "--timeout-ms", type=click.IntRange(0), metavar="N", help=f"For each call; 0: none. [{TIMEOUT} or 300000]"
)
@click.option("--http", "address", metavar="[HOST:]PORT", help="Serve Streamable HTTP there; without, stdio.")
@click.option(
    "--token-file", metavar="FILE", help="The bearer token of clients, 32 characters or more; or SEMA_MCP_TOKEN."
)
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME[:PORT]", help="A name that clients reach it by.")
def serve(files: tuple[str, ...], sandbox: str | None, timeout_ms: int | None, **options: Any) -> int:
    """Serve Sema to MCP clients, such as coding agents: evaluation, documentation, compilation, notebooks, and the
    tools (deftool) and workflows of FILES.

    Programs run in a process of their own, which is started again when it exits, crashes or hangs. Tools whose name
    starts with _, or whose parameters have :mcp/expose #f or :private #t, are not served.

    \b
    Examples:
      claude mcp add sema -- sema mcp               for Claude Code
      sema mcp tools.sema review.sema               with the tools and workflows of two files
      sema mcp tools.sema --include 'get-*,eval'    some tools only
      sema mcp --sandbox strict                     without network, processes, writing of files
      sema mcp tools.sema --http 8000               for clients elsewhere, see --token-file

    \b
    Other commands:
      sema mcp login URL | logout URL | list        logins to the servers that programs connect to
      sema mcp --box                                serve programs that nobody trusts, see --help there
    """
    for path in files:
        if not os.path.isfile(path):
            return failed(f"file not found: {path}")
    if sandbox is not None:
        problem = set_up({**dict.fromkeys(OPTIONS), "sandbox": sandbox})
        if problem is not None:
            return failed(problem)
    if timeout_ms is None:
        text = os.environ.get(TIMEOUT, "")
        timeout_ms = int(text) if text.isdecimal() else TIMEOUT_MS
    if find_spec("mcp") is None:
        return failed("sema mcp needs the package mcp\n  hint: pip install 'semac[mcp]'")
    from semac.mcp_server import running

    return running.run(files, timeout_ms, given_before(sandbox), options)


def given_before(sandbox: str | None) -> dict[str, str]:
    """The options of the sandbox, those before the command included: other processes get them too."""
    words = sys.argv[1 : sys.argv.index("mcp")] if "mcp" in sys.argv else []
    given: dict[str, str] = {}
    for place, word in enumerate(words):
        name, is_same, value = word.partition("=")
        if name in SANDBOX_OPTIONS:
            given[name] = value if is_same else "".join(words[place + 1 : place + 2])
    if sandbox is not None:
        given["--sandbox"] = ",".join(filter(None, [given.get("--sandbox"), sandbox]))
    return given
