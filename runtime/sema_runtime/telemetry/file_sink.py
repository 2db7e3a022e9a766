"""Spans as lines of JSON at the end of a file. A thread writes them; if the program makes spans faster than the file
takes them, some are lost. Lines are appended as a whole, so that processes can share a file."""

from __future__ import annotations

import json
import os
import threading
from collections import deque

from sema_runtime.support.private_files import FILE_MODE
from sema_runtime.telemetry.spans import Span, warn

PATIENCE = 3.0  # seconds that the end of the program waits for the file
MOST_AT_ONCE = 1 << 18  # bytes of one write


def opened(path: str, bound: int) -> FileSink | None:
    """Returns a sink for at most bound waiting spans; None, with a warning, when the file can't be written."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(
            path, flags | getattr(os, "O_NONBLOCK", 0), FILE_MODE
        )  # opening a pipe without reader fails at once
    except (OSError, ValueError) as error:
        from sema_runtime.support.file_access import reason

        warn(f"can't write spans to {path}: {reason(error)}")
        return None
    if hasattr(os, "set_blocking"):
        os.set_blocking(descriptor, True)
    return FileSink(path, descriptor, bound)


def line(span: Span) -> bytes:
    """Returns the line of a span; `events` is left out if there are none."""
    entry: dict[str, object] = {
        "name": span.name,
        "trace_id": span.trace_id,
        "span_id": span.span_id,
        "parent_span_id": span.parent_id,
        "kind": span.kind,
        "start_unix_nano": str(span.start),
        "end_unix_nano": str(span.end),
        "status": span.status or "unset",
        "attributes": span.attributes,
    }
    if span.events:
        entry["events"] = [
            {"name": name, "time_unix_nano": str(time), "attributes": attributes}
            for name, time, attributes in span.events
        ]
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class FileSink:
    """waiting: spans, and events to set when all before them are written. dropped: spans that found the queue full.
    torn: whether the file ends in the middle of a line."""

    def __init__(self, path: str, descriptor: int, bound: int) -> None:
        self.path = path
        self.descriptor = descriptor
        self.bound = bound
        self.dropped = 0
        self.torn = False
        self.failed = False
        self._start()

    def _start(self) -> None:
        """Resets the queue; also in a forked process, where the parent's thread doesn't exist."""
        self.process = os.getpid()
        self.waiting: deque[Span | threading.Event] = deque()
        self.more = threading.Event()
        self.thread: threading.Thread | None = None

    def put(self, span: Span) -> None:
        """Queues a span for writing; never waits."""
        if self.process != os.getpid():
            self._start()
        if len(self.waiting) >= self.bound:
            self.dropped += 1
            return
        self._add(span)

    def _add(self, item: Span | threading.Event) -> None:
        self.waiting.append(item)
        if not self.more.is_set():
            self.more.set()
        if self.thread is None:
            thread = threading.Thread(target=self._write_all, name="sema-telemetry-file", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the interpreter is ending
                self._write_waiting()
            else:
                self.thread = thread

    def _write_all(self) -> None:
        while True:
            self.more.wait()
            self.more.clear()
            self._write_waiting()

    def _write_waiting(self) -> None:
        """Writes waiting spans, many lines at once."""
        lines: list[bytes] = []
        size = 0
        while self.waiting:
            item = self.waiting.popleft()
            if isinstance(item, Span):
                lines.append(line(item))
                size += len(lines[-1])
            if lines and (size >= MOST_AT_ONCE or not self.waiting or not isinstance(item, Span)):
                self._write(b"".join(lines))
                lines, size = [], 0
            if not isinstance(item, Span):
                item.set()

    def _write(self, data: bytes) -> None:
        try:
            view = memoryview(b"\n" + data if self.torn else data)
            while view:
                written = os.write(self.descriptor, view)
                self.torn = written < len(view)
                view = view[written:]
        except OSError as error:
            if not self.failed:
                self.failed = True
                warn(f"can't write spans to {self.path}: {error.strerror}")

    def close(self) -> None:
        """Waits until everything is written, at most PATIENCE seconds; later spans are still written."""
        if self.process != os.getpid() or self.thread is None:
            return
        done = threading.Event()
        self._add(done)
        if not done.wait(PATIENCE):
            warn(f"gave up writing spans to {self.path}")
        if self.dropped:
            warn(f"{self.dropped} spans did not reach {self.path}, which is too slow (SEMA_OTEL_FILE_QUEUE)")
            self.dropped = 0
