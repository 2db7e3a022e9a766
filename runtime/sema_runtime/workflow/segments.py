"""The files of a journal, read as they are: events line by line, what is damaged skipped, never more than a piece in
memory.

A journal is `events.jsonl` and, for the n-th resume, `events.resume-n.jsonl`. A line counts when its end is there: one
that is still being written, or was cut off by a crash, waits.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

PIECE = 1 << 20  # bytes read at once
LONGEST = 64 << 20  # bytes of a line; a longer one counts as damaged
BLANK: Any = object()  # of a line without anything
_scan: Any = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # the value at a place, and where it ends


def segment_name(number: int) -> str:
    """The file of a segment: 0 for the first run, n for the n-th resume."""
    return f"events.resume-{number}.jsonl" if number else "events.jsonl"


class Event:
    """One line of a journal. data: all its fields as they are, also those that this version doesn't know."""

    __slots__ = ("data", "offset", "segment")

    def __init__(self, segment: int, offset: int, data: dict[str, Any]) -> None:
        self.segment = segment
        self.offset = offset  # of its first byte in the file
        self.data = data

    @property
    def name(self) -> str:
        name: str = self.data["event"]
        return name

    @property
    def seq(self) -> int | None:
        """The number in its file; None for the events that have none."""
        seq = self.data.get("seq")
        return seq if type(seq) is int else None

    @property
    def ts(self) -> str:
        return self.text("ts")

    def text(self, field: str) -> str:
        """A field as text; "" when it is absent or something else."""
        value = self.data.get(field)
        return value if type(value) is str else ""

    def __repr__(self) -> str:
        return f"Event({self.segment}, {self.offset}, {self.data})"


class Segment:
    """One file of a journal. read: bytes of whole lines seen so far; damaged: lines among them that are no events."""

    def __init__(self, folder: str, number: int) -> None:
        self.number = number
        self.path = os.path.join(folder, segment_name(number))
        self.read = 0
        self.damaged = 0
        self.unfinished = 0  # bytes behind the last end of line

    def fresh(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """(offset, fields) of the events that came since the last time. Raises OSError."""
        with open(self.path, "rb") as file:
            file.seek(self.read)
            while True:
                piece = file.read(PIECE)
                if piece[-1:] != b"\n":
                    piece += file.readline(LONGEST)
                end = piece.rfind(b"\n") + 1
                self.unfinished = len(piece) - end
                if end:
                    yield from self._events(piece[:end], self.read)
                    self.read += end
                if self.unfinished >= LONGEST:
                    self._skip_line(file)
                if self.unfinished or not piece:
                    return

    def _skip_line(self, file: Any) -> None:
        """Goes behind a line that is too long, if its end is there."""
        file.seek(self.read)
        skipped = 0
        while part := file.readline(PIECE):
            skipped += len(part)
            if part.endswith(b"\n"):
                self.read += skipped
                self.damaged += 1
                self.unfinished = 0
                return
        self.unfinished = skipped

    def _events(self, piece: bytes, base: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """The events in whole lines that begin at byte base."""
        try:
            text = piece.decode()
        except UnicodeDecodeError:
            for line in piece.split(b"\n")[:-1]:
                yield from ((base, fields) for _, fields in self._objects(line.decode("utf-8", "replace") + "\n"))
                base += len(line) + 1
            return
        if text.isascii():
            for start, fields in self._objects(text):
                yield base + start, fields
            return
        before = 0
        for start, fields in self._objects(text):
            base += len(text[before:start].encode())
            before = start
            yield base, fields

    def _objects(self, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """(start, fields) of the events in whole lines."""
        at, end = 0, len(text)
        while at < end:
            try:
                fields, behind = _scan(text, at)
                if text[behind] != "\n":  # spaces, or the rest of something else
                    rest, behind = behind, text.index("\n", behind)
                    fields = None if text[rest:behind].strip() else fields
                if text.find("\n", at, behind) >= 0:  # an event is one line
                    raise ValueError
            except (ValueError, StopIteration, RecursionError):
                behind = text.index("\n", at)
                fields = None if text[at:behind].strip() else BLANK
            if type(fields) is dict and type(fields.get("event")) is str:
                yield at, fields
            elif fields is not BLANK:
                self.damaged += 1
            at = behind + 1

    def at(self, offset: int) -> Event:
        """The event at an offset that `fresh` gave. Raises OSError, ValueError when the file has changed."""
        with open(self.path, "rb") as file:
            file.seek(offset)
            fields = json.loads(file.readline().decode("utf-8", "replace"))
        if type(fields) is not dict or type(fields.get("event")) is not str:
            raise ValueError(f"{self.path}: no event at {offset}")
        return Event(self.number, offset, fields)
