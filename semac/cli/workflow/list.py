"""`sema workflow list` and `sema workflow index`, and what the commands that look at runs share."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import Any

import click

from sema_runtime.support.money import dollars
from semac.cli.common import SETTINGS, standalone
from semac.cli.tables import aligned, one_line

DEFAULT_ROOT = os.path.join(".sema", "runs")
UNKNOWN = "—"  # a cost or a time that isn't known is never shown as 0
LATEST = "latest"
NOTES = 5  # on runs whose process is gone
MADE_ANEW = " (it can be deleted: it is made of the journals)"

run_dir = click.option(
    "--run-dir", metavar="DIR", help="Where the runs are. [SEMA_WORKFLOW_RUN_DIR or .sema/runs]", type=str
)
as_json = click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")


def list_main(args: list[str]) -> int:
    """`sema workflow list ARGS`."""
    return standalone(list_command, args)


def index_main(args: list[str]) -> int:
    """`sema workflow index ARGS`."""
    return standalone(index_command, args)


@click.command("sema workflow list", context_settings=SETTINGS)
@run_dir
@as_json
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="The latest N only.")
def list_command(run_dir: str | None, as_json: bool, limit: int | None) -> int:
    """List runs, the latest first, with status, agents, tokens and cost.

    Tokens and cost are with those of the runs inside. The time is that at work, without the pauses before resumptions.
    A dash stands for a cost that isn't known, a plus behind one for a part that isn't.
    """
    import sqlite3

    root = root_of(run_dir)
    if why := unreadable(root):
        return failed(f"cannot list {root}: {why}", 1)
    try:
        listed = rows(root)[:limit]
    except (OSError, sqlite3.Error) as error:
        return failed(f"cannot list {root}: {error}", 1)
    if as_json:
        show_json([{name: value for name, value in row.items() if name != "elapsed_ms"} for row in listed])
    elif not listed:
        print(f"No runs in {root}.")
    else:
        header = ("run", "workflow", "status", "started", "time", "agents", "tokens", "cost")
        lines = [header, *(_cells(row) for row in listed)]
        print("\n".join([*aligned(lines, right=range(4, len(header))), *_gone(root, listed)]))
    return 0


def _gone(root: str, rows: list[dict[str, Any]]) -> list[str]:
    """Notes on runs without an end that no process writes any more."""
    from sema_runtime.workflow.read.recorded_run import is_held

    running = [row["run_id"] for row in rows if row["status"] == "running"]
    gone = [run_id for run_id in running if is_held(os.path.join(root, run_id)) is False]
    notes = [f"note: no process writes {one_line(run)}; {to_resume(run)}" for run in gone[:NOTES]]
    return [*notes, f"note: nor {len(gone) - NOTES:,} more"] if len(gone) > NOTES else notes


def to_resume(run_id: str) -> str:
    return f"to go on: sema workflow run FILE --resume {one_line(run_id)}"


def rows(root: str) -> list[dict[str, Any]]:
    """The rows of the index; of one in memory where there can't be one in the directory. Raises sqlite3.Error."""
    import sqlite3
    from contextlib import closing

    from sema_runtime.workflow.read import index

    if not os.path.isdir(root):
        return []
    path = index.index_path(root)
    for place in (path, ":memory:"):
        try:
            with closing(index.open_index(place)) as db:
                index.sync_all(db, root)
                return index.listing(db)
        except sqlite3.Error:
            if place != path:
                raise
    return []


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        one_line(row["run_id"]),
        one_line(row["workflow"] or ""),
        one_line(row["status"]),
        moment(row["started_ts"] or ""),
        duration(row["elapsed_ms"]),
        f"{row['agents']:,}",
        f"{row['tokens']:,}",
        cost(row["cost_usd"], row["unpriced"]),
    )


@click.command("sema workflow index", context_settings=SETTINGS)
@run_dir
def index_command(run_dir: str | None) -> int:
    """Bring the index of all runs (index.db in the directory of runs) up to date.

    The index is made of the journals; it can be deleted at any time.
    """
    import sqlite3
    from contextlib import closing

    from sema_runtime.workflow.read import index

    root = root_of(run_dir)
    path = index.index_path(root)
    try:
        opened = index.open_index(path)
    except sqlite3.Error as error:
        return failed(f"cannot open index db: {path}: {error}{MADE_ANEW if os.path.exists(path) else ''}", 1)
    with closing(opened) as db:
        try:
            index.sync_all(db, root)
            count = len(index.summary(db))
        except sqlite3.Error as error:
            return failed(f"cannot write index db: {path}: {error}{MADE_ANEW}", 1)
    print(f"indexed {count} run(s) → {path}")
    return 0


# Shared


def root_of(run_dir: str | None) -> str:
    """The directory of the runs."""
    return run_dir or os.environ.get("SEMA_WORKFLOW_RUN_DIR") or DEFAULT_ROOT


def unreadable(root: str) -> str | None:
    """Why the directory of the runs can't be looked into; None when it can, or isn't there, and so has no runs."""
    try:
        os.scandir(root).close()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None


def opened(root: str, run_id: str, read: bool = True) -> Any:
    """The run of an id, or the latest. read: False when only its directory or its events one by one are wanted. Raises
    click.ClickException (status 2)."""
    from sema_runtime.workflow.read.recorded_run import RunNotFound, found_run, latest_run, open_run

    if why := unreadable(root):
        raise Problem(f"cannot list {root}: {why}")
    if run_id == LATEST and not os.path.lexists(os.path.join(root, LATEST)):
        latest = latest_run(root)
        if latest is None:
            raise Problem(f"no runs in {root}")
        run_id = latest
    try:
        return (open_run if read else found_run)(root, run_id)
    except (RunNotFound, ValueError) as error:
        raise Problem(str(error)) from None
    except OSError as error:
        raise Problem(f"run '{run_id}': {error.strerror or error}") from None


class Problem(click.ClickException):
    """Something that a command can't do; shown as `error: ...`."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        failed(self.message, self.exit_code)


def failed(message: str, status: int) -> int:
    print(f"error: {one_line(message)}", file=sys.stderr)
    return status


def show_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2).encode("utf-8", "replace").decode())


def width() -> int | None:
    """Columns of the terminal; None where the output goes elsewhere, and lines are not cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def cost(usd: float | None, unpriced: int = 0) -> str:
    """A cost, with a plus when some of it isn't known."""
    return UNKNOWN if usd is None else f"{dollars(usd)}{'+' if unpriced else ''}"


def duration(milliseconds: int | None) -> str:
    if milliseconds is None:
        return UNKNOWN
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.1f}s"
    minutes, seconds = divmod(milliseconds // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{seconds:02}s"


def moment(ts: str) -> str:
    """The time of an event, in the zone of this machine."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(ts).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):  # a time that a test has set
        return one_line(ts)
