"""Changes of files as they happen: `fs/watch` and the events it collects.

With the extra `watch` (the package watchfiles) the operating system reports changes. Without it, or where the system
refuses, a thread checks the files several times a second. Both produce the same events.
"""

from __future__ import annotations

import os

from sema_runtime.catalogue import builtin
from sema_runtime.support.file_access import checked
from sema_runtime.support.handles import Handles
from sema_runtime.tasks.threads import in_background
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import IoError, SemaError, type_error
from sema_runtime.values.lists import EMPTY, List
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from threading import Event
    from typing import Any

    Change = tuple[str, str]  # (kind, path)

MAX_WATCHERS = 64
MAX_EVENTS = 1024  # of one watcher that wait to be read
STEP = 50  # milliseconds between two looks at what the system has told
GATHER = 200  # milliseconds in which changes are gathered into one batch
LOOK = 0.2  # seconds between two looks at the files themselves, at least
SHARE = 10  # such a look takes at most a tenth of the time

Snapshot = dict[str, tuple[int, ...]]  # what tells one state of a file from another, by path


class Watcher:
    """A path under observation by a thread."""

    def __init__(self, path: str, recursive: bool) -> None:
        from threading import Event, Lock, Thread

        self.path = path
        self.recursive = recursive
        self.lock = Lock()
        self.events: list[Change] = []
        self.dropped = 0
        self.ready = Event()  # from now on nothing is missed
        self.stopped = Event()
        self.thread = Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self) -> None:
        try:
            for changes in _batches(self.path, self.recursive, self.stopped):
                self.ready.set()
                for change in changes:
                    self._add(change)
        finally:
            self.ready.set()

    def _add(self, change: Change) -> None:
        with self.lock:
            if len(self.events) < MAX_EVENTS:
                self.events.append(change)
            else:
                self.dropped += 1

    def take(self) -> tuple[list[Change], int]:
        """The events since the last time, and how many more were dropped."""
        with self.lock:
            taken = self.events, self.dropped
            self.events, self.dropped = [], 0
        return taken


def _batches(path: str, recursive: bool, stopped: Event) -> Iterator[Iterable[Change]]:
    """Batches of changes. The first batch is empty and arrives when watching has begun."""
    try:
        yield from _told(path, recursive, stopped)
    except (ImportError, OSError, RuntimeError):  # not installed, or the system has no more watchers to give
        yield from _seen(path, recursive, stopped)


def _told(path: str, recursive: bool, stopped: Event) -> Iterator[Iterable[Change]]:
    from watchfiles import watch

    single = not os.path.isdir(path)  # a file is watched in its directory: editors put new files in place of old ones
    batches = watch(
        os.path.dirname(path) if single else path,
        recursive=recursive and not single,
        watch_filter=(lambda _, changed: changed == path) if single else None,
        stop_event=stopped,
        step=STEP,
        debounce=GATHER,
        rust_timeout=STEP,
        yield_on_timeout=True,
        raise_interrupt=False,
    )
    for batch in batches:
        yield _in_order([(change.raw_str(), changed) for change, changed in batch])


NAMES = {"added": "create", "modified": "modify", "deleted": "remove"}


def _in_order(changes: list[Change]) -> list[Change]:
    """Changes of one batch, by path. The current state of a path shows whether it was created or removed last."""

    def order(change: Change) -> tuple[str, bool, str]:
        kind, path = change
        return path, (kind == "deleted") != os.path.lexists(path), kind

    return [(NAMES[kind], path) for kind, path in sorted(changes, key=order)]


def _seen(path: str, recursive: bool, stopped: Event) -> Iterator[Iterable[Change]]:
    from time import monotonic

    before = _snapshot(path, recursive)
    yield ()
    pause = LOOK
    while not stopped.wait(pause):
        started = monotonic()
        now = _snapshot(path, recursive)
        yield _differences(before, now)
        before = now
        pause = max(LOOK, SHARE * (monotonic() - started))


