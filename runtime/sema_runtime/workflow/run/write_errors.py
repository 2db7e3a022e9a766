"""What of a run's directory could not be written or read: the disk is full, a folder may not be changed."""

from __future__ import annotations

import os
from contextlib import suppress

from sema_runtime.values.errors import SemaError
from sema_runtime.workflow.journal.values import many

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from sema_runtime.workflow.run.run import Run


class Unwritable(SemaError):
    """A run that doesn't begin."""


def give_up(run: Run) -> NoReturn:
    """A run of which not even the beginning can be written doesn't begin: its directory is as it was before. Raises
    Unwritable."""
    why = run.journal.trouble
    run.journal.abandon()
    run.memos.close()
    if not run.resuming:
        with suppress(OSError):
            for name in os.listdir(run.directory):
                if name == "metadata.json":
                    os.remove(os.path.join(run.directory, name))
            os.rmdir(run.directory)  # if nothing else was in it
    raise Unwritable(
        f"workflow/run: {run.directory}: {why}", "a run is written down as it goes; make room, or --run-dir"
    )


def of(run: Run) -> list[str]:
    """In words, with what that means for the run."""
    said = []
    memos, journal = run.memos, run.journal
    if memos.unkept:
        count = many(memos.unkept, "result")
        said.append(f"{memos.trouble}: {count} could not be kept; a resumed run asks for what is missing again")
    if journal.unwritten:
        said.append(f"{journal.trouble}: {many(journal.unwritten, 'event')} could not be written")
    if journal.full:
        said.append("the journal has reached its limit (SEMA_WORKFLOW_JOURNAL_MAX_BYTES): later events are not in it")
    said += [f"{why}: {name} could not be written" for name, why in run.unwritten.items()]
    if memos.unread:
        count = many(memos.unread, "kept result")
        said.append(f"{memos.unreadable}: {count} could not be read; what they were kept for ran again")
    return said
