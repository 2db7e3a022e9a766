"""What finished leaves and checkpoints gave: `memo/KEY.json`. That the file exists means that its leaf has finished.

`keep` returns when the disk has the file. Where other tasks could go on meanwhile, threads wait for the disk, for all
that came while they waited for the ones before: many leaves that end at once wait together.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from threading import Lock

from sema_runtime.values.errors import SemaError
from sema_runtime.values.maps import MISSING
from sema_runtime.workflow import files
from sema_runtime.workflow.journal import setting
from sema_runtime.workflow.render import from_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from concurrent.futures import ThreadPoolExecutor
    from typing import Any

MOST = 100_000
"""Memos written in one run (the reference stops at 4096, and repeats the leaves beyond)."""


WAITING = 8
"""Threads that wait for the disk: it takes several files in little more time than one."""


@cache
def _pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(WAITING, "sema-memos")


class Memos:
    """folder: `memo` of a run's directory, made when it is needed."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.most = setting("SEMA_WORKFLOW_MEMO_MAX", MOST)
        self.count = 0
        self.made = False
        self.lock = Lock()
        self.queue: list[tuple[int, Any]] = []  # descriptor, the future of who waits for it
        self.working = False

    def find(self, key: str) -> Any:
        """The value kept under a key. MISSING: there is none, or it can't be read."""
        try:
            with open(os.path.join(self.folder, f"{key}.json"), encoding="utf-8", newline="") as file:
                text = file.read()
            return from_json(text) if text.endswith("\n") else MISSING  # else its end is missing
        except (OSError, UnicodeDecodeError, SemaError):
            return MISSING

    def keep(self, key: str, text: str) -> None:
        """Writes a memo. One that can't be written (no room, no permission) is left out: its leaf will run again."""
        if self.count >= self.most:
            return
        self.count += 1
        try:
            if not self.made:
                os.makedirs(self.folder, exist_ok=True)
                self.made = True
            descriptor = files.put(self.folder, f"{key}.json", f"{text}\n".encode(), "memo")
        except OSError:
            return
        from sema_runtime.tasks.background import others_may_run

        if not others_may_run():
            self._sync([descriptor])
            return
        from sema_runtime.tasks import finish

        finish(self._synced(descriptor))

    async def _synced(self, descriptor: int) -> None:
        from asyncio import get_running_loop

        loop = get_running_loop()
        done = loop.create_future()
        with self.lock:
            self.queue.append((descriptor, done))
            starts, self.working = not self.working, True
        if starts:
            loop.run_in_executor(None, self._work, loop)
        await done

    def _work(self, loop: AbstractEventLoop) -> None:
        """In a thread: syncs what is in the queue until it is empty."""
        while True:
            with self.lock:
                batch, self.queue = self.queue, []
                if not batch:
                    self.working = False
                    return
            self._sync([descriptor for descriptor, _ in batch])
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(_settle, [done for _, done in batch])

    def _sync(self, descriptors: list[int]) -> None:
        if len(descriptors) == 1:
            _sync_one(descriptors[0])
        else:
            list(_pool().map(_sync_one, descriptors))
        files.sync_folder(self.folder, "memo")

    def take(self, folder: str) -> None:
        """Has all memos of another run too. (They are never changed, only replaced, so they can be the same files.)"""
        from shutil import copyfile

        with suppress(OSError):
            os.makedirs(self.folder, exist_ok=True)
            for name in os.listdir(folder):
                if name.endswith(".json"):
                    theirs, ours = os.path.join(folder, name), os.path.join(self.folder, name)
                    try:
                        os.link(theirs, ours)
                    except OSError:
                        copyfile(theirs, ours)

    def clean(self) -> None:
        """Removes what a process that died while writing has left."""
        try:
            names = os.listdir(self.folder)
        except OSError:
            return
        for name in names:
            if name.startswith(".") and name.endswith(".tmp"):
                try:
                    os.remove(os.path.join(self.folder, name))
                except OSError:
                    continue


def _sync_one(descriptor: int) -> None:
    with suppress(OSError):
        files.sync(descriptor, "memo")


def _settle(waiting: list[Any]) -> None:
    for done in waiting:
        if not done.done():
            done.set_result(None)
