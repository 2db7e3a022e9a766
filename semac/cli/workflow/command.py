"""`sema workflow`: runs workflows and shows what they did. Each subcommand is imported when it is called."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import click

COMMANDS: dict[str, tuple[str, str, str]] = {
    "run": ("semac.cli.workflow.run", "main", "Run the workflow of a file, or resume a run."),
    "check": ("semac.cli.workflow.check", "main", "Report what is wrong with the workflows of a file."),
    "list": ("semac.cli.workflow.list", "list_main", "List runs with status, agents, tokens, cost."),
    "show": ("semac.cli.workflow.show", "main", "Show one run: phases, agents, checkpoints, result."),
    "diff": ("semac.cli.workflow.diff", "main", "Compare two runs: results that changed, tokens, cost."),
    "view": ("semac.cli.workflow.view", "main", "Show runs in a browser, live."),
    "approvals": ("semac.cli.workflow.approvals", "list_main", "List what a run wants to have approved."),
    "approve": ("semac.cli.workflow.approvals", "approve_main", "Approve what a run asks for."),
    "reject": ("semac.cli.workflow.approvals", "reject_main", "Reject what a run asks for."),
    "approval-keygen": ("semac.cli.workflow.approvals", "keygen_main", "Make a pair of keys for approvals."),
    "export": ("semac.cli.workflow.export", "main", "Write the evidence of a run: what it did, as one bundle."),
    "index": ("semac.cli.workflow.list", "index_main", "Bring the index of all runs up to date."),
}
"""name: (module, function, one line of help), in the order of the help; the function takes the arguments and returns
the exit status."""


def main(args: list[str]) -> int:
    """`sema workflow ARGS`."""
    if not args or args[0] in ("-h", "--help", "help"):
        click.echo(_help())
        return 0 if args else 2
    if args[0] not in COMMANDS:
        click.echo(f"Error: {_unknown(args[0])}\nTry 'sema workflow --help' for help.", err=True)
        return 2
    module, function, _ = COMMANDS[args[0]]
    action: Callable[[list[str]], int] = getattr(import_module(module), function)
    return action(args[1:])


def _unknown(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, 1)
    hint = f" Did you mean 'workflow {near[0]}'?" if near else ""
    return f"no such command 'workflow {name}'.{hint}"


def _help() -> str:
    width = max(map(len, COMMANDS)) + 2
    lines = [f"  {name:<{width}}{COMMANDS[name][2]}" for name in COMMANDS]
    return "\n".join(
        (
            "Usage: sema workflow COMMAND [ARGS]...",
            "",
            "  Run workflows; watch, list and compare runs.",
            "",
            "Commands:",
            *lines,
            "  'sema workflow COMMAND --help' describes one of them.",
        )
    )