def _snapshot(path: str, recursive: bool) -> Snapshot:
    states: Snapshot = {}
    folders = []
    try:
        states[path] = _state(os.stat(path))
        folders.append(path)
    except OSError:  # removed
        return states
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    states[entry.path] = _state(entry.stat(follow_symlinks=False))
                    if recursive and entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except OSError:  # a file; or removed meanwhile, or not to be read
            continue
    return states


def _state(info: os.stat_result) -> tuple[int, ...]:
    from stat import S_ISDIR

    if S_ISDIR(info.st_mode):
        return (info.st_ino,)  # the times of a directory change with the files in it
    return (info.st_ino, info.st_mtime_ns, info.st_ctime_ns, info.st_size)


def _differences(before: Snapshot, now: Snapshot) -> list[Change]:
    changes = [("remove", path) for path in sorted(before.keys() - now.keys())]
    changes += [("create", path) for path in sorted(now.keys() - before.keys())]
    return changes + [("modify", path) for path in sorted(now.keys() & before.keys()) if now[path] != before[path]]


watchers = Handles("integer (watcher handle)", "no such watcher")


@builtin("fs/watch", type="str, dict? -> int", cap="fs-read")
def fs_watch(path: Any, options: Any = None) -> int:
    """Starts watching a file or directory and returns a handle; fs/watch-events returns the changes from now on.

    options: `:recursive #f` leaves out the contents of subdirectories. At most 64 paths can be watched at once.

    (define w (fs/watch "." {:recursive #f}))
    (fs/watch-events w) => ()
    (fs/unwatch w)
    (fs/watch "missing") ! I/O error: fs/watch missing: no such file or directory
    """
    target = checked("fs/watch", path)
    if options is not None and not isinstance(options, Map):
        type_error("map", options)
    recursive = options is None or options.lookup(keyword("recursive"), True) not in (None, False)
    if not os.path.exists(target):
        raise IoError(f"fs/watch {path}: no such file or directory")
    if len(watchers) >= MAX_WATCHERS:
        raise SemaError(f"fs/watch: too many live watcher handles (limit {MAX_WATCHERS})")
    _stop_at_exit()
    watcher = Watcher(os.path.abspath(target), recursive)
    in_background(watcher.ready.wait)
    return watchers.add(watcher)


@builtin("fs/watch-events", type="int -> flat (map keyword (keyword|int|flat str)) fresh")
def fs_watch_events(watcher: Any) -> List:
    """The changes since the last call, without waiting: a list of `{:kind k :paths (absolute-path)}`.

    Kinds: :create, :modify, :remove; renaming a file removes one path and creates another. When more than 1024 changes
    were waiting, the last entry is `{:kind :overflow :paths () :dropped n}`.

    (define w (fs/watch "."))
    (fs/watch-events w) => ()
    (fs/unwatch w)
    """
    active: Watcher = watchers.get("fs/watch-events", watcher)
    changes, dropped = active.take()
    events = [Map({keyword("kind"): keyword(kind), keyword("paths"): List([path])}) for kind, path in changes]
    if dropped:
        overflow = {keyword("kind"): keyword("overflow"), keyword("paths"): EMPTY, keyword("dropped"): dropped}
        events.append(Map(overflow))
    return List(events)


@builtin("fs/unwatch", type="int -> nil")
def fs_unwatch(watcher: Any) -> None:
    """Stops watching and forgets the handle. Unknown handles are ignored.

    (define w (fs/watch "."))
    (fs/unwatch w) => nil
    """
    active: Watcher | None = watchers.forget(watcher)
    if active is not None:
        active.stopped.set()


def _stop_at_exit() -> None:
    import atexit

    if not watchers.last:
        atexit.register(_stop_all)


def _stop_all() -> None:
    """A thread inside watchfiles must not meet the end of the interpreter."""
    running: list[Watcher] = list(watchers.open.values())
    for watcher in running:
        watcher.stopped.set()
    for watcher in running:
        watcher.thread.join(1)
