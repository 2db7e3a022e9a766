"""Child processes. A thread per child collects its output, so the child never waits for a reader, and waits for its
end, so no zombie is left. Most children lead a session of their own, whose processes end together.

Children that still run when this process ends are killed.
"""

from __future__ import annotations

import atexit
import os
from contextlib import suppress
from time import monotonic

from sema_runtime.support.file_access import checked
from sema_runtime.support.text_arguments import text_of
from sema_runtime.systems import KILL, signal_group
from sema_runtime.tasks.limits import LONGEST_WAIT
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from subprocess import Popen
    from typing import IO, Any

    Start = Callable[[], tuple[Popen[bytes], Sequence[IO[bytes]]]]

CHUNK = 1 << 16
LIMIT = 1 << 28  # unread bytes of one stream; a child that writes more is killed
GRACE = 0.5  # seconds to wait for the last output of a child that has ended, while others hold its streams open

_running: set[Child] = set()


class Output:
    """The untaken output of one stream of a child. Filled by one thread, emptied by another."""

    __slots__ = ("chunks", "decoder", "lock", "size")

    def __init__(self) -> None:
        from codecs import getincrementaldecoder
        from threading import Lock

        self.chunks: list[bytes] = []
        self.size = 0
        self.lock = Lock()
        self.decoder = getincrementaldecoder("utf-8")("replace")

    def add(self, data: bytes) -> None:
        with self.lock:
            self.chunks.append(data)
            self.size += len(data)

    def take(self) -> bytes:
        with self.lock:
            data = b"".join(self.chunks)
            self.chunks = []
            self.size = 0
        return data

    def take_text(self, ended: bool) -> str:
        """The output as text. The first bytes of an incomplete character stay, unless the stream has ended."""
        return self.decoder.decode(self.take(), ended)


class Child:
    """A child process.

    start: returns the process and its output files, open for reading. Called in the thread that collects the output,
    where Ctrl-C can't leave an unknown process behind. What it raises is raised here.
    """

    __slots__ = (
        "abandoned", "alone", "closed", "error", "exceeded", "handle", "limit", "noticed", "outputs", "started",
        "thread",
    )  # fmt: skip

    handle: Popen[bytes]
    outputs: list[Output]

    def __init__(self, start: Start, alone: bool = True, limit: int = LIMIT) -> None:
        from threading import Event, Thread

        self.alone = alone  # in a session of its own
        self.limit = limit
        self.exceeded = False  # was killed because it wrote more than the limit
        self.closed = False  # its output is unwanted from now on
        self.noticed = 0.0  # monotonic time at which its end was first seen
        self.error: BaseException | None = None  # why it could not be started
        self.abandoned = False  # Ctrl-C came while it was started
        self.started = Event()
        self.thread = Thread(target=self._run, args=(start,), daemon=True)
        try:
            self.thread.start()
            self.started.wait()
        except BaseException:
            self.abandoned = True
            self.started.wait(GRACE)  # this process may end now, but only after the thread has noted the child
            raise
        if self.error is not None:
            raise self.error

    def _run(self, start: Start) -> None:
        try:
            self.handle, streams = start()
        except BaseException as error:
            self.error = error
            self.started.set()
            return
        self.outputs = [Output() for _ in streams]
        _running.add(self)
        self.started.set()
        if self.abandoned:
            self.kill()
        self._collect(streams)
        self.handle.wait()
        _running.discard(self)

    def _collect(self, streams: Sequence[IO[bytes]]) -> None:
        from selectors import EVENT_READ, DefaultSelector

        with DefaultSelector() as selector:
            for stream, output in zip(streams, self.outputs, strict=True):
                selector.register(stream, EVENT_READ, output)
            while selector.get_map():
                for key, _ in selector.select():
                    data = _read(key.fd)
                    if data is None:
                        continue
                    if not data:
                        selector.unregister(key.fileobj)
                        key.fileobj.close()  # type: ignore[union-attr]
                    elif key.data.size + len(data) > self.limit:
                        self.exceeded = True
                        self.kill()
                    elif not self.closed:
                        key.data.add(data)

    @property
    def ended(self) -> bool:
        """Whether the child has ended and all of its output is collected."""
        return not self.thread.is_alive()

    def text(self, stream: int) -> str:
        """The output to one of its streams since the last call."""
        ended = self.ended  # read first: output that arrives in between is left for the next call
        return self.outputs[stream].take_text(ended)

    def status(self) -> int | None:
        """The exit status, -1 when a signal ended the child; None while it runs."""
        code = self.handle.poll()
        return -1 if code is not None and code < 0 else code

    def is_over(self) -> bool:
        """Whether the child has ended and its output is collected, or was waited for long enough."""
        if self.status() is None:
            return False
        if self.noticed == 0.0:
            self.noticed = monotonic()
        return self.ended or monotonic() - self.noticed > GRACE

    def ends_within(self, seconds: float | None) -> bool:
        """Waits until the child has ended and its streams are closed everywhere. False when that takes longer."""
        end = None if seconds is None else monotonic() + seconds
        while self.thread.is_alive() and (end is None or monotonic() < end):
            self.thread.join(LONGEST_WAIT if end is None else max(0.0, min(LONGEST_WAIT, end - monotonic())))
        return self.ended

    def wait(self) -> int:
        """Waits until the child has ended and its output is collected; returns its exit status."""
        self.handle.wait()
        self.thread.join(GRACE)
        code = self.status()
        assert code is not None
        return code

    def signal(self, number: int) -> None:
        """Sends a signal to the child and the processes it has started, unless it has ended."""
        if self.handle.returncode is not None:
            return
        with suppress(ProcessLookupError, PermissionError):  # has ended just now
            if self.alone:
                signal_group(self.handle, number)
            else:
                self.handle.send_signal(number)

    def kill(self) -> None:
        """Kills the child and the processes it has started."""
        self.signal(KILL)


