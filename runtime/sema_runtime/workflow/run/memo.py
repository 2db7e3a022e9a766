"""The values of finished steps and checkpoints: `memo/KEY.json`. A whole file means that its step has finished.

`keep` returns when the value is on the disk (in `memo.jsonl`). With a quick disk it waits itself. With a slow one, and
other tasks that can run meanwhile, a thread waits: once for all values that came while it was waiting before.
"""

from __future__ import annotations

import os
from contextlib import suppress
from threading import Lock
from time import monotonic
from typing import NamedTuple

from sema_runtime.support.file_access import write_all
from sema_runtime.support.private_files import FILE_MODE, make_file, make_folders
from sema_runtime.systems import O_CLOEXEC
from sema_runtime.values.errors import SemaError
from sema_runtime.values.maps import MISSING
from sema_runtime.workflow.journal import crash_points, memo_log
from sema_runtime.workflow.journal.values import from_json
from sema_runtime.workflow.journal.writer import setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from typing import Any

    from sema_runtime.workflow.journal.origin import Fork

FOLDER = "memo"
MOST = 100_000
"""Memos written in one run (the reference stops at 4096, and repeats the steps beyond)."""
QUICK = 0.002  # seconds: less than handing the wait to a thread takes, when there is much to do
WAITING_BYTES = 64 << 20  # of values that can't be written now: kept in memory until they can


class Memo(NamedTuple):
    """text: the value's JSON. where: what the log says of it. filed: whether it is in its file."""

    key: str
    text: str
    where: dict[str, Any]
    filed: bool = False

    def logged(self) -> bytes:
        """Its line in the log."""
        return memo_log.line(self.key, self.where if self.filed else {**self.where, "file": False}, self.text)


