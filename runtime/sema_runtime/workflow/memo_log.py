"""`memo.jsonl`: the memos of a run once more, one JSON object a line, in the order in which their leaves ended.

    {"key":"0f..._0","segment":0,"agent_id":"writer_1","value":"text"}
    {"key":"1e..._0","segment":0,"checkpoint":"files","value":["a.md"]}
    {"key":"2d..._0","from":"wf_1","value":3}

segment: the number of the journal's file. from: the run that it was taken from. The log is what a leaf waits for until
the disk has it: one file, so that many leaves that end at once wait for one write. The files of the memos are left to
the system; those that a power failure took or emptied are read from here.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress

from sema_runtime.json_input import loads
from sema_runtime.lib.file_access import write_all
from sema_runtime.workflow import faults, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

NAME = "memo.jsonl"
BEFORE_KEY, BEFORE_VALUE = b'{"key":"', b',"value":'


def line(key: str, where: dict[str, Any], text: str) -> bytes:
    """A line of the log. where: the fields between the key and the value; text: the value as JSON."""
    fields = "".join(f',"{name}":{json.dumps(value, ensure_ascii=False)}' for name, value in where.items())
    return f'{{"key":"{key}"{fields},"value":{text}}}\n'.encode("utf-8", "replace")


def value_of(line: bytes) -> str:
    """The JSON of a line's value. Raises ValueError for a damaged line."""
    if not line.endswith(b"}\n"):
        raise ValueError("cut off")
    return line[line.index(BEFORE_VALUE) + len(BEFORE_VALUE) : -2].decode()  # in a string its quotes would be escaped


class MemoLog:
    """folder: the run's directory. The file is made with the first line."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.path = os.path.join(folder, NAME)
        self.descriptor: int | None = None

    def append(self, data: bytes) -> None:
        """Adds lines; `sync` waits until the disk has them. Raises OSError; then none of them is in the file."""
        descriptor = self._opened()
        size = os.fstat(descriptor).st_size
        if faults.armed:
            faults.passed("memo.log.before")
        try:
            write_all(descriptor, data)
        except OSError:
            os.ftruncate(descriptor, size)
            raise
        if faults.armed:
            faults.passed("memo.log.after")

    def sync(self) -> None:
        """Any thread may call it."""
        if faults.armed:
            faults.passed("memo.sync.before")
        if self.descriptor is not None:
            with suppress(OSError):
                files.sync_data(self.descriptor)
        if faults.armed:
            faults.passed("memo.sync.after")

    def _opened(self) -> int:
        if self.descriptor is None:
            self.descriptor = files.open_lines(self.path)
            files.sync_folder(self.folder, "memo")
        return self.descriptor

    def close(self) -> None:
        if self.descriptor is not None:
            with suppress(OSError):
                os.close(self.descriptor)
            self.descriptor = None


def entries(folder: str) -> Iterator[tuple[str, dict[str, Any], bytes]]:
    """What the log of a run says: key, all fields, the line. Damaged lines are left out. Raises OSError."""
    with open(os.path.join(folder, NAME), "rb") as file:
        for one in file:
            try:
                fields = loads(one)
                key = fields["key"]
            except (ValueError, RecursionError, KeyError, TypeError):
                continue
            if isinstance(key, str) and "value" in fields and one.endswith(b"\n"):
                yield key, fields, one


class Lost:
    """The memos whose files a power failure took or emptied: by key, as the log has them.

    A log that isn't newer than the last change in the folder of the memos says nothing of files that are missing:
    somebody has deleted them, so that their leaves run again.
    """

    def __init__(self, folder: str, memos: str) -> None:
        self.path = os.path.join(folder, NAME)
        self.offsets: dict[bytes, int] | None = None  # of the lines, once they are needed
        try:
            self.has_missing = os.stat(memos).st_mtime_ns < os.stat(self.path).st_mtime_ns
        except OSError:  # there is no log; or somebody has deleted the folder
            self.has_missing = False

    def find(self, key: str, is_missing: bool) -> str | None:
        """The JSON of a value; None when the log doesn't have it, or isn't to be asked for a file that is missing."""
        if is_missing and not self.has_missing:
            return None
        try:
            if self.offsets is None:
                self.offsets = self._read()
            offset = self.offsets.get(key.encode())
            if offset is None:
                return None
            with open(self.path, "rb") as file:
                file.seek(offset)
                return value_of(file.readline())
        except (OSError, ValueError):
            return None

    def _read(self) -> dict[bytes, int]:
        offsets, at, start = {}, 0, len(BEFORE_KEY)
        with open(self.path, "rb") as file:
            for one in file:
                if one.startswith(BEFORE_KEY):
                    offsets[one[start : one.find(b'"', start)]] = at
                at += len(one)
        return offsets
