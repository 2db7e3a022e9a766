"""What finished leaves and checkpoints gave: `memo/KEY.json`. That the file exists means that its leaf has finished.

`keep` returns when the disk has the file. Where other tasks could go on meanwhile a thread writes it, together with all
that came while it wrote the ones before: many leaves that end at once wait for the disk together.
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
    from collections.abc import Sequence
    from concurrent.futures import ThreadPoolExecutor
    from typing import Any

MOST = 100_000
"""Memos written in one run (the reference stops at 4096, and repeats the leaves beyond)."""


WRITERS = 8
"""Threads that write memos which come together: the disk takes several in little more time than one."""


@cache
def _writers() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(WRITERS, "sema-memos")


class Memos:
    """folder: `memo` of a run's directory, made when it is needed."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.most = setting("SEMA_WORKFLOW_MEMO_MAX", MOST)
        self.count = 0
        self.made = False
        self.lock = Lock()
        self.queue: list[tuple[str, str, Any]] = []  # key, text, what to call when it is written
        self.working = False

    def find(self, key: str) -> Any:
        """The value kept under a key. MISSING: there is none, or it can't be read."""
        try:
            with open(os.path.join(self.folder, f"{key}.json"), encoding="utf-8", newline="") as file:
                return from_json(file.read())
        except (OSError, UnicodeDecodeError, SemaError):
            return MISSING

    def keep(self, key: str, text: str) -> None:
        """Writes a memo. One that can't be written (no room, no permission) is left out: its leaf will run again."""
        if self.count >= self.most:
            return
        self.count += 1
        from sema_runtime.tasks.background import others_may_run

        if not others_may_run():
            self._write([(key, text)])
            return
        from sema_runtime.tasks import finish

        finish(self._written(key, text))

    async def _written(self, key: str, text: str) -> None:
        from asyncio import get_running_loop

        loop = get_running_loop()
        done = loop.create_future()

        def settle() -> None:
            if not done.done():
                done.set_result(None)

        with self.lock:
            self.queue.append((key, text, lambda: loop.call_soon_threadsafe(settle)))
            starts, self.working = not self.working, True
        if starts:
            loop.run_in_executor(None, self._work)
        await done

    def _work(self) -> None:
        """In a thread: writes what is in the queue until it is empty."""
        while True:
            with self.lock:
                batch, self.queue = self.queue, []
                if not batch:
                    self.working = False
                    return
            self._write([(key, text) for key, text, _ in batch])
            for _, _, tell in batch:
                try:
                    tell()
                except RuntimeError:  # the loop was closed meanwhile
                    continue

    def _write(self, batch: Sequence[tuple[str, str]]) -> None:
        if not self.made:
            try:
                os.makedirs(self.folder, exist_ok=True)
            except OSError:
                return
            self.made = True
        if len(batch) == 1:
            self._put(batch[0])
        else:
            list(_writers().map(self._put, batch))
        files.sync_folder(self.folder, "memo")

    def _put(self, memo: tuple[str, str]) -> None:
        key, text = memo
        name = f"{key}.json"
        with suppress(OSError):
            files.rename(self.folder, name, files.prepare(self.folder, name, f"{text}\n".encode(), "memo"), "memo")

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
