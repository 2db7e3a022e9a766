"""A journal that is read as it grows: its files in order, only what is new, a piece at a time.

reader = Reader(folder)
reader.refresh()                 # or little by little: while reader.unread() and reader.read(4): ...
reader.state                     # the state of the run by now
reader.event(7)                  # an event by its number, read again
"""

from __future__ import annotations

import os
import stat

from sema_runtime.workflow.journal.parser import events_of
from sema_runtime.workflow.journal.segments import Event, Segment, last_event
from sema_runtime.workflow.journal.writer import segment_name
from sema_runtime.workflow.read.reducer import RunState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KEPT = 4 << 20  # bytes of a part of a file that stays in memory


class Reader:
    """The journal of one run, and its state. generation: changes when the files were replaced, and all numbers of
    events with it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.generation = 0
        self._forget()

    def _forget(self) -> None:
        self.generation += 1
        self.state = RunState()
        self.segments: list[Segment] = []  # read so far
        self.there = 0  # how many files there are
        self.part: tuple[int, int, int, list[tuple[int, bytes]]] = (-1, 0, 0, [])  # read last

    @property
    def cursor(self) -> str:
        """How far the journal is read: changes with every event."""
        return f"{self.generation}-{len(self.state.kind)}"

    # Reading on

    def unread(self) -> int:
        """How many bytes of all segments are not read yet. Restarts when files were replaced or cut."""
        total = self.there = 0
        while (status := self._file(self.there)) is not None:
            if self.there >= len(self.segments):
                total += status.st_size
            else:
                segment = self.segments[self.there]
                if status.st_ino != segment.inode or status.st_size < segment.read:
                    self._forget()
                    return self.unread()
                if segment is self.segments[-1]:
                    total += max(0, status.st_size - segment.read - segment.unfinished)
            self.there += 1
        if self.there < len(self.segments):
            self._forget()
            return self.unread()
        return total

    def _file(self, number: int) -> os.stat_result | None:
        try:
            status = os.stat(os.path.join(self.folder, segment_name(number)))
        except OSError:
            return None
        return status if stat.S_ISREG(status.st_mode) else None

    def size(self) -> int:
        """Bytes of all segments."""
        return sum(status.st_size for number in range(self.there) if (status := self._file(number)) is not None)

    def refresh(self) -> int:
        """Reads everything new; the number of new events. Raises OSError."""
        before = (self.generation, len(self.state.kind) - self.state.damaged)
        self.unread()
        while self.read():
            pass
        read = len(self.state.kind) - self.state.damaged
        return read - before[1] if self.generation == before[0] else read

    def read(self, pieces: int = 1) -> bool:
        """Reads up to so many pieces; True when there may be more. Call `unread` first. Raises OSError."""
        return all(self._piece() for _ in range(pieces))

    def _piece(self) -> bool:
        while True:
            if self.segments and self._apply_piece(self.segments[-1]):
                return True
            if len(self.segments) >= self.there:
                return False
            segment = Segment(self.folder, len(self.segments))
            segment.inode = os.stat(segment.path).st_ino
            self.segments.append(segment)
            self.state.begin_segment()

    def _apply_piece(self, segment: Segment) -> bool:
        """Applies the next piece of a segment; False when there is none."""
        following = segment.next_piece()
        if following is None:
            return False
        place, piece = following
        damaged = self.state.damaged
        segment.note(len(self.state.kind), place, piece is None)
        self.state.apply([None] if piece is None else events_of(piece))
        segment.damaged += self.state.damaged - damaged
        return True

    def last_event(self) -> dict[str, Any]:
        """The last event of the last segment, before everything is read; {} when it can't be."""
        try:
            return last_event(os.path.join(self.folder, segment_name(self.there - 1)))
        except OSError:
            return {}

    # Events again, by their numbers

    def place(self, event: int) -> tuple[int, int, bytes]:
        """(segment, where its line begins, the line). Raises OSError, ValueError when the file has changed."""
        number = self.state.segment_of(event)
        segment = self.segments[number]
        first, begin, end = segment.span(event)
        part = self.part
        if part[:3] != (number, begin, end):
            part = (number, begin, end, segment.lines(begin, end))
            if end - begin <= KEPT:
                self.part = part
        if event - first >= len(part[3]):
            raise ValueError(f"{segment.path}: no event at {begin}")
        return number, *part[3][event - first]

    def event(self, event: int) -> Event:
        """Raises OSError, ValueError when it is damaged or the file has changed."""
        number, offset, line = self.place(event)
        return self.segments[number].event(offset, line)

    def line(self, event: int) -> bytes:
        """The line of an event; empty when it can't be read."""
        try:
            return self.place(event)[2]
        except (OSError, ValueError, IndexError):
            return b""
