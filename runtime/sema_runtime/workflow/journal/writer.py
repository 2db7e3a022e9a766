"""A run's journal: an append-only file of events, one JSON object a line.

An event is in the file (in the system's cache: it survives the death of this process) when `append` returns. Errors of
writing never stop a run: lines that the disk doesn't take (it is full) wait in memory and are written, in order, with
the next event; of those beyond the limit of the queue only their number is written.
"""

from __future__ import annotations

import os
from collections import deque
from contextlib import suppress
from threading import Lock

from sema_runtime.support.private_files import FILE_MODE, make_folders
from sema_runtime.systems import O_CLOEXEC
from sema_runtime.values.digits import small
from sema_runtime.workflow.journal import crash_points
from sema_runtime.workflow.journal.events import JournalOverflow, line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

QUEUE, MAX_BYTES = 4096, 268_435_456
FIRST_NAME = "events.jsonl"
TRIES = 8
CANNOT_RESUME = "cannot resume: no prior run journal at {}"


class Journal:
    """folder: the run's. number: of the file in it, which this one claims: it must not exist. held: a descriptor that
    is kept open while the run lasts. Raises OSError."""

    def __init__(self, folder: str, number: int = 0, held: int | None = None) -> None:
        self.folder = folder
        self.number = number
        self.held = held
        self.path = os.path.join(folder, segment_name(number))
        if crash_points.armed:
            crash_points.passed("claim.before")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | O_CLOEXEC
        self.descriptor = os.open(self.path, flags, FILE_MODE)
        if crash_points.armed:
            crash_points.passed("claim.after")
        self.queue_limit = max(1, setting("SEMA_WORKFLOW_JOURNAL_QUEUE", QUEUE))
        self.max_bytes = setting("SEMA_WORKFLOW_JOURNAL_MAX_BYTES", MAX_BYTES)
        self.written = 0
        self.full = False  # the limit of bytes is reached
        self.waiting: deque[bytes] = deque()
        self.dropped = 0
        self.error = ""  # what the system said when it took no line
        self.lock = Lock()

    def append(self, lines: Sequence[str]) -> None:
        """Writes lines, with one call to the system, so that they are there together or not at all."""
        data = "".join(f"{text}\n" for text in lines).encode("utf-8", "replace")
        with self.lock:
            if self.full:
                return
            if self.written + len(data) > self.max_bytes:
                self.full = True
                data = (line(JournalOverflow("journal-size-cap", bytes=self.written)) + "\n").encode()
            if not self.waiting and self._write(data):
                self.written += len(data)
                return
            self._wait(data, len(lines))

    def _wait(self, data: bytes, lines: int) -> None:
        """Puts data behind what waits already, and tries to write it all."""
        if len(self.waiting) < self.queue_limit:
            self.waiting.append(data)
            self.written += len(data)
        else:
            self.dropped += lines
        self._drain()

    def _drain(self) -> None:
        """Writes what waits, as far as the disk takes it."""
        while self.waiting and self._write(self.waiting[0]):
            self.waiting.popleft()
        if self.dropped and not self.waiting:
            said = (line(JournalOverflow("queue-full", dropped=self.dropped)) + "\n").encode()
            if self._write(said):
                self.dropped = 0
                self.written += len(said)

    def _write(self, data: bytes) -> bool:
        """Whether all of it was written; if not, nothing was."""
        try:
            if crash_points.armed:
                crash_points.passed("journal.write.before")
                if crash_points.halves():
                    half = len(data) // 2
                    os.write(self.descriptor, data[:half])
                    crash_points.passed("journal.write.half")
                    data = data[half:]
            count = os.write(self.descriptor, data)
        except OSError as error:
            self.error = error.strerror or str(error)
            return False
        if count < len(data):
            self.error = "No space left on device"
            self._take_back(count)
            return False
        if crash_points.armed:
            crash_points.passed("journal.write.after")
        return True

    def _take_back(self, count: int) -> None:
        """Removes the last bytes: a part of a line that didn't fit."""
        try:
            os.ftruncate(self.descriptor, os.fstat(self.descriptor).st_size - count)
        except OSError:
            self.full = True  # the next line would be joined to a damaged one

    @property
    def unwritten(self) -> int:
        """Lines that are not in the file: they wait, or were dropped."""
        return sum(data.count(b"\n") for data in self.waiting) + self.dropped

    def abandon(self) -> None:
        """Takes the claim back: the file was never written to."""
        os.close(self.descriptor)
        if self.held is not None:
            os.close(self.held)
        with suppress(OSError):
            os.remove(self.path)

    def close(self) -> None:
        """Writes what still waits, and waits until the disk has the journal."""
        with self.lock:
            self._drain()
        if crash_points.armed:
            crash_points.passed("journal.sync.before")
        try:
            os.fsync(self.descriptor)
        except OSError:
            pass
        finally:
            os.close(self.descriptor)
            if self.held is not None:
                os.close(self.held)
        if crash_points.armed:
            crash_points.passed("journal.sync.after")


