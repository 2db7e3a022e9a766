"""Keys as they are pressed: the terminal's raw mode, `io/read-key`, and questions that the terminal answers at once.

A terminal is read byte by byte up to the end of an event, so that what was typed behind it is there for `read-line`,
for Python and for programs that are started. Input that is no terminal is read through sys.stdin, as `read-line` does.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress

from sema_runtime.catalogue import builtin
from sema_runtime.lib import console
from sema_runtime.lib.control import called
from sema_runtime.lib.key_events import bytes_to_paste_end, decode, event_size, in_paste
from sema_runtime.lib.term_state import Held, emit, hold, release
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import IoError, SemaError, type_error
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ESCAPE_WAIT = 0.05  # seconds after which an escape character is the key and no sequence follows
REST_WAIT = 0.5  # seconds after which a sequence that was begun is taken to be whole
ANSWER_WAIT = 0.2  # seconds that a terminal has to answer a question
EVENT_LIMIT = 8 << 20  # bytes


# Raw mode

_raw_modes: dict[int, Held] = {}
_entered = 0


@builtin("io/tty-raw!", returns="int|nil")
def io_tty_raw_mut() -> int | None:
    """Puts the terminal into raw mode: keys come one by one and unshown, Ctrl-C too. Gives a token for io/tty-restore!.

    nil when the input is no terminal. The terminal is also restored when the task or the program ends.
    """
    global _entered
    held = _enter_raw_mode()
    if held is None:
        return None
    token, _entered = _entered, _entered + 1
    _raw_modes[token] = held
    _release_with_task(held)
    return token


@builtin("io/tty-restore!", returns="nil")
def io_tty_restore_mut(token: Any) -> None:
    """Ends the raw mode of that token; does nothing when it has ended."""
    if type(token) is not int:
        type_error("integer", token)
    held = _raw_modes.pop(token, None)
    if held is not None:
        release(held)


@builtin("__with-raw-mode")
def sema_with_raw_mode(body: Any) -> Any:
    """What `io/with-raw-mode` expands to: the value of body, called in raw mode if the input is a terminal."""
    function = called(body)
    held = _enter_raw_mode()
    try:
        return function()
    finally:
        if held is not None:
            release(held)


def _enter_raw_mode() -> Held | None:
    descriptor = _terminal()
    if descriptor is None:
        return None
    import termios
    import tty

    before = termios.tcgetattr(descriptor)

    def restore() -> None:
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(descriptor, termios.TCSANOW, before)

    held = hold(restore)
    try:
        tty.setraw(descriptor, termios.TCSANOW)
    except termios.error as error:
        release(held)
        raise SemaError(f"io/tty-raw!: tcsetattr failed: {error.args[-1]}") from None
    return held


def _release_with_task(held: Held) -> None:
    """Has a change of the terminal undone when the running task ends, however it does."""
    if "sema_runtime.tasks.scheduler" not in sys.modules:
        return
    from sema_runtime.tasks.scheduler import Task, scheduler

    strand = scheduler().current()
    if type(strand) is Task:
        strand.promise.watchers.append(lambda _: release(held))


def _terminal() -> int | None:
    """The descriptor of the input, if that is a terminal."""
    return sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else None


# Waiting for input


def wait_for_input(seconds: float | None) -> bool:
    """Waits until there is something to read, at most that long; other tasks run meanwhile. Whether there is."""
    try:
        descriptor = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):  # sys.stdin was replaced by something in memory
        return True
    if seconds == 0 or "sema_runtime.tasks.scheduler" not in sys.modules:
        return _is_readable(descriptor, seconds)
    from sema_runtime.tasks import suspend

    suspend(_until_readable(descriptor, seconds))
    return _is_readable(descriptor, 0)  # another task may have taken what there was


def _is_readable(descriptor: int, seconds: float | None) -> bool:
    from select import select

    return bool(select([descriptor], [], [], seconds)[0])


async def _until_readable(descriptor: int, seconds: float | None) -> None:
    import asyncio

    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    own = os.dup(descriptor)  # a loop has one reader for each descriptor, and several tasks may wait
    try:
        loop.add_reader(own, ready.set)
    except PermissionError:  # a file, which never lets anybody wait
        os.close(own)
        return
    try:
        with suppress(TimeoutError):
            await asyncio.wait_for(ready.wait(), seconds)
    finally:
        loop.remove_reader(own)
        os.close(own)


# Reading events


class Keyboard:
    """The input as events. pending: bytes that were read and not used yet; since: when the last of them came."""

    def __init__(self) -> None:
        self.pending = bytearray()
        self.since = 0.0
        self.positions_asked = 0

    def event(self, function: str, seconds: float | None = None) -> bytes:
        """The bytes of the next event; none when the input or the time has ended.

        function: the Sema name, for errors. What is cut off by the end of the time is kept for the next call.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            size = event_size(self.pending)
            if size:
                return self._taken(size)
            if len(self.pending) > EVENT_LIMIT:
                self.pending.clear()
                raise SemaError(f"{function}: input exceeds the {EVENT_LIMIT}-byte event cap")
            if not self._wait(deadline):
                if self.pending and self._patience() == 0:
                    return self._taken(len(self.pending))
                if deadline is not None and time.monotonic() >= deadline:
                    return b""
                continue
            data = self._read()
            if not data:
                console.note_end()
                return self._taken(len(self.pending))
            self.pending += data
            self.since = time.monotonic()

    def _wait(self, deadline: float | None) -> bool:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        patience = self._patience()
        return wait_for_input(min((one for one in (left, patience) if one is not None), default=None))

    def _patience(self) -> float | None:
        """Seconds that an event which was begun may still take; None without limit."""
        if not self.pending or in_paste(self.pending):
            return None
        wait = ESCAPE_WAIT if self.pending == b"\x1b" else REST_WAIT
        return max(0.0, self.since + wait - time.monotonic())

    def _read(self) -> bytes:
        """What can be read without taking bytes of a later event."""
        terminal = _terminal()
        if terminal is None:
            return _read_character()
        try:
            return os.read(terminal, bytes_to_paste_end(self.pending) if in_paste(self.pending) else 1)
        except OSError:  # the terminal is gone
            return b""

    def _taken(self, size: int) -> bytes:
        data = bytes(self.pending[:size])
        del self.pending[:size]
        return data

    def decoded(self, data: bytes) -> Map | None:
        """The map of an event, nil for none."""
        if not data:
            return None
        event = decode(data, self.positions_asked > 0)
        if self.positions_asked and event.lookup(keyword("kind")) is keyword("cpr"):
            self.positions_asked -= 1
        return event


