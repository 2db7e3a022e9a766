"""The files of a journal, read as they are: whole lines, never more than a piece in memory.

A journal is `events.jsonl` and, for the n-th resume, `events.resume-n.jsonl`. A line counts when its end is there: one
that is still being written, or was cut off by a crash, waits.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_right
from itertools import accumulate

from sema_runtime.workflow.journal.parser import fields_of
from sema_runtime.workflow.journal.writer import segment_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

PIECE = 1 << 17  # bytes read at once: some milliseconds of work
LONGEST = 64 << 20  # bytes of a line; a longer one counts as damaged
END = 2048  # bytes of the end of a journal: run.ended stands there
HEAD = 64 * 1024  # bytes of the first line that are read


def segment_files(folder: str) -> list[str]:
    """The files of a run's journal, in order; [] when the folder is no run."""
    paths: list[str] = []
    while os.path.isfile(path := os.path.join(folder, segment_name(len(paths)))):
        paths.append(path)
    return paths


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


ABOUT = {
    "run.started": ("workflow",),
    "run.ended": ("status", "reason"),
    "phase.started": ("phase",),
    "phase.ended": ("phase", "status"),
    "agent.started": ("agent_id",),
    "agent.result": ("agent_id", "status"),
    "agent.tool_call": ("agent_id", "tool_name"),
    "agent.tool_result": ("agent_id", "tool_name"),
    "agent.presumed": ("agent", "segment"),
    "checkpoint": ("key", "value"),
    "budget": ("agent_id", "input_tokens", "output_tokens"),
    "journal.overflow": ("reason",),
}


def about(fields: dict[str, Any]) -> str:
    """What an event is about, in short: of events that aren't known, everything."""
    names = ABOUT.get(fields["event"]) or [name for name in fields if name not in ("event", "seq", "ts")]
    return " · ".join(str(fields[name]) for name in names if fields.get(name) is not None)


class Segment:
    """One file of a journal. read: bytes of whole lines seen so far; damaged: lines among them that are no events."""

    def __init__(self, folder: str, number: int) -> None:
        self.number = number
        self.path = os.path.join(folder, segment_name(number))
        self.inode = 0
        self.read = 0
        self.damaged = 0
        self.unfinished = 0  # bytes behind the last end of line
        self.first = array("I")  # numbers of the events with which pieces begin, and where in the file these are
        self.place = array("Q")

    def next_piece(self, stop: int = 0) -> tuple[int, bytes | None] | None:
        """The next whole lines, as (offset of the first byte, lines); (offset, None) for a line that is too long; None
        when there is nothing new. stop: an offset at which a piece ends if it reaches it. Raises OSError."""
        begin = self.read
        with open(self.path, "rb") as file:
            file.seek(begin)
            piece = file.read(min(PIECE, stop - begin) if begin < stop else PIECE)
            if piece[-1:] != b"\n":
                piece += file.readline(LONGEST)
            end = piece.rfind(b"\n") + 1
            self.unfinished = len(piece) - end
            if end:
                self.read += end
                return begin, piece[:end]
            if self.unfinished >= LONGEST and (length := self._end_of_line(file)):
                self.read += length
                return begin, None
        return None

    def _end_of_line(self, file: Any) -> int:
        """The length of a line that is too long; 0 when its end isn't there."""
        file.seek(self.read)
        length = 0
        while part := file.readline(PIECE):
            length += len(part)
            if part.endswith(b"\n"):
                self.unfinished = 0
                return length
        self.unfinished = length
        return 0

    def fresh(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """(offset, fields) of the events that came since the last time. Raises OSError."""
        while (piece_at := self.next_piece()) is not None:
            at, piece = piece_at
            if piece is None:
                self.damaged += 1
                continue
            for line in piece.split(b"\n")[:-1]:
                fields = fields_of(line)
                if fields is not None:
                    yield at, fields
                elif line.strip():
                    self.damaged += 1
                at += len(line) + 1

    def at(self, offset: int) -> Event:
        """The event at an offset that `fresh` gave. Raises OSError, ValueError when the file has changed."""
        with open(self.path, "rb") as file:
            file.seek(offset)
            return self.event(offset, file.readline(LONGEST))

    def event(self, offset: int, line: bytes) -> Event:
        """A line as an event. Raises ValueError when it is none."""
        fields = fields_of(line)
        if fields is None:
            raise ValueError(f"{self.path}: no event at {offset}")
        return Event(self.number, offset, fields)

    # Where events stand, by their numbers

    def note(self, event: int, place: int, alone: bool) -> None:
        """The event of this number stands here, and those that follow behind it. alone: no others."""
        if alone or not self.place or place - self.place[-1] >= PIECE:
            self.first.append(event)
            self.place.append(place)

    def span(self, event: int) -> tuple[int, int, int]:
        """A part of the file in which an event stands: (number of its first event, where it begins, where it ends)."""
        at = bisect_right(self.first, event) - 1
        return self.first[at], self.place[at], self.place[at + 1] if at + 1 < len(self.place) else self.read

    def lines(self, begin: int, end: int) -> list[tuple[int, bytes]]:
        """The lines of a part, and where they begin: one for each event. Raises OSError."""
        if end - begin > 2 * PIECE + LONGEST:  # one line that is too long
            return [(begin, b"")]
        with open(self.path, "rb") as file:
            file.seek(begin)
            data = file.read(end - begin)
        lines = data.split(b"\n")
        places = accumulate((len(line) + 1 for line in lines), initial=begin)
        return [(at, line) for at, line in zip(places, lines, strict=False) if line and not line.isspace()]


def first_event(path: str) -> dict[str, Any]:
    """The first line of a journal; {} when it is damaged. Raises OSError."""
    with open(path, "rb") as file:
        return fields_of(file.readline(HEAD)) or {}


def last_event(path: str) -> dict[str, Any]:
    """The last whole line of a journal; {} when it is damaged or longer than END. Raises OSError."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - END))
        lines = file.read(END).split(b"\n")
    return (fields_of(lines[-2]) or {}) if len(lines) > 1 else {}