def segment_name(number: int) -> str:
    """The name of a journal's file: 0 for the first one, n for the nth time the run was resumed."""
    return FIRST_NAME if number == 0 else f"events.resume-{number}.jsonl"


LARGEST_SETTING = 1 << 62


def setting(name: str, default: int) -> int:
    """A number of the environment; the default when it is none."""
    text = os.environ.get(name, "")
    return small(text, LARGEST_SETTING) if text.isascii() and text.isdecimal() else default


# Which run


def safe_id(run_id: str) -> str:
    """A run id that can be the name of a directory. Raises ValueError."""
    problem = None
    if not run_id:
        problem = "must not be empty"
    elif "/" in run_id or "\\" in run_id:
        problem = "must not contain a path separator"
    elif ".." in run_id:
        problem = "must not contain '..'"
    elif set(run_id) == {"."}:
        problem = "must not be only '.' characters"
    elif any(char < " " or "\x7f" <= char <= "\x9f" for char in run_id):
        problem = "must not contain NUL or control characters"
    if problem is not None:
        from sema_runtime.values.printer import quoted

        raise ValueError(f"workflow run id {quoted(run_id)} is not a safe directory name: {problem}")
    return run_id


_made = -1


def new_id() -> str:
    """`wf_SECONDS_NANOSECONDS_PROCESS_NUMBER`."""
    global _made
    from time import time_ns

    _made += 1
    seconds, nanos = divmod(time_ns(), 10**9)
    return f"wf_{seconds}_{nanos}_{os.getpid()}_{_made}"


def claim(root: str, run_id: str | None) -> tuple[str, Journal]:
    """A fresh run: its id and journal. run_id: None for a new one. Raises OSError, ValueError."""
    for _ in range(TRIES if run_id is None else 1):
        name = new_id() if run_id is None else safe_id(run_id)
        folder = os.path.join(root, name)
        make_folders(folder)
        try:
            journal = Journal(folder)
        except FileExistsError:
            continue
        try:
            _locked(journal.descriptor)  # as long as it is open, no other process can resume this run
        except OSError as error:
            journal.abandon()
            with suppress(OSError):
                os.rmdir(folder)  # if nothing else was in it
            raise _no_lock(error, folder) from None
        return name, journal
    if run_id is None:
        raise ValueError("no free run id found")
    raise ValueError(
        f'a workflow run journal for "{run_id}" already exists; choose a fresh run id or resume it with --resume'
    )


def claim_segment(root: str, run_id: str | None) -> tuple[str, Journal]:
    """The next part of an existing run's journal. Raises OSError, ValueError."""
    if not run_id:
        raise ValueError("workflow resume requires an explicit run id (set SEMA_WORKFLOW_RUN_ID)")
    folder = os.path.join(root, safe_id(run_id))
    first = os.path.join(folder, FIRST_NAME)
    if not os.path.isfile(first):
        raise ValueError(CANNOT_RESUME.format(first))
    held = os.open(first, os.O_RDONLY | O_CLOEXEC)
    try:
        is_ours = _locked(held)
    except OSError as error:
        os.close(held)
        raise _no_lock(error, folder) from None
    if not is_ours:
        os.close(held)
        raise ValueError(f'workflow run "{run_id}" is still running; resume it when it has ended')
    number = 1
    while True:
        try:
            return run_id, Journal(folder, number, held)
        except FileExistsError:
            number += 1


def _no_lock(error: OSError, folder: str) -> OSError:
    why = f"cannot lock the journal ({error.strerror or error}); keep runs on a file system with locks (flock)"
    return OSError(error.errno, why, folder)


def _locked(descriptor: int) -> bool:
    """Locks a file for as long as it is open, or its process lives; False when somebody else has. Raises OSError where
    the system or the file system can't lock: whether somebody writes this run isn't known then."""
    from sema_runtime.support.shared_files import locked

    return locked(descriptor)
