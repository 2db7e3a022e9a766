"""A journal that is read as it grows: its files in order, only what is new, a piece at a time.

reader = Reader(folder)
reader.refresh()                 # or little by little: while reader.unread() and reader.read(4): ...
reader.fold                      # what the run is by now
reader.event(7)                  # an event again, by its number
"""

from __future__ import annotations

import gc
import os
import stat
from contextlib import contextmanager

from sema_runtime.workflow.journal.segments import Event, Segment, last_event
from sema_runtime.workflow.journal.writer import segment_name
from sema_runtime.workflow.read.reducer import Fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sema_runtime.workflow.read.reducer import Records

KEPT = 4 << 20  # bytes of a part of a file that is kept to look at again


class Reader:
    """The journal of one run and what was folded from it. generation changes when the files were replaced, and all
    numbers of events with it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.generation = 0
        self._forget()

    def _forget(self) -> None:
        self.generation += 1
        self.fold = Fold()
        self.segments: list[Segment] = []  # those that are read, or have been
        self.there = 0  # how many there are
        self.part: tuple[int, int, int, list[tuple[int, bytes]]] = (-1, 0, 0, [])  # that was looked at last

    @property
    def cursor(self) -> str:
        """Where the fold stands: changes with every event."""
        return f"{self.generation}-{len(self.fold.kind)}"

    # Reading on

    def unread(self) -> int:
        """How many bytes of all segments are not folded yet. Begins anew when files were replaced or cut."""
        total = self.there = 0
        while (found := self._file(self.there)) is not None:
            if self.there >= len(self.segments):
                total += found.st_size
            else:
                segment = self.segments[self.there]
                if found.st_ino != segment.inode or found.st_size < segment.read:
                    self._forget()
                    return self.unread()
                if segment is self.segments[-1]:
                    total += max(0, found.st_size - segment.read - segment.unfinished)
            self.there += 1
        if self.there < len(self.segments):
            self._forget()
            return self.unread()
        return total

    def _file(self, number: int) -> os.stat_result | None:
        try:
            found = os.stat(os.path.join(self.folder, segment_name(number)))
        except OSError:
            return None
        return found if stat.S_ISREG(found.st_mode) else None

    def size(self) -> int:
        """Bytes of all segments."""
        return sum(found.st_size for number in range(self.there) if (found := self._file(number)) is not None)

    def refresh(self) -> int:
        """Folds all that is new; how many events that were. Raises OSError."""
        before = (self.generation, len(self.fold.kind) - self.fold.damaged)
        self.unread()
        while self.read():
            pass
        read = len(self.fold.kind) - self.fold.damaged
        return read - before[1] if self.generation == before[0] else read

    def read(self, pieces: int = 1) -> bool:
        """Folds up to so many pieces; whether there may be more. Call `unread` first. Raises OSError."""
        return all(self._piece() for _ in range(pieces))

    def _piece(self) -> bool:
        while True:
            if self.segments and self._fold(self.segments[-1]):
                return True
            if len(self.segments) >= self.there:
                return False
            segment = Segment(self.folder, len(self.segments))
            segment.inode = os.stat(segment.path).st_ino
            self.segments.append(segment)
            self.fold.begin_segment()

    def _fold(self, segment: Segment) -> bool:
        """Folds the next piece of a segment; whether there was one."""
        found = segment.next_piece()
        if found is None:
            return False
        fold, (place, piece) = self.fold, found
        damaged = fold.damaged
        segment.note(len(fold.kind), place, piece is None)
        if piece is None:
            fold.take_line(None)
        else:
            with uncollected():
                fold.take(piece, self._records(segment.number, place, len(piece)))
        segment.damaged += fold.damaged - damaged
        return True

    def _records(self, number: int, begin: int, length: int) -> Records | None:
        """The records of a piece, where they are there already."""
        return None

    def last_event(self) -> dict[str, Any]:
        """The last event of the last segment, before everything is read; {} when it can't be."""
        try:
            return last_event(os.path.join(self.folder, segment_name(self.there - 1)))
        except OSError:
            return {}

    # Events again, by their numbers

    def place(self, event: int) -> tuple[int, int, bytes]:
        """(segment, where its line begins, the line). Raises OSError, ValueError when the file has changed."""
        number = self.fold.segment_of(event)
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


@contextmanager
def uncollected() -> Iterator[None]:
    """Without looking for garbage in cycles meanwhile: thousands of short-lived records would be looked at in vain."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