class Memos:
    """folder: the run's directory. unkept: how many values could not be written so far, and why. unread: how many kept
    ones could not be read."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.join(folder, FOLDER)
        self.log = memo_log.MemoLog(folder)
        self.logged = memo_log.Logged(folder, self.folder)
        self.most = setting("SEMA_WORKFLOW_MEMO_MAX", MOST)
        self.count = 0
        self.has_folder = False
        self.lock = Lock()
        self.syncing: list[Any] = []  # futures of those who wait for the disk
        self.waiting: list[Memo] = []  # for room on the disk
        self.lost_count = 0
        self.error = ""  # what the system said last
        self.unread = 0
        self.unreadable = ""
        self.working = False  # a thread
        self.disk_takes = 0.0  # seconds, lately
        self.closed = False

    def find(self, key: str) -> Any:
        """The value kept under a key. MISSING: there is none, or it can't be read."""
        data, why, entry = b"", "", self.logged.entry(key)
        try:
            with open(self._path(key), "rb") as file:
                data = file.read()
            value = self._value(key, data.removesuffix(b"\n"), entry) if data.endswith(b"\n") else MISSING
            if value is not MISSING:
                return value
            why = "damaged" if data.strip(b"\0") else ""
        except FileNotFoundError:
            if entry is None or not (self.logged.has_missing or not entry.filed):
                return MISSING
        except (NotADirectoryError, IsADirectoryError):
            pass  # something is in the way; the log may have it
        except OSError as error:
            why = error.strerror or "unreadable"
        return self._from_log(key, data, entry, why)

    def _from_log(self, key: str, data: bytes, entry: memo_log.Entry | None, why: str) -> Any:
        """The value as the log has it. data: what is in the file. why: what is wrong with that, "" for what is no
        damage if the log doesn't have it either."""
        text = None if entry is None else self.logged.value(entry)
        if text is not None:
            value = self._value(
                key, text, None if data == text + b"\n" else entry
            )  # the same twice: the sum is damaged
            if value is not MISSING:
                return value
            why = why or "damaged"
        return self._not_read(why) if why else MISSING

    def _value(self, key: str, text: bytes, entry: memo_log.Entry | None) -> Any:
        """The value of a JSON text. MISSING: it is damaged."""
        if entry is not None and entry.sum is not None and entry.sum != memo_log.checksum(key, text):
            return MISSING
        try:
            return from_json(text.decode())
        except (SemaError, UnicodeDecodeError):
            return MISSING

    def _not_read(self, why: str) -> Any:
        self.unread += 1
        self.unreadable = why
        return MISSING

    def _path(self, key: str) -> str:
        return os.path.join(self.folder, f"{key}.json")

    def keep(self, key: str, text: str, where: dict[str, Any]) -> None:
        """Keeps a value, given as JSON. One that can be written neither to its file nor to the log (no room, no
        permission) waits in memory, and is tried again with the next one and when the run ends. where: what the log
        says of it."""
        if self.count >= self.most:
            return
        self.count += 1
        if not self._write([Memo(key, text, where)]):
            return
        from sema_runtime.tasks.background import others_may_run

        if self.disk_takes < QUICK or not others_may_run():
            self._sync_here()
            return
        from sema_runtime.tasks import interrupts, suspend
        from sema_runtime.tasks.scheduler import scheduler

        loop = scheduler().loop()
        done = loop.create_future()
        with self.lock:
            self.syncing.append(done)
            starts, self.working = not self.working, True
        if starts:
            loop.run_in_executor(None, self._sync, loop)
        try:
            with interrupts.released():
                suspend(done)
        except BaseException:  # Ctrl-C, a task that is cancelled: what is written counts nevertheless
            self.log.sync()
            raise

    def _sync_here(self) -> None:
        began = monotonic()
        self.log.sync()
        self.disk_takes += 0.3 * (monotonic() - began - self.disk_takes)

    def _sync(self, loop: AbstractEventLoop) -> None:
        """In a thread: waits for the disk as long as somebody waits for it."""
        while True:
            with self.lock:
                batch, self.syncing = self.syncing, []
                if not batch:
                    self.working = False
                    break
            self.log.sync()
            self.disk_takes *= 0.9  # now and then it is tried whether the disk is quick again
            batch.reverse()
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(_settle, loop, batch)
        if self.closed:
            self.close()

    def _write(self, batch: list[Memo]) -> bool:
        """Writes values, and those that wait; whether they are in the log. The log comes before what a file holds: it
        alone says what a step used. A file that was only created is empty, and its value is read from the log."""
        waited, self.waiting = self.waiting, []
        files = [self._create(memo.key) for memo in batch]
        batch = [memo._replace(filed=file is not None) for memo, file in zip(batch, files, strict=True)]
        lines = [memo.logged() for memo in (*waited, *batch)]
        try:
            self.log.append(b"".join(lines))
        except OSError as error:
            self.error = error.strerror or str(error)
            is_logged = False
        else:
            is_logged = True
        batch = [
            memo if file is None or self._fill(file, memo.text) or is_logged else memo._replace(filed=False)
            for memo, file in zip(batch, files, strict=True)
        ]
        if not is_logged:
            self._wait([*waited, *batch], lines)
        return is_logged

    def _wait(self, memos: list[Memo], lines: list[bytes]) -> None:
        """Has those wait that aren't in the log. (What is in a file only is kept, but without what it used.)"""
        size = 0
        for memo, line in zip(memos, lines, strict=True):
            size += len(line)
            if size <= WAITING_BYTES:
                self.waiting.append(memo)
            elif not memo.filed:
                self.lost_count += 1

    def note(self, key: str, where: dict[str, Any]) -> None:
        """Writes the line of a kept value once more, with other fields. What can't be written is left out."""
        entry = self.logged.entry(key)
        text = None if entry is None else self.logged.value(entry)
        if entry is None or text is None or entry.sum not in (None, memo_log.checksum(key, text)):
            return
        fields = {**where, **({"inside": effects} if (effects := self.logged.inside(key)) else {})}
        with suppress(OSError, UnicodeDecodeError):
            self.log.append(Memo(key, text.decode(), fields, entry.filed).logged())

    @property
    def unkept(self) -> int:
        return sum(not memo.filed for memo in self.waiting) + self.lost_count

    def _create(self, key: str) -> int | None:
        """The descriptor of a memo's file, which is new and empty. None when there can't be one."""
        try:
            if not self.has_folder:
                make_folders(self.folder)
                self.has_folder = True
            if crash_points.armed:
                crash_points.passed("memo.write.before")
            file = _new_file(self._path(key))
        except OSError:
            return None
        if crash_points.armed:
            crash_points.passed("memo.write.made")
        return file

    def _fill(self, file: int, text: str) -> bool:
        """Whether a value could be written to its file, which is empty otherwise."""
        try:
            write_all(file, f"{text}\n".encode())
        except OSError:
            with suppress(OSError):
                os.ftruncate(file, 0)
            return False
        finally:
            os.close(file)
        if crash_points.armed:
            crash_points.passed("memo.write.after")
        return True

    def copy_from(self, root: str, fork: Fork) -> None:
        """Has the memos of another run of that folder of runs, too. (A memo is never changed once it is whole, so both
        runs can have the same file.)"""
        from shutil import copyfile

        run, keys = os.path.join(root, fork.run_id), fork.keys
        theirs = os.path.join(run, FOLDER)
        with suppress(OSError):
            make_folders(self.folder)
            for name in os.listdir(theirs):
                key, end = os.path.splitext(name)
                if end == ".json" and (keys is None or key in keys):
                    try:
                        os.link(os.path.join(theirs, name), self._path(key))
                    except OSError:
                        make_file(self._path(key))
                        copyfile(os.path.join(theirs, name), self._path(key))
        with suppress(OSError):
            taken = [
                memo_log.line(key, _of_fork(fork.run_id, fields), memo_log.value_of(logged))
                for key, fields, logged in memo_log.entries(run)
                if keys is None or key in keys
            ]
            if taken:
                self.log.append(b"".join(taken))
                self.log.sync()

    def close(self) -> None:
        """Closes the log, when the run has ended. A task that outlives it can still keep a value, which reopens it."""
        if self.waiting and self._write([]):
            self.log.sync()
        self.closed = True
        with self.lock:
            if self.working:
                return  # the thread will close it
        self.log.close()


def _of_fork(run_id: str, fields: dict[str, Any]) -> dict[str, Any]:
    """What the log of a fork says of a value of the run that it comes from."""
    return {"from": run_id, **{name: fields[name] for name in ("inside", "file") if name in fields}}


def _new_file(path: str) -> int:
    """The descriptor of a file that is not, as one of another name may be, one file with that of another run."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_CLOEXEC
    try:
        return os.open(path, flags, FILE_MODE)
    except FileExistsError:  # damaged
        os.remove(path)
        return os.open(path, flags, FILE_MODE)


def _settle(loop: AbstractEventLoop, waiting: list[Any]) -> None:
    """Wakes those that wait, from the last to the first, one after the other: if all were woken at once, the next steps
    of all would start after the last of them has ended."""
    done = waiting.pop()
    if not done.done():
        done.set_result(None)
    if waiting:
        loop.call_soon(_settle, loop, waiting)