def _read_character() -> bytes:
    if sys.stdin is None:
        return b""
    try:
        return sys.stdin.read(1).encode(errors="surrogateescape")
    except UnicodeDecodeError:
        raise IoError("io/read-key: stream did not contain valid UTF-8") from None


keyboard = Keyboard()


@builtin("io/read-key", returns="map|nil")
def io_read_key() -> Map | None:
    """Waits for a key and gives what it is; nil at the end of the input. Other tasks run meanwhile.

    `{:kind :char :char "a"}`, with :ctrl or :alt in place of :char when that key was held; `{:kind :key :name :up}` for
    :enter :tab :shift-tab :backspace :esc :up :down :left :right :home :end :insert :delete :page-up :page-down :f1 to
    :f12; :mods lists what was held. Where the program has asked for them: `:mouse` (:action :x :y :button), `:paste`
    (:text), `:focus` (:focused), `:cpr` (:row :col), `:device-attributes` (:device :params), `:kitty-flags` (:flags).
    """
    sys.stdout.flush()
    return keyboard.decoded(keyboard.event("io/read-key"))


@builtin("io/read-key-timeout", returns="map|nil")
def io_read_key_timeout(ms: Any) -> Map | None:
    """As io/read-key; nil, too, when no key was pressed for that many milliseconds."""
    if type(ms) is not int:
        type_error("integer", ms)
    sys.stdout.flush()
    return keyboard.decoded(keyboard.event("io/read-key-timeout", max(0, ms) / 1000))


# Questions that are answered at once


@builtin("term/query-cursor-position", returns="nil")
def term_query_cursor_position() -> None:
    """Asks where the cursor is; the answer is an event `{:kind :cpr :row r :col c}`."""
    keyboard.positions_asked += 1
    emit("\x1b[6n")


@builtin("term/cursor-position", returns="map|nil")
def term_cursor_position() -> Map | None:
    """Where the cursor is, as `{:row r :col c}`; nil without a terminal or when it doesn't answer."""
    asked = keyboard.positions_asked
    keyboard.positions_asked += 1
    try:
        event = _answers("\x1b[6n", "cpr").get("cpr")
    finally:
        keyboard.positions_asked = asked
    if event is None:
        return None
    return Map({key: event.lookup(key) for key in (keyword("row"), keyword("col"))})


@builtin("term/supports-kitty-keys?", returns="bool")
def term_is_supports_kitty_keys() -> bool:
    """Whether the terminal says that it has kitty's keyboard protocol; #f when it doesn't answer."""
    return "kitty-flags" in _answers("\x1b[?u\x1b[c", "kitty-flags", "device-attributes")


def _answers(question: str, *kinds: str) -> dict[str, Map]:
    """What the terminal answers, by kind, until an answer of the last kind has come or the time is over.

    The terminal is in raw mode meanwhile; what is typed stays for io/read-key.
    """
    found: dict[str, Map] = {}
    typed = bytearray()
    held = _enter_raw_mode()
    if held is None:
        return found
    deadline = time.monotonic() + ANSWER_WAIT
    try:
        emit(question)
        while kinds[-1] not in found:
            data = keyboard.event("terminal query", max(0.0, deadline - time.monotonic()))
            event = keyboard.decoded(data)
            if event is None:
                break
            kind = event.lookup(keyword("kind")).name
            if kind in kinds:
                found[kind] = event
            else:
                typed += data
    finally:
        keyboard.pending[:0] = typed
        release(held)
    return found
