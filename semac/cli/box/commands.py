"""`sema box`: programs that nobody trusts, in hardened processes."""

from __future__ import annotations

import json
import sys

import click

from semac.cli.box.options import entry, granted_options, limit_options, named_data, opened, show, tools_of
from semac.cli.box.repl import repl
from semac.cli.box.stream import evaluate
from semac.cli.box_agents.suite import suite
from semac.cli.box_agents.trace import trace

SETTINGS = {"help_option_names": ["-h", "--help"]}


def main(args: list[str]) -> int:
    """Runs `sema box ARGS` and returns the exit status."""
    from semac.cli.common import standalone

    return standalone(commands, args)


@click.group("sema box", context_settings=SETTINGS)
def commands() -> None:
    """Run programs that nobody trusts: no files, network, clock or Python, in processes that end at their limits."""


commands.add_command(evaluate)
commands.add_command(repl)
commands.add_command(suite)
commands.add_command(trace)


@commands.command("run")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@granted_options
@click.option("--json", "as_json", is_flag=True, help="Print the whole outcome as JSON.")
@limit_options
def run(
    file: str,
    data: tuple[str, ...],
    tools: tuple[str, ...],
    as_json: bool,
    limits: tuple[str, ...],
    allow_missing_layers: bool,
) -> int:
    """Run one program; print what it prints, then its value. Tools run in this process, with your rights."""
    source = source_of(file)
    with opened(limits, allow_missing_layers) as pool:
        outcome = pool.run(source, dict(map(named_data, data)), [tool for file in tools for tool in tools_of(file)])
    if as_json:
        print(json.dumps({**entry(outcome), "tool_calls": outcome.tool_calls}, default=str))
    else:
        show(outcome, file)
    return 0 if outcome.ok else 1


def source_of(file: str) -> str:
    """The text of a program, of a file or of stdin (-). Raises SemaError."""
    from sema_runtime.values.errors import SemaError
    from semac.sources import decode, read

    try:
        return decode(sys.stdin.buffer.read() if file == "-" else read(file), file)
    except OSError as problem:
        raise SemaError(f"{problem.strerror}: {file}") from None


@commands.command("limits")
def list_limits() -> int:
    """List the limits: their defaults, and the host's ceilings."""
    from sema_runtime.box.limits import CEILINGS, Limits

    for name, value in vars(Limits()).items():
        print(f"{name:20} {value:>12,}   at most {CEILINGS[name]:,}")
    return 0
