"""A large journal's lines, taken apart by a process of its own while the server folds them: with two cores the tree is
there in two thirds of the time. The process goes through the journal as the server does, a few pieces ahead of it. What
it hasn't got yet, and everything once it has failed, the server does itself.

    python -I -S ahead.py FOLDER NUMBER BEGIN SIZE

begins at a place in the file of this number, reads SIZE bytes at once, and writes for pieces of whole lines a HEAD and
their records as `marshal` has them. It reads a byte for each piece that the server comes to, so that it leaves out
those for which it would be too late.
"""

from __future__ import annotations

import marshal
import os
import struct
import sys
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sema_runtime.workflow.journal.segments import Segment
    from sema_runtime.workflow.read.reducer import Records

HEAD = struct.Struct("=IQII")  # number of the file, where the piece begins, its length, that of the records
LEAD = 2  # pieces that the server has before it while the process does one
ROOM = 1 << 20  # bytes in the pipe between the processes, where it can be had


class Ahead:
    """The process, from where a segment has been read on. Raises OSError when there can be none."""

    def __init__(self, folder: str, after: Segment) -> None:
        from subprocess import DEVNULL, PIPE, Popen

        place = (str(one) for one in (after.number, after.read, after.size))
        argv = [sys.executable, "-I", "-S", __file__, folder, *place]
        self.process = Popen(argv, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, bufsize=0)
        assert self.process.stdin is not None and self.process.stdout is not None
        self.told, self.pipe = self.process.stdin.fileno(), self.process.stdout.fileno()
        self.head: tuple[int, int, int, int] | None = None  # of the records that come next
        self.part = b""  # of what comes next
        os.set_blocking(self.told, False)
        os.set_blocking(self.pipe, False)
        with suppress(ImportError, AttributeError, OSError):
            from fcntl import F_SETPIPE_SZ, fcntl

            fcntl(self.pipe, F_SETPIPE_SZ, ROOM)

    def records(self, number: int, begin: int, length: int) -> Records | None:
        """Those of a piece; None when the process isn't there yet. To be called for each piece, in their order."""
        with suppress(OSError):  # the process has ended, or is far behind
            os.write(self.told, b".")
        while True:
            if self.head is None:
                if (head := self._next(HEAD.size)) is None:
                    return None
                self.head = HEAD.unpack(head)
            *place, size = self.head
            if place[:2] > [number, begin] or (found := self._next(size)) is None:
                return None
            self.head = None
            if place == [number, begin, length]:
                records: Records = marshal.loads(found)
                return records

    def _next(self, size: int) -> bytes | None:
        """So many bytes; None while they aren't there."""
        while len(self.part) < size:
            try:
                more = os.read(self.pipe, size - len(self.part))
            except BlockingIOError:
                return None
            if not more:  # the process has ended
                return None
            self.part += more
        found, self.part = self.part, b""
        return found

    def close(self) -> None:
        """Ends the process, whatever it does."""
        self.process.kill()
        with self.process:  # which closes the pipes and waits
            pass


def main(folder: str, first: int, begin: int, size: int) -> None:
    """The process itself."""
    from sema_runtime.workflow.journal.segments import Segment, segment_files
    from sema_runtime.workflow.read.reducer import records_of

    os.set_blocking(0, False)
    at = there = 0  # pieces: where this process is, and how many the server has come to
    for number in range(first, len(segment_files(folder))):
        segment = Segment(folder, number)
        segment.size = size
        segment.read, begin = begin, 0
        while (found := segment.next_piece()) is not None:
            place, piece = found
            if piece is None:
                continue
            with suppress(BlockingIOError):
                there += len(os.read(0, ROOM))
            if at >= there + LEAD:
                records = marshal.dumps(records_of(piece))
                sys.stdout.buffer.write(HEAD.pack(number, place, len(piece), len(records)) + records)
                sys.stdout.buffer.flush()
            at += 1


if __name__ == "__main__":
    sys.path.insert(0, os.path.abspath(f"{__file__}/../../../.."))
    main(sys.argv[1], *map(int, sys.argv[2:]))
