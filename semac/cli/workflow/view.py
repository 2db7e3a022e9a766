"""`sema workflow view`: runs of workflows in a browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from semac.cli.common import SETTINGS, standalone
from semac.cli.workflow.list import opened, root_of


def main(args: list[str]) -> int:
    """`sema workflow view ARGS`."""
    return standalone(view_command, args)


@click.command("sema workflow view", context_settings=SETTINGS)
@click.argument("run_id", metavar="[RUN]", required=False)
@click.option("--run-dir", metavar="DIR", help="Where the runs are. [SEMA_WORKFLOW_RUN_DIR or .sema/runs]")
@click.option("--host", metavar="HOST", default="127.0.0.1", help="Where to listen. [127.0.0.1]")
@click.option(
    "-p", "--port", type=click.IntRange(0, 65535), metavar="PORT", default=8899, help="0: any free one. [8899]"
)
@click.option("--approval-signing-key-file", "key_file", metavar="FILE", help="Approve and reject in the page.")
@click.option("--approval-actor", "actor", metavar="NAME", help="In whose name. [SEMA_APPROVAL_ACTOR or the user]")
@click.option("--open", "open_it", is_flag=True, help="Open a browser.")
def view_command(
    run_id: str | None,
    run_dir: str | None,
    host: str,
    port: int,
    key_file: str | None,
    actor: str | None,
    open_it: bool,
) -> int:
    """Show the runs of workflows in a browser, live. RUN: the one to begin with, an id or `latest`.

    Who can reach the address can read prompts and outputs: keep to the default, which only this machine reaches.

    \b
    Examples:
      sema workflow view
      sema workflow view latest --open
      sema workflow view --run-dir /var/lib/pipeline/runs -p 0 --open
    """
    from sema_runtime.support.visible import tell
    from sema_runtime.values.errors import SemaError
    from sema_runtime.workflow.viewer.server import Viewer

    root = root_of(run_dir)
    run = None if run_id is None else opened(root, run_id, read=False).id
    try:
        viewer = Viewer(Path(root), host, port, signing_key=_signing_key(key_file), actor=actor)
        viewer.start()
    except SemaError as error:
        tell(f"sema workflow view: {error.message}")
        return 1
    there = "" if Path(root).is_dir() else "  (no such folder yet)"
    click.echo(f"Sema workflow viewer:  {viewer.url if run is None else viewer.url_of(run)}\n  runs: {root}{there}")
    sys.stdout.flush()
    if not viewer.is_local:
        tell(f"warning: everybody who can reach {host} can read these runs")
    if open_it:
        viewer.open_browser(run)
    try:
        viewer.wait()
    except KeyboardInterrupt:
        click.echo()
    finally:
        viewer.stop()
    return 0


def _signing_key(file: str | None) -> Any:
    """The private key in a file. Raises SemaError."""
    if file is None:
        return None
    from sema_runtime.workflow.approvals.keys import read_private

    return read_private(file)
