"""Programs that we start. A thread of each collects what it writes, so that it never waits for a reader of ours, and
sees it end, so that none stays behind as a zombie. Most are leaders of a session, whose programs are ended together.

Those that are still running when this process ends are ended with it.
"""

from __future__ import annotations

import atexit
import os
from contextlib import suppress
from time import monotonic

from sema_runtime.support.file_access import checked
from sema_runtime.support.text_arguments import text_of
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
LIMIT = 1 << 28  # bytes of one stream that may wait for a reader; a program that writes more is ended
GRACE = 0.5  # seconds for the last output of a program that has ended, while others hold its streams open

_running: set[Child] = set()


class Output:
    """What a program has written to one stream and nobody has taken yet. Filled by one thread, emptied by another."""

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
        """As text; the first bytes of a character stay behind for the next time, unless the stream has ended."""
        return self.decoder.decode(self.take(), ended)


class Child:
    """A started program.

    start: makes its process and the files, open for reading, that its output comes from. Called in the thread that
    collects the output, where Ctrl-C can't leave a process behind that nobody knows of. What it raises is raised here.
    """

    __slots__ = (
        "abandoned",
        "alone",
        "closed",
        "error",
        "exceeded",
        "handle",
        "limit",
        "noticed",
        "outputs",
        "started",
        "thread",
    )

    handle: Popen[bytes]
    outputs: list[Output]

    def __init__(self, start: Start, alone: bool = True, limit: int = LIMIT) -> None:
        from threading import Event, Thread

        self.alone = alone  # in a session of its own
        self.limit = limit
        self.exceeded = False  # has been ended because it wrote more than anybody would read
        self.closed = False  # nobody will take its output any more
        self.noticed = 0.0  # when its end was seen first
        self.error: BaseException | None = None  # why it could not be started
        self.abandoned = False  # Ctrl-C came while it was started
        self.started = Event()
        self.thread = Thread(target=self._run, args=(start,), daemon=True)
        try:
            self.thread.start()
            self.started.wait()
        except BaseException:
            self.abandoned = True
            self.started.wait(GRACE)  # this process may end now, but not before the thread has noted that one
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
        """Whether the program has ended and all of its output is there."""
        return not self.thread.is_alive()

    def text(self, stream: int) -> str:
        """What it has written to one of its streams since the last time."""
        ended = self.ended  # asked first: what comes in between is left for the next time
        return self.outputs[stream].take_text(ended)

    def status(self) -> int | None:
        """The status that it ended with, -1 when a signal ended it; None while it runs."""
        code = self.handle.poll()
        return -1 if code is not None and code < 0 else code

    def is_over(self) -> bool:
        """Whether the program has ended and all that it wrote is there."""
        if self.status() is None:
            return False
        if self.noticed == 0.0:
            self.noticed = monotonic()
        return self.ended or monotonic() - self.noticed > GRACE

    def ends_within(self, seconds: float | None) -> bool:
        """Waits until the program has ended and everybody has closed its streams. False when that takes longer."""
        end = None if seconds is None else monotonic() + seconds
        while self.thread.is_alive() and (end is None or monotonic() < end):
            self.thread.join(LONGEST_WAIT if end is None else max(0.0, min(LONGEST_WAIT, end - monotonic())))
        return self.ended

    def wait(self) -> int:
        """Waits until the program has ended; its status. What it wrote is there then."""
        self.handle.wait()
        self.thread.join(GRACE)
        code = self.status()
        assert code is not None
        return code

    def signal(self, number: int) -> None:
        """Sends a signal to the program and those it has started, unless it has ended."""
        if self.handle.returncode is not None:
            return
        with suppress(ProcessLookupError, PermissionError):  # has ended just now
            if self.alone:
                os.killpg(self.handle.pid, number)
            else:
                self.handle.send_signal(number)

    def kill(self) -> None:
        """Ends the program and those it has started by force."""
        from signal import SIGKILL

        self.signal(SIGKILL)


def _read(descriptor: int) -> bytes | None:
    """What there is to read; nothing at the end, None when there is nothing yet."""
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

    found = sequence_items(argv)
    if found is None:
        type_error("list of strings (argv)", argv)
    if not found:
        raise SemaError(f"{function}: argv must be non-empty")
    return [text_of(one) for one in found]


def opened(argv: list[str], settings: Settings, **more: Any) -> Popen[bytes]:
    """A new program. more: arguments of subprocess.Popen. Raises OSError and ValueError: see `refusal`."""
    from subprocess import Popen

    return Popen(argv, cwd=settings.cwd, env=settings.env, bufsize=0, **more)


def piped(
    argv: list[str], settings: Settings, *, with_input: bool = False, alone: bool = True, limit: int = LIMIT
) -> Child:
    """A new program whose output and error output are collected; its input is a pipe or empty. Raises as `opened`."""
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
    """Gives a program its whole input, as it reads it."""
    from threading import Thread

    stdin = child.handle.stdin

    def write() -> None:
        assert stdin is not None
        with suppress(OSError), stdin:  # it need not read all of it
            write_all(stdin, data)

    Thread(target=write, daemon=True).start()


def refusal(function: str, name: str, settings: Settings, error: OSError | ValueError) -> str:
    """Why a program could not be started: `proc/spawn nosuch: No such file or directory`."""
    if isinstance(error, ValueError):
        return f"{function} {name}: {error}"
    place = f":cwd {settings.cwd}" if settings.cwd is not None and error.filename == settings.cwd else name
    return f"{function} {place}: {error.strerror or error}"
