"""`sema completions SHELL [--install]`: prints or installs what a shell needs to complete `sema` at Tab."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click

from semac.cli.common import SETTINGS, failed, standalone
from semac.cli.completions.candidates import Candidate
from semac.cli.completions.scripts import SCRIPTS

NOTES = {
    "bash": "new shells complete sema, where the package bash-completion is installed",
    "zsh": "put its folder into $fpath before compinit: fpath=(~/.zsh/completions $fpath)",
    "fish": "new shells complete sema",
    "elvish": "write 'use sema' into ~/.config/elvish/rc.elv",
}


def main(args: list[str]) -> int:
    """Runs `sema completions ARGS` and returns the exit status."""
    if args[:1] == ["--words"]:
        for one in offered()(args[1:]):
            sys.stdout.write(f"{one.kind}\t{one.value}\t{' '.join(one.help.split())}\n")
        return 0
    return standalone(completions_command, args)


def offered() -> Callable[[list[str]], list[Candidate]]:
    from semac.cli.completions.candidates import candidates
    from semac.cli.main import COMMANDS, top

    return lambda words: candidates(COMMANDS, top, words)


@click.command("sema completions", context_settings=SETTINGS)
@click.argument("shell", type=click.Choice(list(SCRIPTS)))
@click.option("--install", is_flag=True, help="Write it where the shell looks for it, below your home directory.")
def completions_command(shell: str, install: bool) -> int:
    """Print the script that completes sema in a shell; with --install, put it in its place.

    \b
    Examples:
      sema completions bash --install
      source <(sema completions zsh)       for this shell alone
    """
    script, place = SCRIPTS[shell]
    if not install:
        click.echo(script, nl=False)
        return 0
    if place is None:
        return failed(
            f"{shell} has no folder for completions: add the output of 'sema completions {shell}' to $PROFILE"
        )
    path = Path.home() / place
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script)
    except OSError as error:
        return failed(f"can't write {path}: {error.strerror}")
    click.echo(f"Installed {path}; {NOTES[shell]}")
    return 0
