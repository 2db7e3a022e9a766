"""A journal that is read as it grows: its files in order, only what is new, a piece at a time."""

from __future__ import annotations

import gc
import json
import os
import re
from contextlib import contextmanager

from sema_runtime.workflow.viewer.state import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import Any

PIECE = 1 << 18  # bytes read at once: some milliseconds of folding
LONGEST = 16 << 20  # bytes of a line; a longer one counts as damaged
END = 2048  # bytes of the end of a journal: run.ended stands there
HEAD = 64 * 1024  # bytes of the first line that are looked at
LINE_SHOWN = 1 << 20  # bytes of one event that are sent to the page
# a tool call as our own format has it is known by its beginning, without taking the whole line apart
CALL = re.compile(
    rb'\{"event":"agent\.tool_call","seq":\d+,"ts":"([^"\\]*)","agent_id":"([^"\\]*)","tool_name":"'
).match
decode = json.JSONDecoder().decode


def segment_name(number: int) -> str:
    """The file of a segment: 0 for the first run, n for the n-th resume."""
    return f"events.resume-{number}.jsonl" if number else "events.jsonl"


class Journal:
    """The journal of one run and the state folded from it. generation changes when the files were replaced, and all
    numbers of events with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.generation = 0
        self._forget()

    def _forget(self) -> None:
        self.generation += 1
        self.state = State()
        self.segment = -1
        self.done = 0  # bytes of the current segment that are folded
        self.rest = b""  # an unfinished line behind them
        self.skipping = False  # in a line that is too long
        self.segments_there = 0
        self.marks: list[tuple[int, int]] = []  # (inode, bytes folded) of each segment

    @property
    def cursor(self) -> str:
        """Where the state stands: changes with every event."""
        return f"{self.generation}-{len(self.state.kind)}"

    def unread(self) -> int:
        """How many bytes of all segments are not folded yet. Begins anew when files were replaced or cut."""
        total = 0
        number = 0
        while True:
            try:
                found = os.stat(self.folder / segment_name(number))
            except OSError:
                break
            if number <= self.segment:
                inode, folded = self.marks[number] if number < self.segment else (self.marks[number][0], self.done)
                if found.st_ino != inode or found.st_size < folded:
                    self._forget()
                    return self.unread()
                total += found.st_size - folded if number == self.segment else 0
            else:
                total += found.st_size
            number += 1
        if number <= self.segment:
            self._forget()
            return self.unread()
        self.segments_there = number
        waiting = len(self.rest) if self.segment == number - 1 else 0
        return max(0, total - waiting)

    def size(self) -> int:
        """Bytes of all segments."""
        return sum(os.path.getsize(self.folder / segment_name(number)) for number in range(self.segments_there))

    def read(self, pieces: int = 1) -> bool:
        """Folds up to so many pieces; whether there is more. Call `unread` first."""
        for _ in range(pieces):
            if self.segment < 0 and not self._next():
                return False
            if not self._piece() and not self._next():
                return False
        return True

    def _next(self) -> bool:
        """Goes to the next segment, if there is one."""
        path = self.folder / segment_name(self.segment + 1)
        try:
            inode = os.stat(path).st_ino
        except OSError:
            return False
        if self.segment >= 0:
            self.marks[self.segment] = (self.marks[self.segment][0], self.done)
        self.segment += 1
        self.marks.append((inode, 0))
        self.done, self.rest, self.skipping = 0, b"", False
        self.state.begin_segment()
        return True

    def _piece(self) -> bool:
        """Folds the next piece of the segment; whether there was one."""
        try:
            with open(self.folder / segment_name(self.segment), "rb") as file:
                file.seek(self.done + len(self.rest))
                piece = file.read(PIECE)
        except OSError:
            return False
        if not piece:
            return False
        end = piece.rfind(b"\n")
        if end < 0:
            self._unfinished(piece)
            return True
        whole = self.rest + piece[: end + 1]
        with uncollected():
            self._fold(whole)
        self.done += len(whole)
        self.rest = piece[end + 1 :]
        return True

    def _unfinished(self, piece: bytes) -> None:
        self.rest += piece
        if len(self.rest) > LONGEST:
            if not self.skipping:
                self.state.add(self.done, None)
            self.skipping = True
            self.done += len(self.rest)
            self.rest = b""

    def _fold(self, whole: bytes) -> None:
        lines = whole.split(b"\n")
        lines.pop()
        offset = self.done
        if self.skipping:
            self.skipping = False
            offset += len(lines.pop(0)) + 1
        call, add, add_call = CALL, self.state.add, self.state.add_call
        calls = [call(line) if line.endswith(b"}") else None for line in lines]
        others = iter(events_of([line for line, found in zip(lines, calls, strict=True) if found is None]))
        for line, found in zip(lines, calls, strict=True):
            if found is not None:
                stamp, who = found.groups()
                add_call(offset, stamp.decode(errors="replace"), who.decode(errors="replace"))
            else:
                event = next(others)
                if line.strip():
                    add(offset, event)
            offset += len(line) + 1

    def last_event(self) -> dict[str, Any]:
        """The last event of the last segment, before everything is read; {} when it can't be."""
        try:
            return last_event(self.folder / segment_name(self.segments_there - 1))
        except OSError:
            return {}

    # Lines again, for those who want to see them

    def line(self, event: int) -> bytes:
        """The line of an event, cut at LINE_SHOWN bytes; empty when it can't be read."""
        state = self.state
        number = state.segment_of(event)
        try:
            with open(self.folder / segment_name(number), "rb") as file:
                file.seek(state.offset[event])
                return file.readline(LINE_SHOWN + 1).rstrip(b"\n")
        except OSError:
            return b""

    def event(self, event: int) -> dict[str, Any]:
        """An event as its fields; {} for a damaged one."""
        return parsed(self.line(event)) or {}

    def events(self, numbers: Iterable[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Events as (number, fields)."""
        for number in numbers:
            yield number, self.event(number)

    def lines(self, numbers: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """The lines of events in rising order, read through."""
        state = self.state
        file, segment = None, -1
        try:
            for number in numbers:
                wanted = state.segment_of(number)
                if wanted != segment:
                    if file is not None:
                        file.close()
                    segment = wanted
                    file = open(self.folder / segment_name(wanted), "rb", PIECE)  # noqa: SIM115 - closed below
                assert file is not None
                if file.tell() != state.offset[number]:
                    file.seek(state.offset[number])
                yield number, file.readline(LINE_SHOWN + 1)
        except OSError:
            return
        finally:
            if file is not None:
                file.close()


@contextmanager
def uncollected() -> Iterator[None]:
    """Without looking for garbage in cycles meanwhile: thousands of short-lived events would be looked at in vain."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def first_event(path: Path) -> dict[str, Any]:
    """The first line of a journal."""
    with open(path, "rb") as file:
        return parsed(file.readline(HEAD)) or {}


def last_event(path: Path) -> dict[str, Any]:
    """The last whole line of a journal; {} when it is damaged or longer than END."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - END))
        lines = file.read(END).split(b"\n")
    return parsed(lines[-2]) or {} if len(lines) > 1 else {}


def parsed(line: bytes) -> dict[str, Any] | None:
    """The fields of a line; None for a damaged one."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def events_of(lines: list[bytes]) -> list[Any]:
    """The fields of lines, None for damaged ones. All at once, which is twice as fast, unless one is damaged."""
    try:
        found = decode("[" + b",".join(lines).decode() + "]")
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, list) and len(found) == len(lines):
        return found
    return [parsed(line) for line in lines]
