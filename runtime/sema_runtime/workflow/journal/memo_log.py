"""`memo.jsonl`: a second copy of the memos of a run, one JSON object a line, in the order in which their steps ended.

    {"key":"0f..._0","segment":0,"agent_id":"writer_1","input_tokens":9,"output_tokens":2,"sum":"5d0f6a1c","value":"text"}
    {"key":"1e..._0","segment":0,"checkpoint":"files","sum":"0a93b5f2","value":["a.md"]}
    {"key":"2d..._0","from":"wf_1","sum":"91b6c3d4","value":3}

segment: the number of the journal's file. from: the run that it was taken from. input_tokens, output_tokens, cost_usd,
model, dur_ms: what the step used, as in the journal, which a process that is killed here no longer writes.
inside: what the step did to the keys of the run (`keys.Inside`). file: false when the memo's own file could not be
written. sum: of the key and the value, for the file and for this line.

A step waits until the log is on the disk: it is one file, so that many steps that end at once wait for one
write. The files of the memos are left to the system; those that a power failure took or emptied, and those that are
damaged, are read from here.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import NamedTuple
from zlib import crc32

from sema_runtime.support.file_access import write_all
from sema_runtime.support.json_input import loads
from sema_runtime.workflow.journal import crash_points, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

NAME = "memo.jsonl"
BEFORE_KEY, BEFORE_VALUE = b'{"key":"', b',"value":'
BEFORE_SUM, SUM_DIGITS = b',"sum":"', 8
UNFILED, INSIDE = b',"file":false', b',"inside":{'


def line(key: str, where: dict[str, Any], text: str) -> bytes:
    """A line of the log. where: the fields between the key and the value; text: the value as JSON."""
    fields = "".join(f',"{name}":{json.dumps(value, ensure_ascii=False)}' for name, value in where.items())
    data = text.encode("utf-8", "replace")
    start = f'{{"key":"{key}"{fields},"sum":"{checksum(key, data)}","value":'
    return start.encode("utf-8", "replace") + data + b"}\n"


def checksum(key: str, value: bytes) -> str:
    """Of a value's JSON, under its key: a file that has come to another name doesn't count."""
    return f"{crc32(value, crc32(key.encode())):08x}"


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
        if crash_points.armed:
            crash_points.passed("memo.log.before")
        try:
            write_all(descriptor, data)
        except OSError:
            os.ftruncate(descriptor, size)
            raise
        if crash_points.armed:
            crash_points.passed("memo.log.after")

    def sync(self) -> None:
        """Any thread may call it."""
        if crash_points.armed:
            crash_points.passed("memo.sync.before")
        if self.descriptor is not None:
            with suppress(OSError):
                files.sync_data(self.descriptor)
        if crash_points.armed:
            crash_points.passed("memo.sync.after")

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
    """The lines of a run's log: key, all fields, the line. Damaged lines are left out. Raises OSError."""
    with open(os.path.join(folder, NAME), "rb") as file:
        for row in file:
            try:
                fields = loads(row)
                key = fields["key"]
            except (ValueError, RecursionError, KeyError, TypeError):
                continue
            if isinstance(key, str) and "value" in fields and row.endswith(b"\n") and _is_whole(key, fields, row):
                yield key, fields, row


def _is_whole(key: str, fields: dict[str, Any], line: bytes) -> bool:
    return "sum" not in fields or fields["sum"] == checksum(key, value_of(line).encode())


def headers(folder: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """What the log of a run says besides the values: key and fields, line by line. Damaged lines are left out. Raises
    OSError."""
    with open(os.path.join(folder, NAME), "rb") as file:
        for row in file:
            end = row.find(BEFORE_VALUE)
            try:
                fields = json.loads(row[:end] + b"}")
                key = fields["key"]
            except (ValueError, RecursionError, KeyError, TypeError):
                continue
            if end > 0 and isinstance(key, str) and row.endswith(b"\n"):
                yield key, fields


class Entry(NamedTuple):
    """Where a line of the log is, and what stands before its value. sum: None in a log of an earlier version."""

    offset: int
    sum: str | None
    filed: bool
    has_inside: bool


class Logged:
    """What the log of a run has, by key.

    A file that is missing is read from here when the log says that it was never written, or when the log is newer than
    the last change in the folder of the memos: a power failure took it. Else somebody has deleted it, so that its step
    runs again.
    """

    def __init__(self, folder: str, memos: str) -> None:
        self.path = os.path.join(folder, NAME)
        self._entries: dict[str, Entry] | None = None  # once they are needed
        try:
            self.has_missing = os.stat(memos).st_mtime_ns < os.stat(self.path).st_mtime_ns
        except OSError:  # there is no log; or somebody has deleted the folder
            self.has_missing = False

    def entry(self, key: str) -> Entry | None:
        """The last line of a key; None when there is none, or the log can't be read."""
        if self._entries is None:
            try:
                self._entries = self._read()
            except OSError:
                self._entries = {}
        return self._entries.get(key)

    def value(self, entry: Entry) -> bytes | None:
        """The JSON of a value; None when the line can't be read any more."""
        try:
            return value_of(self._line(entry)).encode()
        except (OSError, ValueError):
            return None

    def inside(self, key: str) -> dict[str, Any]:
        """What the step did to the keys of the run; {} for most."""
        entry = self.entry(key)
        if entry is None or not entry.has_inside:
            return {}
        try:
            effects = json.loads(self._line(entry))["inside"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return {}
        return effects if type(effects) is dict else {}

    def _line(self, entry: Entry) -> bytes:
        with open(self.path, "rb") as file:
            file.seek(entry.offset)
            return file.readline()

    def _read(self) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        at, start = 0, len(BEFORE_KEY)
        with open(self.path, "rb") as file:
            for row in file:
                end = row.find(BEFORE_VALUE)
                if end > 0 and row.startswith(BEFORE_KEY):
                    fields = row[:end]
                    key = fields[start : fields.find(b'"', start)].decode("ascii", "replace")
                    entries[key] = Entry(at, _sum_of(fields), UNFILED not in fields, INSIDE in fields)
                at += len(row)
        return entries


def _sum_of(fields: bytes) -> str | None:
    """The checksum, the last of a line's fields before the value."""
    at = len(fields) - SUM_DIGITS - 1
    if fields[at - len(BEFORE_SUM) : at] != BEFORE_SUM:
        return None
    return fields[at:-1].decode("ascii", "replace")
