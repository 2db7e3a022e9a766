"""Keys as they are pressed: `io/read-key`, and queries that the terminal answers at once.

A terminal is read byte by byte up to the end of an event, so that programs started later can read the rest; `read-line`
and the stream of the standard input share this buffer.
"""

from __future__ import annotations

import os
import sys
import time
from math import ceil

from sema_runtime.catalogue import builtin
from sema_runtime.lib.terminal import console
from sema_runtime.lib.terminal.control_sequences import emit
from sema_runtime.lib.terminal.key_events import bytes_to_paste_end, decode, event_size, in_paste
from sema_runtime.lib.terminal.raw import raw_mode, terminal
from sema_runtime.tasks.inputs import Input, is_readable, standard_input, until_readable
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ESCAPE_WAIT = 0.05  # seconds after which an escape character is the key and no sequence follows
REST_WAIT = 0.5  # seconds after which a sequence that was begun is taken to be whole
ANSWER_WAIT = 0.2  # seconds that a terminal has to answer a question
EVENT_LIMIT = 8 << 20  # bytes


# Reading events


class Keyboard:
    """The standard input as events. since: when the last byte of the event that has begun came."""

    def __init__(self) -> None:
        self.since = 0.0
        self.positions_asked = 0

    def event(self, function: str, seconds: float | None = None) -> bytes:
        """The bytes of the next event; none when the input or the time has ended.

        function: the Sema name, for errors. What is cut off by the end of the time is kept for the next call.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        source = standard_input()
        while True:
            size = event_size(source.buffer)
            if size:
                return source.some(function, size)
            if len(source.buffer) > EVENT_LIMIT:
                source.buffer.clear()
                raise SemaError(f"{function}: input exceeds the {EVENT_LIMIT}-byte event cap")
            if not self.wait(None if deadline is None else max(0.0, deadline - time.monotonic())):
                if self._is_overdue():
                    return source.some(function, len(source.buffer))
                if deadline is not None and time.monotonic() >= deadline:
                    return b""
            elif _read_on(function, source):
                self.since = time.monotonic()
            else:
                console.note_end()
                return source.some(function, len(source.buffer))

    def wait(self, seconds: float | None) -> bool:
        """Waits for more input, at most that long and no longer than for the rest of an event. Whether there is any."""
        source = standard_input()
        if source.ended or source.descriptor is None:
            return True
        limits = [limit for limit in (seconds, self._rest_wait()) if limit is not None]
        return _wait_readable(source.descriptor, min(limits, default=None))

    def _rest_wait(self) -> float | None:
        """Seconds that the event which was begun may still take; None without limit."""
        begun = standard_input().buffer
        if not begun or in_paste(begun):
            return None
        return max(0.0, self.since + (ESCAPE_WAIT if begun == b"\x1b" else REST_WAIT) - time.monotonic())

    def _is_overdue(self) -> bool:
        return self._rest_wait() == 0

    def decoded(self, data: bytes) -> Map | None:
        """The map of an event, nil for none."""
        if not data:
            return None
        event = decode(data, self.positions_asked > 0)
        if self.positions_asked and event.lookup(keyword("kind")) is keyword("cpr"):
            self.positions_asked -= 1
        return event


def _read_on(function: str, source: Input) -> bool:
    """Reads more of an event. Of a terminal no byte of a later event is read. False at the end."""
    descriptor = terminal()
    if descriptor is None or source.ended:
        return source.more(function)
    try:
        data = os.read(descriptor, bytes_to_paste_end(source.buffer) if in_paste(source.buffer) else 1)
    except OSError:  # the terminal is gone
        data = b""
    source.buffer += data
    source.ended = not data
    return bool(data)


def _wait_readable(descriptor: int, seconds: float | None) -> bool:
    """Waits until there is something to read, at most that long; other tasks run meanwhile. Whether there is."""
    if "sema_runtime.tasks.scheduler" not in sys.modules:
        return is_readable(descriptor, None if seconds is None else ceil(seconds * 1000))
    if seconds != 0 and not is_readable(descriptor):
        from sema_runtime.tasks import suspend

        suspend(until_readable(descriptor, seconds))
    return is_readable(descriptor)  # another task may have taken what there was


keyboard = Keyboard()


def wait_for_input(seconds: float) -> None:
    """Waits, at most that long, until io/read-key-timeout may have something new; other tasks run meanwhile."""
    keyboard.wait(seconds)


@builtin("io/read-key", type="-> map keyword (keyword|str|int|bool|list (keyword|int))|nil fresh")
def io_read_key() -> Map | None:
    """Waits for a key and returns its event; nil at the end of the input. Other tasks run meanwhile.

    ; (io/with-raw-mode (io/read-key)) => {:char "q" :kind :char}
    """
    sys.stdout.flush()
    return keyboard.decoded(keyboard.event("io/read-key"))


@builtin("io/read-key-timeout", type="int -> map keyword (keyword|str|int|bool|list (keyword|int))|nil fresh")
def io_read_key_timeout(ms: Any) -> Map | None:
    """Like io/read-key, but also returns nil when no key is pressed for a number of milliseconds.

    ; (io/with-raw-mode (io/read-key-timeout 1000)) => nil
    """
    if type(ms) is not int:
        type_error("integer", ms)
    sys.stdout.flush()
    return keyboard.decoded(keyboard.event("io/read-key-timeout", max(0, ms) / 1000))


# Queries that are answered at once


@builtin("term/query-cursor-position", type="-> nil")
def term_query_cursor_position() -> None:
    """Asks where the cursor is; the answer is an event `{:kind :cpr :row r :col c}`.

    ; (begin (term/query-cursor-position) (io/read-key)) => {:col 1 :kind :cpr :row 5}
    """
    keyboard.positions_asked += 1
    emit("\x1b[6n")


@builtin("term/cursor-position", type="-> map keyword int|nil fresh")
def term_cursor_position() -> Map | None:
    """The position of the cursor as `{:row r :col c}`; nil without a terminal or when it doesn't answer.

    ; (term/cursor-position) => {:col 1 :row 5}
    """
    asked = keyboard.positions_asked
    keyboard.positions_asked += 1
    try:
        event = _answers("\x1b[6n", "cpr").get("cpr")
    finally:
        keyboard.positions_asked = asked
    if event is None:
        return None
    return Map({key: event.lookup(key) for key in (keyword("row"), keyword("col"))})


@builtin("term/supports-kitty-keys?", type="-> bool")
def term_is_supports_kitty_keys() -> bool:
    """Whether the terminal reports that it supports kitty's keyboard protocol; #f when it doesn't answer.

    ; (when (term/supports-kitty-keys?) (term/enable-kitty-keys!))
    """
    return "kitty-flags" in _answers("\x1b[?u\x1b[c", "kitty-flags", "device-attributes")


def _answers(question: str, *kinds: str) -> dict[str, Map]:
    """What the terminal answers, by kind, until an answer of the last kind has come or the time is over.

    The terminal is in raw mode meanwhile; what is typed stays for io/read-key.
    """
    answers: dict[str, Map] = {}
    typed = bytearray()
    raw = raw_mode()
    if raw is None:
        return answers
    deadline = time.monotonic() + ANSWER_WAIT
    try:
        emit(question)
        while kinds[-1] not in answers:
            data = keyboard.event("terminal query", max(0.0, deadline - time.monotonic()))
            event = keyboard.decoded(data)
            if event is None:
                break
            kind = event.lookup(keyword("kind")).name
            if kind in kinds:
                answers[kind] = event
            else:
                typed += data
    finally:
        standard_input().buffer[:0] = typed
        raw.end()
    return answers
