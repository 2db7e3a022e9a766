"""Errors while reading or writing a run's directory: the disk is full, a folder is read-only."""

from __future__ import annotations

from sema_runtime.values.errors import SemaError
from sema_runtime.workflow.journal.values import many

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sema_runtime.workflow.journal.writer import Journal
    from sema_runtime.workflow.run.memo import Memos


class Unwritable(SemaError):
    """The directory of a run can't be written, so the run doesn't start."""


def messages(memos: Memos, journal: Journal, unwritten: Mapping[str, str]) -> list[str]:
    """The errors in words, with what they mean for the run. unwritten: files of the directory, and why."""
    said = []
    if memos.unkept:
        count = many(memos.unkept, "result")
        said.append(f"{memos.error}: {count} could not be kept; a resumed run asks for what is missing again")
    if journal.unwritten:
        said.append(f"{journal.error}: {many(journal.unwritten, 'event')} could not be written")
    if journal.full:
        said.append("the journal has reached its limit (SEMA_WORKFLOW_JOURNAL_MAX_BYTES): later events are not in it")
    said += [f"{why}: {name} could not be written" for name, why in unwritten.items()]
    if memos.unread:
        count = many(memos.unread, "kept result")
        said.append(f"{memos.unreadable}: {count} could not be read; what they were kept for ran again")
    return said
