"""What finished leaves and checkpoints gave: `memo/KEY.json`. That the file exists, whole, means that its leaf is done.

`keep` returns when the disk has the value (in `memo.jsonl`). A quick disk is waited for on the spot. Is it slow, and
could other tasks go on meanwhile, a thread waits: once for all that came while it was waiting before.
"""

from __future__ import annotations

import os
from contextlib import suppress
from threading import Lock
from time import monotonic
from typing import NamedTuple

from sema_runtime.lib.file_access import write_all
from sema_runtime.lib.private_files import FILE_MODE, make_file, make_folders
from sema_runtime.values.errors import SemaError
from sema_runtime.values.maps import MISSING
from sema_runtime.workflow import faults, memo_log
from sema_runtime.workflow.journal import setting
from sema_runtime.workflow.render import from_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from typing import Any

    from sema_runtime.workflow.origin import Fork

FOLDER = "memo"
MOST = 100_000
"""Memos written in one run (the reference stops at 4096, and repeats the leaves beyond)."""
QUICK = 0.002  # seconds: less than it takes to hand a wait to a thread and to get its answer, when there is much to do
WAITING_BYTES = 64 << 20  # of values that can't be written now: kept in memory until they can


class Memo(NamedTuple):
    """text: the value's JSON. logged: its line in the log."""

    key: str
    text: str
    logged: bytes


class Memos:
    """folder: the run's directory. unkept: how many values could not be written so far, and why. unread: how many kept
    ones could not be read."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.join(folder, FOLDER)
        self.log = memo_log.MemoLog(folder)
        self.lost = memo_log.Lost(folder, self.folder)
        self.most = setting("SEMA_WORKFLOW_MEMO_MAX", MOST)
        self.count = 0
        self.made = False
        self.lock = Lock()
        self.syncing: list[Any] = []  # futures of those who wait for the disk
        self.waiting: list[Memo] = []  # for room on the disk
        self.lost_count = 0
        self.trouble = ""  # what the system said last
        self.unread = 0
        self.unreadable = ""
        self.working = False  # a thread
        self.disk_takes = 0.0  # seconds, lately
        self.closed = False

    def find(self, key: str) -> Any:
        """The value kept under a key. MISSING: there is none, or it can't be read."""
        missing = False
        try:
            with open(self._path(key), encoding="utf-8", newline="") as file:
                text = file.read()
            if text.strip("\0"):
                return self._value(text)
        except FileNotFoundError:
            missing = True
        except (NotADirectoryError, IsADirectoryError):
            pass  # something is in the way; the log may have it
        except UnicodeDecodeError:
            return self._value("")
        except OSError as error:
            return self._not_read(error.strerror or "unreadable")
        logged = self.lost.find(key, missing)  # a power failure leaves no file, an empty one, or zeros
        return MISSING if logged is None else self._value(f"{logged}\n")

    def _value(self, text: str) -> Any:
        try:
            if text.endswith("\n"):  # else its end is missing
                return from_json(text)
        except SemaError:
            pass
        return self._not_read("damaged")

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
        if not self._write([Memo(key, text, memo_log.line(key, where, text))]):
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
        """Writes values, and those that wait; whether they are in the log."""
        batch, self.waiting = [*self.waiting, *batch], []
        left = [memo for memo in batch if not self._put(memo)]
        try:
            self.log.append(b"".join(memo.logged for memo in batch))
        except OSError as error:
            self.trouble = error.strerror or str(error)
            self._wait(left)
            return False
        return True

    def _wait(self, memos: list[Memo]) -> None:
        size = 0
        for memo in memos:
            size += len(memo.logged)
            if size <= WAITING_BYTES:
                self.waiting.append(memo)
            else:
                self.lost_count += 1

    @property
    def unkept(self) -> int:
        return len(self.waiting) + self.lost_count

    def _put(self, memo: Memo) -> bool:
        """Whether a memo's file could be written. What a process that died here left has no end of line."""
        path = self._path(memo.key)
        try:
            if not self.made:
                make_folders(self.folder)
                self.made = True
            if faults.armed:
                faults.passed("memo.write.before")
            descriptor = _new_file(path)
        except OSError:
            return False
        try:
            if faults.armed:
                faults.passed("memo.write.made")
            write_all(descriptor, f"{memo.text}\n".encode())
        except OSError:
            with suppress(OSError):
                os.remove(path)
            return False
        finally:
            os.close(descriptor)
        if faults.armed:
            faults.passed("memo.write.after")
        return True

    def take(self, root: str, fork: Fork) -> None:
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
                memo_log.line(key, {"from": fork.run_id}, memo_log.value_of(logged))
                for key, _, logged in memo_log.entries(run)
                if keys is None or key in keys
            ]
            if taken:
                self.log.append(b"".join(taken))
                self.log.sync()

    def close(self) -> None:
        """When the run has ended. (A task that goes on can still keep a value: the log is opened again for it.)"""
        if self.waiting and self._write([]):
            self.log.sync()
        self.closed = True
        with self.lock:
            if self.working:
                return  # the thread will close it
        self.log.close()


def _new_file(path: str) -> int:
    """The descriptor of a file that is not, as one of another name may be, one file with that of another run."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        return os.open(path, flags, FILE_MODE)
    except FileExistsError:  # damaged
        os.remove(path)
        return os.open(path, flags, FILE_MODE)


def _settle(loop: AbstractEventLoop, waiting: list[Any]) -> None:
    """Lets those go on who wait, from the last to the first. One after the other: were they all woken at once, the next
    leaves of all would start after the last of them has ended."""
    done = waiting.pop()
    if not done.done():
        done.set_result(None)
    if waiting:
        loop.call_soon(_settle, loop, waiting)