def _read(descriptor: int) -> bytes | None:
    """The bytes available to read; b"" at the end, None when there are none yet."""
    try:
        return os.read(descriptor, CHUNK)
    except BlockingIOError:
        return None
    except OSError:  # of a terminal whose programs have ended
        return b""


def _end_all() -> None:
    for child in list(_running):
        if not child.ended:  # in a fork of this process nobody collects any more: they are not its children
            child.kill()


atexit.register(_end_all)


# Starting


class Settings:
    """The options :cwd and :env of a function that starts programs. Raises for those of another type."""

    __slots__ = ("cwd", "env")

    def __init__(self, function: str, options: Any) -> None:
        if options is not None and not isinstance(options, Map):
            type_error("map", options)
        known = options or Map()
        cwd = known.lookup(keyword("cwd"))
        self.cwd = None if cwd is None else checked(function, cwd)
        self.env = environment(known.lookup(keyword("env")))


def environment(extra: Any) -> dict[str, str] | None:
    """The environment with the entries of a map added, named by strings or keywords; None for the plain one."""
    if extra is None:
        return None
    if not isinstance(extra, Map):
        type_error("map", extra)
    names = ((key.name if isinstance(key, Keyword) else text_of(key), text_of(value)) for key, value in extra.pairs())
    return {**os.environ, **dict(names)}


def arguments(function: str, argv: Any) -> list[str]:
    """A command line, checked to be a list or vector of strings that isn't empty."""
    from sema_runtime.values.matching import sequence_items

    items = sequence_items(argv)
    if items is None:
        type_error("list of strings (argv)", argv)
    if not items:
        raise SemaError(f"{function}: argv must be non-empty")
    return [text_of(item) for item in items]


def opened(argv: list[str], settings: Settings, **more: Any) -> Popen[bytes]:
    """Starts a process. more: arguments of subprocess.Popen. Raises OSError and ValueError: see `refusal`."""
    from subprocess import Popen

    return Popen(argv, cwd=settings.cwd, env=settings.env, bufsize=0, **more)


def piped(
    argv: list[str], settings: Settings, *, with_input: bool = False, alone: bool = True, limit: int = LIMIT
) -> Child:
    """Starts a child whose output and error output are collected; its input is a pipe or empty. Raises as `opened`."""
    from subprocess import DEVNULL, PIPE

    def start() -> tuple[Popen[bytes], Sequence[Any]]:
        stdin = PIPE if with_input else DEVNULL
        handle = opened(argv, settings, stdin=stdin, stdout=PIPE, stderr=PIPE, start_new_session=alone)
        return handle, (handle.stdout, handle.stderr)

    return Child(start, alone, limit)


def write_all(file: Any, data: bytes) -> None:
    """Writes to an unbuffered file, waiting until it takes everything. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def feed(child: Child, data: bytes) -> None:
    """Writes the whole input of a child in a thread, as fast as the child reads it."""
    from threading import Thread

    stdin = child.handle.stdin

    def write() -> None:
        assert stdin is not None
        with suppress(OSError), stdin:  # the child need not read all of it
            write_all(stdin, data)

    Thread(target=write, daemon=True).start()


def refusal(function: str, name: str, settings: Settings, error: OSError | ValueError) -> str:
    """Why a process could not be started: `proc/spawn nosuch: No such file or directory`."""
    if isinstance(error, ValueError):
        return f"{function} {name}: {error}"
    place = f":cwd {settings.cwd}" if settings.cwd is not None and error.filename == settings.cwd else name
    return f"{function} {place}: {error.strerror or error}"
