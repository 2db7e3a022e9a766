"""Server-sent events: bytes in pieces of any size become events.

Follows the WHATWG rules (BOM, comments, CR / LF / CRLF, multi-line data), with one exception: an event at the end of a
stream is delivered without its closing blank line too, since several compatible servers omit that line.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from typing import NamedTuple

from sema_runtime.values.digits import small

LONGEST_RETRY_MS = 3_600_000
_decoder = getincrementaldecoder("utf-8")


class Event(NamedTuple):
    """name: the `event:` field ("" without one). data: the `data:` lines joined with newlines.
    id: the latest `id:` field of the stream so far ("" without one)."""

    name: str
    data: str
    id: str = ""


class SseParser:
    """`feed(bytes)` returns the events that these bytes complete; `close()` those that the end completes.

    retry_ms: milliseconds to wait before reconnecting after the end of a stream, None unless the server says it.
    """

    def __init__(self) -> None:
        self._decode = _decoder("replace").decode
        self._parts: list[str] = []  # of the unfinished line
        self._started = False
        self._after_cr = False
        self._name = ""
        self._data: list[str] = []
        self._id = ""
        self.retry_ms: int | None = None

    def feed(self, piece: bytes) -> list[Event]:
        return self._take(self._decode(piece))

    def close(self) -> list[Event]:
        events = self._take(self._decode(b"", True))
        if self._parts:
            self._line("".join(self._parts), events)
            self._parts = []
        self._line("", events)
        return events

    def _take(self, text: str) -> list[Event]:
        if text and not self._started:
            self._started = True
            text = text.removeprefix("\ufeff")
        if self._after_cr and text:
            self._after_cr = False
            text = text.removeprefix("\n")
        if not text:
            return []
        if "\r" in text:
            self._after_cr = text.endswith("\r")
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.split("\n")
        rest = lines.pop()
        events: list[Event] = []
        if lines:
            if self._parts:
                lines[0] = "".join(self._parts) + lines[0]
                self._parts = []
            for line in lines:
                self._line(line, events)
        if rest:
            self._parts.append(rest)
        return events

    def _line(self, line: str, events: list[Event]) -> None:
        if not line:
            if self._data:
                events.append(Event(self._name, "\n".join(self._data), self._id))
            self._data = []
            self._name = ""
            return
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        elif field == "id" and "\0" not in value:
            self._id = value
        elif field == "retry" and value.isascii() and value.isdecimal():
            self.retry_ms = small(value, LONGEST_RETRY_MS)
