"""`sema workflow export`: the evidence of a run."""

from __future__ import annotations

import os

import click

from semac.cli.common import SETTINGS, standalone
from semac.cli.workflow.list import failed, opened, root_of, run_dir


def main(args: list[str]) -> int:
    """`sema workflow export ARGS`."""
    return standalone(export_command, args)


@click.command("sema workflow export", context_settings=SETTINGS)
@click.argument("run", metavar="RUN")
@click.option("--out-dir", metavar="DIR", help="Where the files go. [RUN/evidence]")
@run_dir
def export_command(run: str, out_dir: str | None, run_dir: str | None) -> int:
    """Write the evidence of RUN: evidence.json with metadata, result, all events and approvals; evidence.md, the same
    for people without the texts of steps; manifest.json with the digests of both.
    """
    from sema_runtime.values.errors import SemaError
    from sema_runtime.workflow import evidence

    recorded = opened(root_of(run_dir), run)
    try:
        paths = evidence.export(recorded, out_dir or os.path.join(recorded.folder, "evidence"))
    except SemaError as error:
        return failed(error.message, 1)
    print("\n".join(paths))
    return 0
